#include "contenders.hpp"

#include <boost/asio/steady_timer.hpp>
#include <herdlock/url.hpp>
#include <thread>
#include <variant>

namespace bench {
namespace {

using namespace herdlock;
using namespace std::chrono_literals;

constexpr std::size_t stop = ~std::size_t{0};  // no way

}  // namespace

void turn_taker::hold(std::chrono::nanoseconds how_long) { std::this_thread::sleep_for(how_long); }

double pairs_of(turn_taker& by, std::size_t pairs) {
  return nanoseconds_each(pairs,
                          [&by] {
                            by.take();
                            by.give_back();
                          }) /
         1000;
}

void compare_pairs(report& to, std::string name, turn_taker& subject, turn_taker& baseline,
                   ratio_limit limit, std::size_t pairs, std::size_t rounds) {
  to.compare(
      std::move(name), "us", [&] { return pairs_of(subject, pairs); },
      [&] { return pairs_of(baseline, pairs); }, limit, rounds);
}

contest::board::board() {
  pthread_barrierattr_t shared;
  ::pthread_barrierattr_init(&shared);
  ::pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
  ::pthread_barrier_init(&gate, &shared, contenders + 1);
}

contest::contest(std::function<turn_takers(std::size_t number)> const& make) {
  for (std::size_t i = 0; i < contenders; ++i) {
    processes_.emplace_back([&] { take_part(make(i)); },
                            [](std::string_view why) { must(false, why); });
  }
}

contest::~contest() {
  shared_->way = stop;
  shared_->meet();
  for (auto& each : processes_) lab::wait_until(1min, [&each] { return each.ended(); });
}

void contest::take_part(turn_takers const& ways) {
  for (;;) {
    shared_->meet();
    if (shared_->way == stop) return;
    auto const& by = ways.at(shared_->way);
    by->take();
    auto& mine = shared_->turns.at(shared_->turns_taken.fetch_add(1));
    mine.acquired_ns = lab::steady_ns();
    by->hold(1ms);
    mine.released_ns = lab::steady_ns();
    by->give_back();
    shared_->meet();
  }
}

gaps contest::play(std::size_t way) {
  shared_->turns_taken = 0;
  shared_->way = way;
  shared_->meet();
  shared_->meet();
  gaps found;
  for (std::size_t i = 0; i + 1 < contenders; ++i) {
    auto const gap = shared_->turns.at(i + 1).acquired_ns - shared_->turns.at(i).released_ns;
    found.push_back(static_cast<double>(gap) / 1000);
  }
  return found;
}

std::vector<gaps> gaps_of(std::vector<burst> const& ways, std::size_t bursts) {
  std::vector<gaps> all(ways.size());
  for (std::size_t i = 0; i <= bursts; ++i) {
    for (std::size_t way = 0; way < ways.size(); ++way) {
      auto const some = ways[way]();
      if (i > 0) all[way].insert(all[way].end(), some.begin(), some.end());
    }
  }
  return all;
}

void compare_hand_overs(report& to, std::string name, burst const& subject, burst const& baseline,
                        ratio_limit limit, std::size_t bursts) {
  if (!to.wants(name)) return;
  auto const all = gaps_of({subject, baseline}, to.times(bursts));
  to.add(std::move(name), lab::percentile(all[0], 0.5), "us", lab::percentile(all[1], 0.5), limit);
}

void lease_taker::take() {
  held_ = loop_.get<acquired>([this](auto handler) {
    where_.async_acquire({.ttl = 30s, .wait = 1min}, as_result(std::move(handler)));
  });
  must(held_.has_value(), "busy for a minute");
}

void lease_taker::give_back() {
  auto const end = loop_.get<release_reply>(
      [this](auto handler) { held_->async_release(as_result(std::move(handler))); });
  must(end == release_reply::released, "a lease was lost");
}

void lease_taker::hold(std::chrono::nanoseconds how_long) {
  bool over = false;
  asio::steady_timer until(loop_.context, how_long);
  until.async_wait([&over](boost::system::error_code) { over = true; });
  loop_.until([&over] { return over; });
}

store_taker::store_taker(event_loop& on, opener* open, std::string const& url)
    : on_(on), store_(open(store_url::parse(url).value(), on.context.get_executor()).value()) {}

void store_taker::take() {
  owner_ = owner_token::generate();
  auto const answer = on_.get<acquire_reply>([this](auto handler) {
    store_.leases->acquire({name_, owner_, 30s, 0ms}, std::move(handler));
  });
  must(std::holds_alternative<grant>(answer), "busy");
}

void store_taker::give_back() {
  on_.get<release_reply>(
      [this](auto handler) { store_.leases->release(name_, owner_, std::move(handler)); });
}

}  // namespace bench
