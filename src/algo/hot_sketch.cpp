#include "algo/hot_sketch.hpp"

namespace herdlock::algo {

void hot_sketch::end_half() noexcept {
  for (estimate& cell : cells_) cell = {0, cell.live};
}

}  // namespace herdlock::algo
