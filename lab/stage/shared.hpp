// Memory that a scene shares with the processes that it starts later.
#pragma once

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <memory>
#include <string_view>

#include "terminal/exit_code.hpp"

namespace herdlock::lab {

using cli::command_error;
using cli::exit_code;

/// Value-initialised; unmapped with its owner. For what has no pointers and no destructor: atomics,
/// numbers, arrays of them. Memory that nobody touches costs nothing.
template <class T>
class shared_array {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  /// Throws command_error (internal) when there is no memory.
  explicit shared_array(std::size_t size) : size_(size) {
    void* const memory = ::mmap(nullptr, std::max<std::size_t>(size, 1) * sizeof(T),
                                PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw command_error(exit_code::internal, "no shared memory");
    at_ = static_cast<T*>(memory);
    // The kernel's zeros are what plain numbers are initialised with.
    if constexpr (!std::is_trivially_default_constructible_v<T>) {
      std::uninitialized_value_construct_n(at_, size);
    }
  }
  shared_array(shared_array const&) = delete;
  shared_array& operator=(shared_array const&) = delete;
  ~shared_array() { ::munmap(at_, std::max<std::size_t>(size_, 1) * sizeof(T)); }

  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) const { return at_[index]; }
  T* begin() const { return at_; }
  T* end() const { return at_ + size_; }

 private:
  std::size_t size_;
  T* at_;
};

/// One of them: the board of a scene.
template <class T>
class shared {
 public:
  shared() : one_(1) {}
  T* operator->() const { return one_.begin(); }
  T& operator*() const { return one_[0]; }

 private:
  shared_array<T> one_;
};

/// The number becomes `value` where it was less.
template <class Number>
void raise_to(std::atomic<Number>& most, Number value) {
  auto seen = most.load();
  while (seen < value && !most.compare_exchange_weak(seen, value)) {
  }
}

/// The first time of something: 0 stands for never.
template <class Number>
void note_first(std::atomic<Number>& at, Number value) {
  Number never = 0;
  at.compare_exchange_strong(never, value);
}

/// Why the processes of a scene cannot go on. The first text of all is kept, cut at its size.
class complaint {
 public:
  void raise(exit_code status, std::string_view text) {
    if (raising_.exchange(true)) return;
    std::copy_n(text.data(), std::min(text.size(), text_.size() - 1), text_.data());
    status_ = status;
    raised_ = true;
  }
  /// Empty: nobody has complained.
  std::string_view text() const { return raised_ ? text_.data() : ""; }
  exit_code status() const { return status_; }

 private:
  std::atomic<bool> raising_{false};
  std::atomic<bool> raised_{false};  // only then is there something whole to be read
  std::array<char, 2048> text_{};
  exit_code status_{};
};

}  // namespace herdlock::lab
