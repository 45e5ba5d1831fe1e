#include "contenders.hpp"

#include "terminal/command_line.hpp"

namespace bench {
namespace {

using namespace std::chrono_literals;

constexpr std::size_t stop = ~std::size_t{0};  // no way

}  // namespace

void turn_taker::hold(std::chrono::nanoseconds how_long) { std::this_thread::sleep_for(how_long); }

double pairs_of(turn_taker& by, std::size_t pairs) {
  auto const pair = [&by] {
    by.take();
    by.give_back();
  };
  return nanoseconds_each(pairs, pair) / 1000;
}

void compare_pairs(report& to, std::string const& name, turn_taker& subject, turn_taker& baseline,
                   ratio_limit limit, std::size_t pairs, std::size_t rounds) {
  auto const measure = [pairs](turn_taker& by) { return pairs_of(by, pairs); };
  to.compare_by(measure, name, "us", subject, baseline, limit, rounds);
}

gaps gaps_between(std::array<turn, contenders> const& turns) {
  gaps found;
  for (std::size_t i = 0; i + 1 < contenders; ++i) {
    found.push_back(static_cast<double>(turns[i + 1].acquired_ns - turns[i].released_ns) / 1000);
  }
  return found;
}

contest::board::board() {
  for (auto& each : go) ::sem_init(&each, 1, 0);
  ::sem_init(&done, 1, 0);
}

contest::contest(maker const& make) {
  for (std::size_t i = 0; i < contenders; ++i) {
    processes_.emplace_back([&] {
      return herdlock::cli::ended("herdlock_bench", [&] {
        turn_takers ways;
        make(ways, i);
        take_part(ways, i);
        return 0;
      });
    });
  }
}

contest::~contest() {
  begin(stop);
  for (auto& each : processes_) lab::wait_until(1min, [&each] { return each.ended(); });
}

void contest::take_part(turn_takers const& ways, std::size_t number) {
  while (::sem_wait(&shared_->go[number]) == 0 && shared_->way != stop) {
    auto const& by = ways.at(shared_->way);
    by->take();
    auto& mine = shared_->turns.at(shared_->turns_taken.fetch_add(1));
    mine.acquired_ns = lab::steady_ns();
    by->hold(1ms);
    mine.released_ns = lab::steady_ns();
    by->give_back();
    ::sem_post(&shared_->done);
  }
}

void contest::begin(std::size_t way) {
  shared_->turns_taken = 0;
  shared_->way = way;
  for (auto& each : shared_->go) ::sem_post(&each);
}

gaps contest::play(std::size_t way) {
  begin(way);
  timespec next_look{::time(nullptr) + 1, 0};
  for (std::size_t done = 0; done < contenders; ++done) {
    while (::sem_timedwait(&shared_->done, &next_look) != 0) {
      for (auto& each : processes_) must(!each.ended(), "a contender has died");
      ++next_look.tv_sec;
    }
  }
  return gaps_between(shared_->turns);
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

void add_percentile(report& to, std::string const& name, double share, gaps const& subject,
                    gaps const& baseline, ratio_limit limit) {
  to.add(name, lab::percentile(subject, share), "us", lab::percentile(baseline, share), limit);
}

void compare_hand_overs(report& to, std::string const& name, burst const& subject,
                        burst const& baseline, ratio_limit limit, std::size_t bursts) {
  if (!to.wants(name)) return;
  auto const all = gaps_of({subject, baseline}, to.times(bursts));
  add_percentile(to, name, 0.5, all[0], all[1], limit);
}

}  // namespace bench
