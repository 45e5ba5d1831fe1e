// A process of `herdlock-lab hotkey`.
#include <herdlock/cache.hpp>

#include "scenes/hotkey.hpp"
#include "stage/near_warnings.hpp"
#include "stage/place.hpp"
#include "stage/zipf.hpp"

namespace herdlock::lab {
namespace {

// Older requests are left out, so that no queue grows.
constexpr std::int64_t oldest_request_ns = 100'000'000;
// Nobody asks for it before, in either run.
constexpr std::array keys_of_runs{"offer:1", "offer:2"};

std::string load_text() { return std::string(100, 'x'); }
std::string name_of(std::size_t key) { return fmt::format("product:{}", key); }

struct hotkey_worker {
  hotkey_board& board;
  std::size_t number;
  std::string_view the_key = keys_of_runs[board.hot_keys];
  hotkey_terms const& how = board.how;
  hotkey_process& own = board.processes[number];
  store const place = open_here(how.store);
  cache<std::string> const values{place, cache_terms()};

  void run() {
    fill();
    own.ready = true;
    await_end_of(hotkey_phase::filling);
    std::thread asking([this] { ask_for_others(); });
    ask_for_the_key();
    asking.join();
    own.reports = values.fleet_stats().reported;
    own.store_errors = values.stats().store_errors;
    if (how.can_keep && own.found_ns != 0 && own.kept_ns == 0) require_told_of_changes(place);
    own.done = true;
    await_end_of(hotkey_phase::ending);
    if (board.hot_keys) remove();
  }

  cache_options cache_terms() {
    // Should nobody take them away, they go by themselves. The wait for an answer is less than the
    // scene's patience.
    cache_options terms{.prefix = how.prefix,
                        .ttl = 2 * (how.time + how.patience),
                        .wait = milliseconds(10'000),
                        .near = {.mode = near_cache::off}};
    if (!board.hot_keys) return terms;
    terms.near.mode = how.can_keep ? std::optional(near_cache::hot) : std::nullopt;
    terms.hot.fleet_threshold = how.fleet_threshold();
    terms.hot.keys =
        hot_keys_options{.threshold = static_cast<double>(how.threshold), .window = how.window()};
    terms.hot.keys->on_hot = [this](std::string_view key) {
      if (key != the_key) return;
      note_first(own.found_ns, steady_ns());
      own.is_cool = false;
      ++own.became_hot;
    };
    terms.hot.keys->on_cooled = [this](std::string_view key) {
      if (key != the_key) return;
      own.cooled_ns = steady_ns();
      own.is_cool = true;
    };
    return terms;
  }

  void await_end_of(hotkey_phase phase) const {
    while (board.now->phase <= phase) nap();
  }

  // Not by loads: a claim leaves its fencing number in the store for days.
  void fill() const {
    if (number == 0) values.put(the_key, load_text());
    for_own_keys([this](std::string const& key) {
      if (!values.get(key)) values.put(key, load_text());
    });
  }

  // Each process has its share of the other keys.
  template <class Call>
  void for_own_keys(Call call) const {
    std::size_t const all = how.keys;
    for (auto n = number; n < all; n += board.processes.size()) call(name_of(n));
  }

  void ask_for_the_key() {
    auto const began = board.now->began_ns.load();
    auto const end = began + in_ns(how.load_to());
    pace requests(began + in_ns(how.load_from()), how.rate_of_each());
    std::shared_ptr<std::string const> last;
    for (; requests.due() < end && goes_on(); requests.go_on()) {
      std::shared_ptr<std::string const> value;
      auto* const into =
          make(own.key, requests, [&] { value = values.get_or_load_shared(the_key, load_text); });
      if (!value) continue;
      // What a process keeps is the same object each time; what is read is a new one.
      bool const kept = value == last;
      if (kept) note_first(own.kept_ns, steady_ns());
      if (!kept && into) ++into->asked;
      last = std::move(value);
    }
  }

  void ask_for_others() {
    zipf const popularity(how.keys, 0.99);
    std::mt19937_64 random(number);
    pace requests(board.now->began_ns, how.rate_of_others() / how.processes);
    for (; goes_on(); requests.go_on()) {
      make(own.others, requests,
           [&] { values.get_or_load_shared(name_of(popularity.draw(random)), load_text); });
    }
  }

  bool goes_on() const { return board.now->phase == hotkey_phase::playing; }

  // Where an answered call was counted; else null.
  template <class Call>
  call_record* make(hotkey_process::calls& calls, pace& requests, Call call) {
    auto const due = requests.due();
    if (steady_ns() - due > oldest_request_ns) {
      if (auto* const into = board.in_slice(calls, due)) ++into->left_out;
      return nullptr;
    }
    auto const from = requests.await();
    auto* const into = board.in_slice(calls, from);
    try {
      call();
      if (into) into->took.note(steady_ns() - from);
      return into;
    } catch (error const&) {
      if (into) ++into->failed;
    }
    return nullptr;
  }

  // What the store does not take in time goes by its ttl.
  void remove() const {
    auto const until = steady_ns() + in_ns(how.patience) / 2;
    try {
      if (number == 0) {
        for (char const* key : keys_of_runs) values.invalidate(key);
      }
      for_own_keys([&](std::string const& key) {
        if (steady_ns() < until) values.invalidate(key);
      });
    } catch (error const&) {  // its trouble showed before
    }
  }
};

}  // namespace

void ask_for_keys(hotkey_board& board, std::size_t number) { hotkey_worker{board, number}.run(); }

}  // namespace herdlock::lab
