#include "common/work_processes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <utility>

#include "terminal/unique_fd.hpp"

namespace herdlock::cli {
namespace {

struct folder_entry {  // struct linux_dirent64
  std::uint64_t inode;
  std::int64_t next;
  std::uint16_t size;
  std::uint8_t kind;
};
constexpr std::size_t name_offset = offsetof(folder_entry, kind) + 1;

// True when the whole text is a number.
template <class Number>
bool read_number(std::string_view text, Number& into) noexcept {
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), into);
  return ec == std::errc() && end == text.data() + text.size();
}

// Opens `/proc/4711/task/4712/stat`, of which each number and word is a part.
template <class... Parts>
unique_fd open_proc(Parts... parts) noexcept {
  char path[96] = "/proc";
  char* end = path + std::strlen(path);
  [[maybe_unused]] auto const add = [&](auto part) {
    *end++ = '/';
    if constexpr (std::is_integral_v<decltype(part)>) {
      end = std::to_chars(end, std::end(path), part).ptr;
    } else {
      end = ::stpcpy(end, part);
    }
  };
  (add(parts), ...);
  *end = '\0';
  return unique_fd(::open(path, O_RDONLY | O_CLOEXEC));
}

// Calls `take(number)` for each entry of the folder that is a number. readdir() allocates.
template <class Take>
void each_number(unique_fd const& folder, Take take) noexcept {
  alignas(folder_entry) char buffer[8192];
  while (true) {
    long const got = ::syscall(SYS_getdents64, folder.get(), buffer, sizeof buffer);
    if (got <= 0) return;
    for (long at = 0; at < got;) {
      int number = 0;
      if (read_number(buffer + at + name_offset, number)) take(number);
      at += reinterpret_cast<folder_entry const*>(buffer + at)->size;
    }
  }
}

