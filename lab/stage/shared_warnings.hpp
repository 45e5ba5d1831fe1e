// What the stores of a scene's processes have been warned of.
#pragma once

#include "stage/shared.hpp"
#include "terminal/warnings.hpp"

namespace herdlock::lab {

/// In memory that processes share; each text once.
class shared_warnings {
 public:
  /// By a process, when its store has done what it has to do. Beyond eight, texts are left out.
  void note(store const& of) {
    for (auto const& text : of.warnings()) {
      for (auto& each : texts_) {
        each.raise(exit_code::success, text);
        if (std::string_view(text).starts_with(each.text()) && !each.text().empty()) break;
      }
    }
  }

  /// By the scene, at its end: on standard error.
  void tell() const {
    cli::warnings_teller teller;  // two processes may have noted one at the same time
    for (auto const& each : texts_) {
      if (!each.text().empty()) teller.tell({std::string(each.text())});
    }
  }

 private:
  std::array<complaint, 8> texts_{};
};

}  // namespace herdlock::lab
