// The hand-over among eight processes that arrive together on one thing, each holding it for a
// millisecond: by the library, and by hand.
#pragma once

#include <sys/types.h>
#include <array>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <herdlock/backend.hpp>
#include <herdlock/herdlock.hpp>

#include "harness.hpp"

namespace bench {

namespace asio = boost::asio;

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

/// The processes. Make it while this one has no threads.
class contest {
 public:
  /// `make` runs in each of them, with its number; all make the same ways.
  explicit contest(std::function<turn_takers(std::size_t number)> const& make);
  ~contest();
  contest(contest const&) = delete;
  contest& operator=(contest const&) = delete;

  /// A burst by this way; of each hand-over the µs from the call of the release to the return of
  /// the next acquisition.
  std::vector<double> play(std::size_t way);

 private:
  struct board;
  static void take_part(board& shared, turn_takers const& ways);

  board* shared_;
  std::array<pid_t, contenders> processes_{};
};

/// Bursts of both ways in turns; the medians of all gaps.
struct pairing {
  std::string name;
  std::size_t subject = 0;
  std::size_t baseline = 1;
  ratio_limit limit = no_limit;
  std::size_t bursts = 60;
};
void compare_hand_overs(report& to, contest& among, pairing const& what);

/// By a lock of a store.
class lease_taker final : public turn_taker {
 public:
  lease_taker(std::string const& url, std::string const& name);
  void take() override;
  void give_back() override;
  void hold(std::chrono::nanoseconds how_long) override;

 private:
  asio::io_context io_{1};
  herdlock::store store_;
  herdlock::lock where_;
  herdlock::acquired held_;
};

/// A store's port on the measuring thread.
class pair_maker {
 public:
  using opener = herdlock::result<herdlock::backend>(herdlock::store_url, asio::any_io_executor);
  pair_maker(opener* open, std::string const& url);
  ~pair_maker();
  pair_maker(pair_maker const&) = delete;
  pair_maker& operator=(pair_maker const&) = delete;

  /// µs for an acquisition and its release, of so many in a row.
  double round(std::size_t pairs);

 private:
  asio::io_context io_{1};
  herdlock::backend store_;
  herdlock::resource const name_{"bench"};
};

}  // namespace bench
