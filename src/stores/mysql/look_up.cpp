#include "stores/mysql/look_up.hpp"

#include <arpa/inet.h>
#include <errmsg.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <memory>
#include <system_error>
#include <thread>

#include "stores/mysql/sql_error.hpp"

namespace herdlock::mysql {
namespace {

std::atomic<int> under_way = 0;

// Owned by whoever asks and by the thread that looks, since either may be the last.
struct question {
  explicit question(std::string name) : host(std::move(name)) {}
  ~question() { ::close(done); }
  question(question const&) = delete;
  question& operator=(question const&) = delete;

  std::string const host;
  int const done = ::eventfd(0, EFD_CLOEXEC);
  std::vector<std::string> addresses;  ///< written before `error` is
  std::atomic<int> error = 0;
};

bool is_address(std::string const& host) {
  in6_addr any{};
  return ::inet_pton(AF_INET, host.c_str(), &any) == 1 ||
         ::inet_pton(AF_INET6, host.c_str(), &any) == 1;
}

void look(std::shared_ptr<question> const& asked) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  int const error = ::getaddrinfo(asked->host.c_str(), nullptr, &wanted, &found);
  for (addrinfo const* each = found; each; each = each->ai_next) {
    char address[NI_MAXHOST];
    bool const told = ::getnameinfo(each->ai_addr, each->ai_addrlen, address, sizeof address,
                                    nullptr, 0, NI_NUMERICHOST) == 0;
    if (told) asked->addresses.emplace_back(address);
  }
  if (found) ::freeaddrinfo(found);
  asked->error = error == 0 && asked->addresses.empty() ? EAI_NONAME : error;
  --under_way;
  ::eventfd_write(asked->done, 1);
}

[[noreturn]] void refuse(std::string const& host, std::string const& why) {
  throw sql_error{CR_UNKNOWN_HOST, "cannot resolve " + host + ": " + why};
}

// Signals are for the threads of the program that uses us.
bool start(std::shared_ptr<question> const& asked) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool started = true;
  try {
    std::thread([asked] { look(asked); }).detach();
  } catch (std::system_error const&) {
    started = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return started;
}

// Many may ask at once while all is well; only those that hang keep a slot for long.
void take_slot(std::string const& host, clock::time_point deadline, int wake) {
  constexpr int look_again_ms = 5;
  while (++under_way > max_look_ups) {
    --under_way;
    pollfd woken{wake, POLLIN, 0};
    bool const over = ::poll(&woken, 1, look_again_ms) > 0 || clock::now() >= deadline;
    if (!over) continue;
    refuse(host, std::to_string(max_look_ups) + " look-ups hang already; is the DNS server down?");
  }
}

}  // namespace

std::vector<std::string> look_up(std::string const& host, clock::time_point deadline, int wake) {
  if (is_address(host)) return {host};
  take_slot(host, deadline, wake);
  auto const asked = std::make_shared<question>(host);
  if (!start(asked)) {
    --under_way;
    refuse(host, "no thread is left for it");
  }
  pollfd both[] = {{asked->done, POLLIN, 0}, {wake, POLLIN, 0}};
  int found = 0;
  do {
    auto const left = std::chrono::ceil<milliseconds>(deadline - clock::now()).count();
    found = ::poll(both, 2, static_cast<int>(std::max<std::int64_t>(left, 0)));
  } while (found < 0 && errno == EINTR);
  if (both[0].revents == 0) refuse(host, "no answer in time; is the DNS server down?");
  if (asked->error != 0) refuse(host, ::gai_strerror(asked->error));
  return asked->addresses;
}

}  // namespace herdlock::mysql
