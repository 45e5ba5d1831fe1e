#include "runtime/random.hpp"

#include <random>

namespace herdlock::runtime {

double random_unit() {
  thread_local std::minstd_rand engine{std::random_device{}()};
  return std::uniform_real_distribution<double>{0.0, 1.0}(engine);
}

}  // namespace herdlock::runtime
