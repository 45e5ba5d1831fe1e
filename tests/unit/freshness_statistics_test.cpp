// Early refresh over many cycles against what the theory says, with seeded random numbers.
//
// Readers come as a Poisson process of `rate` per load time; a load takes 1; x is the time that is
// left to the expiry. A reader at x is elected with the probability min(1, exp(-x / beta)).
//   loads of a cycle without a claim   e^(1/beta), where the rate is not small
//   a claim admits one of them: the cycle has one load, and a reader waits in it only if
//   the load began after x = 1 (probability exp(-rate * beta * e^(-1/beta)) at most)
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "algo/freshness.hpp"

namespace herdlock::algo {
namespace {

constexpr int cycles = 100'000;

struct herd {
  double rate;  // lambda * delta
  double beta;
};

// The density at x of the first election, and the integral of `weight` over it.
template <class Weight>
double over_first_election(herd const& h, Weight weight) {
  double const most = h.beta * (std::log(h.rate * h.beta + 1) + 16);
  int const steps = 200'000;
  double const dx = most / steps;
  double sum = 0;
  for (int i = 0; i < steps; ++i) {
    double const x = (i + 0.5) * dx;
    double const later = h.rate * h.beta * std::exp(-x / h.beta);  // elections before this one
    sum += h.rate * std::exp(-x / h.beta) * std::exp(-later) * weight(x) * dx;
  }
  return sum;
}

// Elections from `from` down to `to` (x falls), of readers who are all elected below 0.
double elections(herd const& h, double from, double to) {
  double const above = std::max(to, 0.0);
  double const early =
      from > 0 ? h.rate * h.beta * (std::exp(-above / h.beta) - std::exp(-from / h.beta)) : 0;
  return early + h.rate * std::max(0.0, std::min(from, 0.0) - to);
}

// All begin a load until the first of them ends.
double loads_without_claim(herd const& h) {
  double const none = std::exp(-h.rate * h.beta);
  double const early = over_first_election(h, [&](double x) { return 1 + elections(h, x, x - 1); });
  return early + none * (1 + h.rate);
}

// Somebody comes between the expiry and the end of the one load.
double share_that_waits(herd const& h) {
  double const none = std::exp(-h.rate * h.beta);
  double const late =
      over_first_election(h, [&](double x) { return x < 1 ? 1 - std::exp(-h.rate * (1 - x)) : 0; });
  return late + none;
}

// What the machine does with the readers of one entry. The entry expires at 0.
class cycle {
 public:
  cycle(herd const& h, std::mt19937_64& random) : herd_(h), random_(random) {}

  struct outcome {
    int loads = 0;
    int waits = 0;
    bool early = false;  // the first load began before the expiry
  };

  /// `claimed`: the first load is the only one. `grace`: how long the stale value is kept.
  outcome run(bool claimed, double grace) {
    outcome seen;
    double ends = -1e9;  // x at which the first load ends
    double x = herd_.beta * (std::log(herd_.rate * herd_.beta + 1) + 16);
    while (true) {
      double u = 0;
      x = next_reader(x, u);
      if (seen.loads > 0 && x <= ends) return seen;
      auto const what = freshness_of(entry(grace), moment(x), {herd_.beta}, 1 - u);
      if (what == freshness::fresh) continue;
      if (what == freshness::dead) ++seen.waits;
      if (seen.loads == 0) {
        ends = x - 1;
        seen.early = what == freshness::early;
      }
      if (seen.loads == 0 || !claimed) ++seen.loads;
      if (claimed && seen.waits > 0) return seen;
    }
  }

 private:
  // Readers whose u cannot be elected above the lower end of a step are left out: the exact
  // thinning of the process.
  double next_reader(double x, double& u) {
    while (x > 0) {
      double const step = std::max(0.0, x - 1);
      double const share = std::exp(-step / herd_.beta);
      double const gap = exponential() / (herd_.rate * share);
      if (x - gap > step) {
        u = share * uniform();
        return x - gap;
      }
      x = step;
    }
    u = uniform();
    return x - exponential() / herd_.rate;
  }
  double uniform() { return 1 - std::uniform_real_distribution<double>()(random_); }
  double exponential() { return -std::log(uniform()); }

