// What a store has found out about its server, told once each on standard error.
#pragma once

#include <algorithm>
#include <herdlock/open.hpp>

#include "terminal/notice.hpp"

namespace herdlock::cli {

/// Known after the store's first operation; more may come with each new connection.
class warnings_teller {
 public:
  void tell(store const& of) { tell(of.warnings()); }
  void tell(std::vector<std::string> const& all) {
    for (auto const& text : all) {
      if (std::find(told_.begin(), told_.end(), text) != told_.end()) continue;
      notice("warning: " + text);
      told_.push_back(text);
    }
  }

 private:
  std::vector<std::string> told_;
};

}  // namespace herdlock::cli
