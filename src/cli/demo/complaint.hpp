// Why the processes of a demo cannot go on, in memory that they share.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <exception>
#include <functional>
#include <string>
#include <string_view>

#include "common/exit_code.hpp"

namespace herdlock::cli {

/// Of a board. The first text of all processes is kept, cut at its size.
class complaint {
 public:
  void raise(exit_code status, std::string_view text) {
    if (raising_.exchange(true)) return;
    std::copy_n(text.data(), std::min(text.size(), text_.size() - 1), text_.data());
    status_ = status;
    raised_ = true;
  }
  /// Empty: nobody has complained.
  std::string_view text() const {
    return raised_ ? std::string_view(text_.data()) : std::string_view();
  }
  exit_code status() const { return status_; }

 private:
  std::atomic<bool> raising_{false};
  std::atomic<bool> raised_{false};  // only then is there something whole to be read
  std::array<char, 512> text_{};
  exit_code status_{};
};

/// What `work` throws is complained of, and thrown on. `say` makes of a store's message what the
/// user is to read; `who` is in front of what is no matter of the store.
template <class Work, class Say = std::identity>
void complaining(complaint& why, std::string const& who, Work work, Say say = {}) {
  try {
    work();
  } catch (error const& e) {
    why.raise(exit_code_of(e.code()), say(std::string(e.what())));
    throw;
  } catch (std::exception const& e) {
    why.raise(exit_code::internal, who + ": " + e.what());
    throw;
  }
}

}  // namespace herdlock::cli
