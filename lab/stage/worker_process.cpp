#include "stage/worker_process.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/error.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <tuple>

#include "terminal/exit_code.hpp"
#include "terminal/unique_fd.hpp"
#include "scenes/worker.hpp"

namespace herdlock::cli {
namespace {

// In the child, where only async-signal-safe calls are allowed.
[[noreturn]] void become_worker(int socket, pid_t parent, char const* name) noexcept {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(0);
  // dup2 clears close-on-exec, unless both are the same descriptor.
  if (socket == worker_socket) {
    ::fcntl(socket, F_SETFD, 0);
  } else {
    ::dup2(socket, worker_socket);
  }
  sigset_t none;
  sigemptyset(&none);
  ::pthread_sigmask(SIG_SETMASK, &none, nullptr);
  ::execl("/proc/self/exe", "herdlock", worker_command, name, nullptr);
  ::_exit(127);
}

}  // namespace

worker_process::worker_process(asio::any_io_executor executor, worker_orders const& orders)
    : socket_(executor) {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    throw command_error(exit_code::internal,
                        fmt::format("cannot make a socket pair: {}", std::strerror(errno)));
  }
  unique_fd ours(ends[0]);
  unique_fd const theirs(ends[1]);
  pid_t const parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become_worker(theirs.get(), parent, name_of(orders.mode));
  if (pid_ < 0) {
    throw command_error(
        exit_code::internal,
        fmt::format("cannot start a process: {}; try fewer --processes", std::strerror(errno)));
  }
  socket_.assign(asio::local::stream_protocol(), ours.release());
  if (!write_frame(socket_.native_handle(), {frame_kind::orders, orders.to_json()})) {
    raise_death({});
  }
}

worker_process::~worker_process() { kill(); }

void worker_process::kill() {
  if (pid_ < 0) return;
  ::kill(pid_, SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
}

asio::awaitable<void> worker_process::send(frame f) {
  std::string const bytes = pack(f);
  // A worker that is gone says why, or that it is gone, at the next receive().
  co_await asio::async_write(socket_, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
}

asio::awaitable<frame> worker_process::receive() {
  std::array<char, frame_header::size> bytes{};
  auto [code, size] =
      co_await asio::async_read(socket_, asio::buffer(bytes), asio::as_tuple(asio::use_awaitable));
  if (code) raise_death(code);
  frame_header const head = frame_header::of(bytes);
  frame made{head.kind, std::string(std::min(head.body_size, frame_header::max_body), '\0')};
  std::tie(code, size) = co_await asio::async_read(socket_, asio::buffer(made.body),
                                                   asio::as_tuple(asio::use_awaitable));
  if (code) raise_death(code);
  if (made.kind == frame_kind::failed) {
    auto const why = nlohmann::json::parse(made.body);
    throw command_error(static_cast<exit_code>(why.at("code").get<int>()),
                        why.at("line").get<std::string>());
  }
  co_return made;
}

asio::awaitable<frame> worker_process::expect(frame_kind kind) {
  while (true) {
    frame got = co_await receive();
    if (got.kind == kind) co_return got;
    if (got.kind != frame_kind::loading) {
      throw command_error(exit_code::internal, "a worker process sent something unexpected");
    }
  }
}

void worker_process::raise_death(boost::system::error_code const& code) {
  if (code == asio::error::operation_aborted) {
    throw command_error(exit_code::internal,
                        fmt::format("worker process {} did not end its work in time", pid_));
  }
  throw command_error(exit_code::internal,
                      fmt::format("worker process {} ended before its work was done", pid_));
}

}  // namespace herdlock::cli
