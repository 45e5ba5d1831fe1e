// The stampede: the ways to guard a hot entry that it plays, what its processes share, and what a
// mode came to.
#pragma once

#include <herdlock/cache.hpp>

#include "scenes/origin.hpp"
#include "stage/shared_warnings.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

// --------------------------------------------------------------------------------- how to guard

struct guard_mode {
  enum class loader {
    each_request,  ///< who misses loads
    each_process,  ///< one of those that miss in a process
    of_the_cache,  ///< herdlock says who
  };

  char const* name;
  char const* does;  ///< one line
  loader who = loader::of_the_cache;
  /// While the new product is loaded the one before it is a right answer, too.
  bool serves_old = false;
  /// The requests come before the entry expires.
  bool comes_early = false;
  /// A process keeps the product, and the requests come once more when it does.
  bool keeps_near = false;
  /// Its locks live in a store of their own.
  bool has_locks = false;
  /// The entry is a hash, else a string of JSON.
  bool has_fields = false;
};

/// In the order in which they are told.
std::span<guard_mode const> all_modes();

/// What the processes of a mode are told.
struct stampede_orders {
  std::string store_url;
  std::string locks_url;
  origin_terms origin;
  guard_mode const* mode = nullptr;
  std::string run;
  std::string key;
  int processes = 4;
  int requests = 50;  ///< in each process
  int expiries = 3;
  int connections = 1;  ///< to the database, of each process
  milliseconds claim_ttl{2'000};
  bool kill_loader = false;  ///< in the first expiry, where the mode is fleet

  static constexpr int max_processes = 256;
  static constexpr int max_requests = 100'000;

  /// A load may be slow, and may have to be done again by another process.
  milliseconds load_limit() const {
    return std::chrono::seconds(30) + 3 * origin.load_time + 2 * claim_ttl;
  }
  /// How long before the entry would expire the requests come; 0 where they come behind its expiry.
  milliseconds head_start() const {
    // A refresh that begins with the requests is to end before the entry does, on a slow machine
    // too.
    auto const span = origin.load_time + std::max(origin.load_time, milliseconds(100));
    return mode->comes_early ? span : milliseconds(0);
  }
  /// A process that hangs must not hang the scene; one that works on a slow machine must be let.
  milliseconds patience() const {
    return std::chrono::seconds(60) + 5 * (requests / connections + 1) * origin.load_time +
           5 * claim_ttl + milliseconds(std::int64_t{processes} * requests);
  }
};

/// The cache of one process. Used on the executor of the values' store.
class scheme {
 public:
  virtual ~scheme() = default;

  virtual store const& values() const = 0;
  /// One request; throws when it fails.
  virtual awaitable<product> ask() = 0;
  /// Misses: requests that the cache has no answer for when they come, so that they wait for a
  /// load, their own or another's; what play_expiry() asks may count, too. Near hits: those that
  /// are answered with what this process keeps.
  virtual cache_stats stats() const = 0;
  /// Keeps the product as it is before the expiry, and returns when the requests are to come: with
  /// the expiry, or head_start() before it.
  virtual awaitable<void> play_expiry(product before) = 0;
  /// In each process, right before the requests come.
  virtual awaitable<void> get_ready() = 0;
  /// Takes the entry out of the store.
  virtual awaitable<void> remove() = 0;
  /// The first round trips: fails when a store cannot be used.
  virtual awaitable<void> look() = 0;
};

/// Opens what the mode needs; asks no server. Throws command_error; herdlock::error for a mode that
/// the stores cannot do.
std::unique_ptr<scheme> make_scheme(stampede_orders const& orders,
                                    std::function<awaitable<product>()> load);

/// What the requests of an expiry may be answered.
struct right_products {
  product fresh;
  std::optional<product> old;

  enum class verdict { fresh, old, wrong };

