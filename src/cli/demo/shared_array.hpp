// Memory that this process shares with those that are forked later.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <memory>
#include <type_traits>

#include "common/exit_code.hpp"

namespace herdlock::cli {

/// Value-initialised; unmapped with its owner. For what has no pointers and no destructor.
template <class T>
class shared_array {
  static_assert(std::is_trivially_destructible_v<T>);

 public:
  /// Throws command_error (internal) when there is no memory.
  explicit shared_array(std::size_t size) : size_(size) {
    void* const memory = ::mmap(nullptr, size * sizeof(T), PROT_READ | PROT_WRITE,
                                MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw command_error(exit_code::internal, "no shared memory");
    at_ = static_cast<T*>(memory);
    std::uninitialized_value_construct_n(at_, size);
  }
  shared_array(shared_array const&) = delete;
  shared_array& operator=(shared_array const&) = delete;
  ~shared_array() { ::munmap(at_, size_ * sizeof(T)); }

  std::size_t size() const { return size_; }
  T& operator[](std::size_t index) { return at_[index]; }
  T const& operator[](std::size_t index) const { return at_[index]; }

 private:
  std::size_t size_;
  T* at_ = nullptr;
};

}  // namespace herdlock::cli
