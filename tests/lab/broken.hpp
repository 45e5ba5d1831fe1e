// What a judge says of figures that it is shown.
#pragma once

#include <string>

#include "stage/report.hpp"

namespace herdlock_test {

/// Its sentences, a line each; empty when all is kept.
template <class Show>
std::string broken_of(Show const& show) {
  herdlock::lab::judge by;
  show(by);
  std::string all;
  for (auto const& sentence : by.broken()) all += (all.empty() ? "" : "\n") + sentence;
  return all;
}

}  // namespace herdlock_test
