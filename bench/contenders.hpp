// The hand-over among eight processes that arrive together on one thing, each holding it for a
// millisecond: by the library, and by hand. And what a taking and its giving back cost.
#pragma once

#include <semaphore.h>

#include <boost/asio/steady_timer.hpp>
#include <herdlock/backend.hpp>
#include <herdlock/url.hpp>

#include "event_loop.hpp"
#include "stage/forked_process.hpp"
#include "stage/shared.hpp"

namespace bench {

inline constexpr std::size_t contenders = 8;

/// One way to take turns, as one of the processes goes it. Both calls block.
class turn_taker {
 public:
  virtual ~turn_taker() = default;
  virtual void take() = 0;
  virtual void give_back() = 0;
  /// In between. What has an event loop lets it go on, as a program that holds something does.
  virtual void hold(std::chrono::nanoseconds how_long);
};
using turn_takers = std::vector<std::unique_ptr<turn_taker>>;

/// µs for a taking and its giving back, of so many in a row.
double pairs_of(turn_taker& by, std::size_t pairs);
/// A line of both.
void compare_pairs(report& to, std::string const& name, turn_taker& subject, turn_taker& baseline,
                   ratio_limit limit = no_limit, std::size_t pairs = 24, std::size_t rounds = 40);

/// Of each hand-over in a burst the µs from the call of the release to the return of the next
/// acquisition.
using gaps = std::vector<double>;
using burst = std::function<gaps()>;

struct turn {
  std::int64_t acquired_ns, released_ns;
};
/// Of turns in their order.
gaps gaps_between(std::array<turn, contenders> const& turns);

/// The processes. Make it while this one has no threads.
class contest {
 public:
  /// Runs in each of them, with its number; all make the same ways.
  using maker = std::function<void(turn_takers& ways, std::size_t number)>;
  explicit contest(maker const& make);
  ~contest();

  /// A burst by this way, each time it is called. Aborts when a process has died.
  burst by(std::size_t way) {
    return [this, way] { return play(way); };
  }

 private:
  struct board {
    board();

    std::array<sem_t, contenders> go;
    sem_t done;
    std::size_t way = 0;
    std::atomic<std::size_t> turns_taken{0};
    std::array<turn, contenders> turns;
  };

  void take_part(turn_takers const& ways, std::size_t number);
  void begin(std::size_t way);
  gaps play(std::size_t way);

  lab::shared<board> shared_;
  std::vector<lab::forked_process> processes_;
};

/// All gaps of each way: so many bursts of each in turns, after one of each that is not counted.
std::vector<gaps> gaps_of(std::vector<burst> const& ways, std::size_t bursts);

/// A line with a percentile of both.
void add_percentile(report& to, std::string const& name, double share, gaps const& subject,
                    gaps const& baseline, ratio_limit limit = no_limit);
/// A line with the medians of all gaps of both.
void compare_hand_overs(report& to, std::string const& name, burst const& subject,
                        burst const& baseline, ratio_limit limit = no_limit,
                        std::size_t bursts = 60);

/// By a lock of a store.
class lease_taker final : public turn_taker {
 public:
  lease_taker(std::string const& url, std::string const& name)
      : store_(loop_.open(url)), where_(store_, name) {}
  void take() override {
    held_ = loop_.get<herdlock::acquired>([this](auto handler) {
      where_.async_acquire({.ttl = std::chrono::seconds(30), .wait = std::chrono::minutes(1)},
                           as_result(std::move(handler)));
    });
    must(held_.has_value(), "busy for a minute");
  }
  void give_back() override {
    auto const end = loop_.get<herdlock::release_reply>(
        [this](auto handler) { held_->async_release(as_result(std::move(handler))); });
    must(end == herdlock::release_reply::released, "a lease was lost");
  }
  void hold(std::chrono::nanoseconds how_long) override {
    bool over = false;
    asio::steady_timer timer(loop_.context, how_long);
    timer.async_wait([&over](boost::system::error_code) { over = true; });
    loop_.until([&over] { return over; });
  }

 private:
  event_loop loop_;
  herdlock::store store_;
  herdlock::lock where_;
  herdlock::acquired held_;
};

/// By a store's port, without waiting.
class store_taker final : public turn_taker {
 public:
  using opener = herdlock::result<herdlock::backend>(herdlock::store_url, asio::any_io_executor);
  store_taker(event_loop& on, opener* open, std::string const& url)
      : on_(on),
        store_(open(herdlock::store_url::parse(url).value(), on.context.get_executor()).value()) {}
  void take() override {
    owner_ = herdlock::owner_token::generate();
    auto const answer = on_.get<herdlock::acquire_reply>([this](auto handler) {
      store_.leases->acquire({name_, owner_, std::chrono::seconds(30), herdlock::milliseconds(0)},
                             std::move(handler));
    });
    must(std::holds_alternative<herdlock::grant>(answer), "busy");
  }
  void give_back() override {
    on_.get<herdlock::release_reply>(
        [this](auto handler) { store_.leases->release(name_, owner_, std::move(handler)); });
  }

 private:
  event_loop& on_;
  herdlock::backend store_;
  herdlock::resource const name_{"bench"};
  herdlock::owner_token owner_ = herdlock::owner_token::generate();
};

}  // namespace bench