  static clock::time_point moment(double x) {
    return clock::time_point(std::chrono::nanoseconds(static_cast<std::int64_t>((1000 - x) * 1e9)));
  }
  static entry_times entry(double grace) {
    return {{}, std::chrono::seconds(1), moment(0), moment(-grace)};
  }

  herd herd_;
  std::mt19937_64& random_;
};

class EarlyRefresh : public ::testing::TestWithParam<double> {
 protected:
  std::mt19937_64 random{20261125};
};

TEST_P(EarlyRefresh, WithoutAClaimSeveralLoadsBeginInEachCycle) {
  for (double const beta : {1.0, 3.0}) {
    herd const h{GetParam(), beta};
    double sum = 0, squares = 0;
    cycle one(h, random);
    for (int i = 0; i < cycles; ++i) {
      double const loads = one.run(false, 0).loads;
      sum += loads;
      squares += loads * loads;
    }
    double const mean = sum / cycles;
    double const sigma = std::sqrt((squares / cycles - mean * mean) / cycles);
    EXPECT_NEAR(mean, loads_without_claim(h), 3 * sigma) << "beta " << beta;
    if (h.rate >= 100) {
      EXPECT_NEAR(loads_without_claim(h), std::exp(1 / beta), 1e-3) << beta;
    }
  }
}

TEST_P(EarlyRefresh, WithAClaimOneLoadBeginsAndSoManyCyclesHaveAReaderWhoWaits) {
  herd const h{GetParam(), 1};
  int waiting = 0;
  cycle one(h, random);
  for (int i = 0; i < cycles; ++i) {
    auto const seen = one.run(true, 0);
    ASSERT_EQ(seen.loads, 1);
    waiting += seen.waits > 0;
  }
  double const expected = share_that_waits(h);
  double const sigma = std::sqrt(expected * (1 - expected) / cycles);
  EXPECT_NEAR(double(waiting) / cycles, expected, 3 * sigma + 1e-9);
  EXPECT_LE(expected, std::exp(-h.rate * std::exp(-1.0)) + 1e-6) << "the bound of the formula";
}

TEST_P(EarlyRefresh, WithAGraceOfTheLoadTimeNobodyWaitsForALoadThatBeganEarly) {
  herd const h{GetParam(), 1};
  cycle one(h, random);
  for (int i = 0; i < cycles; ++i) {
    auto const seen = one.run(true, 1);
    if (seen.early) {
      ASSERT_EQ(seen.waits, 0);
    }
  }
}

TEST_P(EarlyRefresh, WithAGraceThatReadersDoNotOutstayNobodyWaits) {
  herd const h{GetParam(), 1};
  cycle one(h, random);
  for (int i = 0; i < cycles; ++i) ASSERT_EQ(one.run(true, 1 + 30 / h.rate).waits, 0);
}

INSTANTIATE_TEST_SUITE_P(ReadersPerLoadTime, EarlyRefresh,
                         ::testing::Values(0.1, 1.0, 3.0, 4.0, 10.0, 19.0, 100.0, 1000.0));

// The figures that the guide gives.
TEST(EarlyRefreshTheory, TheShareOfCyclesWithAReaderWhoWaits) {
  EXPECT_NEAR(share_that_waits({3, 1}), 0.23, 0.005);
  EXPECT_NEAR(share_that_waits({4, 1}), 0.16, 0.005);
  EXPECT_NEAR(share_that_waits({10, 1}), 0.02, 0.005);
  EXPECT_NEAR(share_that_waits({19, 1}), 0.001, 0.0005);
}

}  // namespace
}  // namespace herdlock::algo
