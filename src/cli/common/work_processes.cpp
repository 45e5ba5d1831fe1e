#include "common/work_processes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace herdlock::cli {
namespace {

struct folder_entry {  // struct linux_dirent64
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t size;
  std::uint8_t kind;
};
constexpr std::size_t name_offset = offsetof(folder_entry, kind) + 1;

// Calls `take(number)` for each entry of the folder that is a number. readdir() allocates.
template <class Take>
void each_number(char const* folder, Take take) noexcept {
  int const listing = ::open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (listing < 0) return;
  alignas(folder_entry) char buffer[8192];
  while (true) {
    long const got = ::syscall(SYS_getdents64, listing, buffer, sizeof buffer);
    if (got <= 0) break;
    for (long at = 0; at < got;) {
      long const from = at;
      at += reinterpret_cast<folder_entry const*>(buffer + at)->size;
      std::string_view const name(buffer + from + name_offset);
      int number = 0;
      auto const [end, ec] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (ec == std::errc() && end == name.data() + name.size()) take(number, listing);
    }
  }
  ::close(listing);
}

struct process {
  bool alive() const { return state != 'Z' && state != 'X'; }

  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  std::uint64_t started = 0;
  char state = 0;  // as the kernel writes it: R, S, D, Z, …
  bool chosen = false;
  bool told = false;
};

int open_of(pid_t id, char const* what) noexcept {
  char path[64] = "/proc/";
  char* const end = std::to_chars(path + 6, path + 24, id).ptr;
  std::strcpy(end, what);
  return ::open(path, O_RDONLY | O_CLOEXEC);
}

// `4711 (na) me) S 1 4711 …`: the name may hold anything, so what follows its last ')' counts.
bool parse_stat(std::string_view text, process& into) noexcept {
  auto const name_end = text.rfind(')');
  if (name_end == std::string_view::npos || name_end + 2 >= text.size()) return false;
  text.remove_prefix(name_end + 2);
  into.state = text[0];
  for (int field = 3; !text.empty() && field <= 22; ++field) {
    auto const end = std::min(text.find(' '), text.size());
    char const* const from = text.data();
    if (field == 4) std::from_chars(from, from + end, into.parent);
    if (field == 5) std::from_chars(from, from + end, into.group);
    if (field == 22) return std::from_chars(from, from + end, into.started).ec == std::errc();
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return false;
}

bool look_at(pid_t id, char const* what, process& into) noexcept {
  int const file = open_of(id, what);
  if (file < 0) return false;
  char text[1024];
  ssize_t const got = ::read(file, text, sizeof text);
  ::close(file);
  into = {};
  into.id = id;
  return got > 0 && parse_stat({text, static_cast<std::size_t>(got)}, into);
}
bool look_at(pid_t id, process& into) noexcept { return look_at(id, "/stat", into); }

// Any of its threads: the lock is of all.
bool sleeps_in_kernel(pid_t id) noexcept {
  char path[64] = "/proc/";
  std::strcpy(std::to_chars(path + 6, path + 24, id).ptr, "/task");
  bool found = false;
  each_number(path, [&](int thread, int) {
    char what[64] = "/task/";
    std::strcpy(std::to_chars(what + 6, what + 24, thread).ptr, "/stat");
    process one;
    found = found || (look_at(id, what, one) && one.state == 'D');
  });
  return found;
}

// Read piece by piece, each with the end of the one before it.
bool has_mark(pid_t id, std::string_view mark) noexcept {
  int const file = open_of(id, "/environ");
  if (file < 0) return false;
  char text[16'384];
  std::size_t kept = 0;
  bool found = false;
  while (!found) {
    ssize_t const got = ::read(file, text + kept, sizeof text - kept);
    if (got <= 0) break;
    std::size_t const have = kept + static_cast<std::size_t>(got);
    found = std::string_view(text, have).find(mark) != std::string_view::npos;
    kept = std::min(have, mark.size());
    std::memmove(text, text + have - kept, kept);
  }
  ::close(file);
  return found;
}

class process_list {
 public:
  process_list() noexcept {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    first_ = static_cast<process*>(memory);
    each_number("/proc", [this](int id, int) {
      if (size_ < max_seen_processes && look_at(id, first_[size_])) ++size_;
    });
    std::sort(begin(), end(), [](process const& a, process const& b) { return a.id < b.id; });
  }
  ~process_list() {
    if (first_) ::munmap(first_, bytes);
  }
  process_list(process_list const&) = delete;
  process_list& operator=(process_list const&) = delete;

  process* begin() const noexcept { return first_; }
  process* end() const noexcept { return first_ + size_; }
  process const* find(pid_t id) const noexcept {
    auto const* const at = std::lower_bound(
        begin(), end(), id, [](process const& one, pid_t wanted) { return one.id < wanted; });
    return at != end() && at->id == id ? at : nullptr;
  }

 private:
  static constexpr std::size_t bytes = sizeof(process) * max_seen_processes;
  process* first_ = nullptr;
  std::size_t size_ = 0;
};

bool is_spared(work_signs const& signs, pid_t id) noexcept {
  if (id == ::getpid() || id == signs.ancestor) return true;
  for (auto const* at = signs.spared; at && *at != 0; ++at) {
    if (*at == id) return true;
  }
  return false;
}

bool shows(work_signs const& signs, process const& one) noexcept {
  if (signs.ancestor != 0 && one.parent == signs.ancestor) return true;
  return signs.group != 0 && one.group == signs.group;
}

bool is_meant(work_signs const& signs, process const& one) noexcept {
  return (signs.only_in == 0 || one.group == signs.only_in) && one.group != signs.not_in;
}

void add_descendants(work_signs const& signs, process_list const& all) noexcept {
  bool more = true;
  while (more) {
    more = false;
    for (auto& one : all) {
      if (one.chosen || is_spared(signs, one.id)) continue;
      auto const* const parent = all.find(one.parent);
      one.chosen = parent && parent->chosen;
      more = more || one.chosen;
    }
  }
}

void send(process const& to, int number) noexcept {
  int const handle = static_cast<int>(::syscall(SYS_pidfd_open, to.id, 0));
  if (handle < 0 && errno == ESRCH) return;  // else: an old kernel, or a sandbox that forbids it
  process now;
  if (look_at(to.id, now) && now.started == to.started) {
    if (handle < 0) {
      ::kill(to.id, number);
    } else {
      ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0);
    }
  }
  if (handle >= 0) ::close(handle);
}

}  // namespace

// Whoever is known gets the signal before the next is looked at: that one may make us hang.
std::size_t signal_work(work_signs const& signs, int number) noexcept {
  process_list const all;
  std::size_t living = 0;
  auto const tell = [&](process& one) {
    if (!one.chosen || one.told || !one.alive() || !is_meant(signs, one)) return;
    one.told = true;
    ++living;
    if (number != 0) send(one, number);
  };
  auto const tell_all = [&] {
    add_descendants(signs, all);
    std::for_each(all.begin(), all.end(), tell);
  };
  for (auto& one : all) one.chosen = !is_spared(signs, one.id) && shows(signs, one);
  tell_all();
  for (auto& one : all) {
    if (!signs.mark || one.chosen || is_spared(signs, one.id)) continue;
    if (signs.sleepers == kernel_sleepers::passed_over && sleeps_in_kernel(one.id)) continue;
    one.chosen = has_mark(one.id, signs.mark);
    tell(one);
  }
  tell_all();
  return living;
}

void list_children(pid_t* into, std::size_t most) noexcept {
  pid_t const self = ::getpid();
  process_list const all;
  std::size_t count = 0;
  for (auto const& one : all) {
    if (one.parent == self && count < most) into[count++] = one.id;
  }
  into[count] = 0;
}

void close_one_by_one_from(int first) noexcept {
  each_number("/proc/self/fd", [first](int number, int listing) {
    if (number >= first && number != listing) ::close(number);
  });
}

void close_from(int first) noexcept {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
  close_one_by_one_from(first);
}

}  // namespace herdlock::cli