// `4711 (na) me) S 1 4711 …`: the name may hold anything, so what follows its last ')' counts.
// Calls `take(number, text)` for each field, from the third to the last that is wanted.
template <class Take>
void each_field(unique_fd const& stat, int last, Take take) noexcept {
  char text[1024];
  ssize_t const got = ::read(stat.get(), text, sizeof text);
  std::string_view rest(text, static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  rest.remove_prefix(std::min(rest.rfind(')'), rest.size()));
  for (int field = 2; !rest.empty() && field <= last; ++field) {
    auto const end = std::min(rest.find(' '), rest.size());
    if (field > 2) take(field, rest.substr(0, end));
    rest.remove_prefix(std::min(end + 1, rest.size()));
  }
}

struct process {
  bool alive() const { return state != 'Z' && state != 'X'; }

  pid_t id = 0;
  pid_t parent = 0;
  pid_t group = 0;
  pid_t thread = 0;  // one that lives, if any does
  int threads = 1;
  std::int64_t started = -1;
  char state = 0;  // as the kernel writes it: R, S, D, Z, …
  bool chosen = false;
  bool told = false;
};

bool look_at(pid_t id, unique_fd const& stat, process& into) noexcept {
  into = {};
  into.id = into.thread = id;
  each_field(stat, 22, [&](int field, std::string_view text) {
    if (field == 3 && !text.empty()) into.state = text.front();
    if (field == 4) read_number(text, into.parent);
    if (field == 5) read_number(text, into.group);
    if (field == 20) read_number(text, into.threads);
    if (field == 22) read_number(text, into.started);
  });
  return into.started >= 0;
}

// Calls `take` with each thread's number and what its file says.
template <class Take>
void each_thread(pid_t id, Take take) noexcept {
  each_number(open_proc(id, "task"), [&](pid_t thread) {
    process one;
    if (look_at(id, open_proc(id, "task", thread, "stat"), one)) take(thread, one);
  });
}

// A process whose first thread has ended (pthread_exit in main) looks like a zombie, but works on
// as long as another thread does.
bool look_at(pid_t id, process& into) noexcept {
  if (!look_at(id, open_proc(id, "stat"), into)) return false;
  if (into.alive() || into.threads <= 1) return true;
  each_thread(id, [&](pid_t thread, process const& one) {
    if (!one.alive() || into.alive()) return;
    into.state = one.state;
    into.thread = thread;
  });
  return true;
}

// Any of its threads: the lock is of all.
bool sleeps_in_kernel(pid_t id) noexcept {
  bool found = false;
  each_thread(id, [&](pid_t, process const& one) { found = found || one.state == 'D'; });
  return found;
}

// Read piece by piece, each with the end of the one before it. A thread that has ended shows none.
bool has_mark(process const& of, std::string_view mark) noexcept {
  unique_fd const file = open_proc(of.id, "task", of.thread, "environ");
  char text[16'384];
  std::size_t kept = 0;
  while (true) {
    ssize_t const got = ::read(file.get(), text + kept, sizeof text - kept);
    if (got <= 0) return false;
    std::size_t const have = kept + static_cast<std::size_t>(got);
    if (std::string_view(text, have).find(mark) != std::string_view::npos) return true;
    kept = std::min(have, mark.size());
    std::memmove(text, text + have - kept, kept);
  }
}

// Calls `take` with the number of each child, in the order of their births for each thread: as far
// as the kernel knows them at this moment.
template <class Take>
void each_child(pid_t of, Take take) noexcept {
  each_number(open_proc(of, "task"), [&](pid_t thread) {
    unique_fd const file = open_proc(of, "task", thread, "children");
    char text[4096];
    pid_t child = 0;
    ssize_t got;
    while ((got = ::read(file.get(), text, sizeof text)) > 0) {
      for (ssize_t at = 0; at < got; ++at) {
        bool const digit = text[at] >= '0' && text[at] <= '9';
        if (digit) child = child * 10 + (text[at] - '0');
        if (!digit && child != 0) take(std::exchange(child, 0));
      }
    }
    if (child != 0) take(child);
  });
}

class process_list {
 public:
  process_list() noexcept {
    void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                                MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (memory == MAP_FAILED) return;
    first_ = static_cast<process*>(memory);
    each_number(open_proc(), [this](pid_t id) {
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
  return signs.only_in == 0 || one.group == signs.only_in;
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

// False: we may not.
bool send(process const& to, int number) noexcept {
  unique_fd const pidfd(static_cast<int>(::syscall(SYS_pidfd_open, to.id, 0)));
  int const handle = pidfd.get();
  if (handle < 0 && errno == ESRCH) return true;  // else: an old kernel, or a sandbox
  process now;
  if (!look_at(to.id, now) || now.started != to.started) return true;
  long const sent = handle < 0 ? ::kill(to.id, number)
                               : ::syscall(SYS_pidfd_send_signal, handle, number, nullptr, 0);
  return sent == 0 || errno != EPERM;
}

void kill_children(work_signs const& signs) noexcept {
  each_child(signs.ancestor, [&](pid_t id) {
    process one;
    if (is_spared(signs, id) || !look_at(id, one) || one.parent != signs.ancestor) return;
    if (one.alive() && is_meant(signs, one)) send(one, SIGKILL);
  });
}

}  // namespace

// Whoever is known gets the signal before the next is looked at: that one may make us hang.
work_seen signal_work(work_signs const& signs, int number) noexcept {
  if (number == SIGKILL && signs.ancestor != 0) kill_children(signs);
  process_list const all;
  work_seen seen{.known = all.begin() != all.end()};
  auto const tell = [&](process& one) {
    if (!one.chosen || one.told || !one.alive() || !is_meant(signs, one)) return;
    one.told = true;
    ++seen.living;
    seen.one = one.id;
    bool const served = signs.served != 0 && one.group == signs.served;
    if (!send(one, served ? 0 : number)) seen.refused = one.id;
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
    one.chosen = has_mark(one, signs.mark);
    tell(one);
  }
  tell_all();
  return seen;
}

pid_t youngest_child_in(pid_t group, pid_t but_not) noexcept {
  pid_t found = 0;
  each_child(::getpid(), [&](pid_t id) {
    if (id != but_not && ::getpgid(id) == group) found = id;
  });
  return found;
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

// The kernel says where the arguments are; there is no other way to them from here.
void rename_process(char const* name) noexcept {
  ::prctl(PR_SET_NAME, name);
  std::uintptr_t borders[2] = {0, 0};  // fields 48 and 49
  each_field(open_proc("self", "stat"), 49, [&](int field, std::string_view text) {
    if (field >= 48) read_number(text, borders[field - 48]);
  });
  if (borders[0] == 0 || borders[1] <= borders[0]) return;
  auto* const arguments = reinterpret_cast<char*>(borders[0]);
  std::size_t const room = borders[1] - borders[0];
  std::memset(arguments, 0, room);
  std::copy_n(name, std::min(std::strlen(name), room - 1), arguments);
}

void close_one_by_one_from(int first) noexcept {
  unique_fd const listing = open_proc("self", "fd");
  each_number(listing, [&](int number) {
    if (number >= first && number != listing.get()) ::close(number);
  });
}

void close_from(int first) noexcept {
  if (::syscall(SYS_close_range, static_cast<unsigned>(first), ~0U, 0U) == 0) return;
  close_one_by_one_from(first);
}

}  // namespace herdlock::cli