  right_products(guard_mode const& mode, std::int64_t revision) : fresh(product_at(revision)) {
    if (mode.serves_old) old = product_at(revision - 1);
  }
  verdict judged(product const& answer) const {
    if (answer == fresh) return verdict::fresh;
    return old && answer == *old ? verdict::old : verdict::wrong;
  }
  std::string refused(product const& answer) const {
    return fmt::format("wrong answer: revision {} instead of {}", answer.revision, fresh.revision);
  }
};

// ---------------------------------------------------------------------------------------- board

/// By the steady clock.
struct right_answer {
  std::int64_t at_ns;
  bool is_old;  ///< the product as it was before the expiry
};
struct load_span {
  std::int64_t from_ns, to_ns;
  int killed_id;  ///< of the process that was killed with it; 0: it ended
};

/// What is counted, of the requests of an expiry in one process, and of all.
struct herd_counts {
  std::int64_t answers = 0;    ///< right ones
  std::int64_t stale = 0;      ///< of the answers: the product as it was before
  std::int64_t waited = 0;     ///< requests that waited for a load, of those that followed, too
  std::int64_t errors = 0;     ///< requests that failed or got a wrong answer
  std::int64_t near_hits = 0;  ///< of the requests that came once more

  herd_counts& operator+=(herd_counts const& more) {
    for (auto const each : {&herd_counts::answers, &herd_counts::stale, &herd_counts::waited,
                            &herd_counts::errors, &herd_counts::near_hits}) {
      this->*each += more.*each;
    }
    return *this;
  }
};

/// One process. The figures are those of the last expiry, for whoever has seen it done.
struct herd_process {
  static constexpr int not_there = -2;

  std::atomic<int> done{not_there};         ///< the step that it has ended
  std::atomic<int> id{0};                   ///< as the system has it
  std::atomic<std::int64_t> loading_ns{0};  ///< since when a load is in the database's log; 0: none
  std::atomic<std::size_t> loads{0};
  std::int64_t started_ns = 0;  ///< when its requests came
  herd_counts counts;
};

struct stampede_board {
  /// Loads of a process in an expiry that are kept for the picture.
  static constexpr std::size_t max_loads = 1'000;
  /// The first process takes the entry away, and all end.
  static constexpr int end = -1;

  explicit stampede_board(stampede_orders const& orders)
      : requests(static_cast<std::size_t>(orders.requests)),
        each(static_cast<std::size_t>(orders.processes)),
        answers(each.size() * requests),
        loads(each.size() * max_loads) {}

  right_answer* answers_of(std::size_t process) { return &answers[process * requests]; }
  load_span* loads_of(std::size_t process) { return &loads[process * max_loads]; }

  std::size_t const requests;
  /// What is played: 0 begins. Expiry N, from 1, has two steps: in 2 N - 1 the first process keeps
  /// the old product and waits for its expiry, in 2 N the requests of all come at once.
  shared<std::atomic<int>> step;
  shared<complaint> first_error;  ///< why a request was without a right answer
  shared_array<herd_process> each;
  shared_array<right_answer> answers;
  shared_array<load_span> loads;
};

// -------------------------------------------------------------------------------------- outcome

/// What a mode came to, over all expiries.
struct stampede_outcome {
  explicit stampede_outcome(stampede_orders const& orders) : played(orders) {}

  /// What the board has of the expiry whose requests were let go at `go_ns` of the steady clock.
  void add_expiry(stampede_board& board, std::int64_t go_ns);

  double percentile_ms(double share) const { return percentile(answered_ms, share); }
  char const* name() const { return played.mode->name; }

  stampede_orders played;
  std::int64_t loads = 0;  ///< as the database counts
  herd_counts counts;
  std::vector<double> answered_ms;  ///< each from when the requests of its process came
  double last_answer_ms = 0;        ///< from when the requests were let go, in the slowest expiry
  std::string first_error;
  std::string note;  ///< empty, or a line to be printed below the table

  /// Of the last expiry, or of the one in which a process was killed; in order.
  std::int64_t drawn_from_ns = 0;
  std::vector<right_answer> drawn_answers;
  std::vector<load_span> drawn_loads;
};

/// Plays the mode that the orders name, with processes of its own. `tell` is called before each
/// expiry, from 1. Throws command_error when it does not come to its end.
stampede_outcome play_mode(stage& on, stampede_orders const& orders, shared_warnings& warnings,
                           std::function<void(int expiry)> const& tell);

/// Each request is to get a right answer.
inline void judge_stampede(stampede_outcome const& outcome, judge& into) {
  into.demand(outcome.counts.errors == 0,
              fmt::format("{}: {} without a right answer; the first: {}", outcome.name(),
                          outcome.counts.errors, outcome.first_error));
}

/// A table, and as data.
void tell_stampede(std::vector<stampede_outcome> const& all, report& out);
/// The timelines beside each other. `where` says where the cache is.
std::string picture_of(std::vector<stampede_outcome> const& all, std::string const& where);

}  // namespace herdlock::lab
