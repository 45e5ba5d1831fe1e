// A handle on a memory space: the space, the handle's own executor, and its name for messages.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "stores/memory/store_state.hpp"

namespace herdlock::memory {

struct handle_on_space {
  std::shared_ptr<store_state> state;
  std::shared_ptr<endpoint> home;
  std::string display_name;

  template <class T>
  void tell(std::string const& name, handler<T> done, result<T> outcome) const {
    if (!outcome) {
      failure const why = outcome.error();
      outcome = failure{why.code, display_name + ": " + in_quotes(name) + ": " + why.message};
    }
    detail::post_result<T>(home->executor, std::move(done), std::move(outcome));
  }
};

}  // namespace herdlock::memory
