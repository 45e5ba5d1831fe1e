// What a soak's judge says, and the memory in which its processes tell it their figures.
#pragma once

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <stdexcept>
#include <string>

namespace herdlock_test {

struct verdict {
  bool good = true;
  void demand(bool holds, char const* what) {
    if (!holds) std::printf("NOT SO: %s\n", what);
    good = good && holds;
  }
};

/// The file's content as Figures, which all who map it share until the end of the process. A new
/// file is made, and is all zeros. Figures are atomics, or what the system shares by itself.
template <class Figures>
Figures& shared_figures(std::string const& path) {
  int const fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0 || ::ftruncate(fd, sizeof(Figures)) != 0) throw std::runtime_error("no " + path);
  void* const place = ::mmap(nullptr, sizeof(Figures), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  ::close(fd);
  if (place == MAP_FAILED) throw std::runtime_error("cannot map " + path);
  return *static_cast<Figures*>(place);
}

}  // namespace herdlock_test
