// A process that the fault tests start, kill, stop and continue while it holds a lock.
//
//   lock_holder URL NAME TTL_MS hold              acquire, then obey signals
//   lock_holder URL NAME TTL_MS restore TICKET    the same with a detached lease
//   lock_holder URL NAME TTL_MS leave             acquire many, and end while the store closes
//   lock_holder URL NAME TTL_MS work COUNT FOLDER COUNT times inside the lock, judged by FOLDER
//
// It prints a line per event: `held FENCING`, `lost`, `busy`, `released`, `done`, `overlap`.
// SIGUSR1 asks `valid 0|1`, SIGTERM releases and ends.
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <boost/asio/post.hpp>
#include <cstdio>
#include <fstream>
#include <future>
#include <herdlock/herdlock.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace {

using namespace herdlock;

void say(std::string const& line) {
  std::string const text = line + "\n";
  // One write, so that lines from several threads do not mix.
  [[maybe_unused]] auto const n = ::write(STDOUT_FILENO, text.data(), text.size());
}

int obey_signals(lease held, sigset_t const& awaited) {
  say("held " + std::to_string(held.fencing().value));
  std::stop_callback on_loss(held.lost_token(), [] { say("lost"); });
  for (;;) {
    int number = 0;
    ::sigwait(&awaited, &number);
    if (number == SIGUSR1) say(std::string("valid ") + (held.valid() ? "1" : "0"));
    if (number == SIGTERM) {
      say(held.release() == release_reply::released ? "released" : "lost at release");
      return 0;
    }
  }
}

struct last_handles {
  std::shared_ptr<std::promise<void>> gone;
  std::optional<store> where;
  std::vector<lease> held;
  void operator()() {
    held.clear();
    where.reset();
    gone->set_value();
  }
};

int leave(store where, std::string const& name, milliseconds ttl) {
  auto const on = where.get_executor();
  std::vector<lease> held;
  for (int i = 0; i < 500; ++i) {  // it has to do for a while
    auto one = lock(where, name + std::to_string(i)).try_acquire({.ttl = ttl});
    if (!one) return say("busy"), 1;
    held.push_back(std::move(*one));
  }
  say("held " + std::to_string(held.back().fencing().value));
  auto const gone = std::make_shared<std::promise<void>>();
  boost::asio::post(on, last_handles{gone, std::move(where), std::move(held)});
  gone->get_future().wait();
  return 0;
}

// Creating a file that exists fails at the kernel: nobody judges himself here.
bool inside_alone(std::string const& folder, lease const& held) {
  std::string const marker = folder + "/inside";
  int const fd = ::open(marker.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return false;
  std::ofstream(folder + "/log", std::ios::app) << held.fencing().value << std::endl;
  ::close(fd);
  return ::unlink(marker.c_str()) == 0;
}

int work(lock const& where, milliseconds ttl, int count, std::string const& folder) {
  for (int i = 0; i < count; ++i) {
    auto held = where.acquire({.ttl = ttl, .wait = std::chrono::minutes(1)});
    if (!held) return say("busy"), 1;
    if (!inside_alone(folder, *held)) return say("overlap"), 1;
    if (held->release() != release_reply::released) return say("lost"), 1;
  }
  say("done");
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) return 64;
  sigset_t awaited;
  ::sigemptyset(&awaited);
  ::sigaddset(&awaited, SIGUSR1);
  ::sigaddset(&awaited, SIGTERM);
  // Before the store starts its thread, which inherits the mask.
  ::pthread_sigmask(SIG_BLOCK, &awaited, nullptr);

  milliseconds const ttl{std::stol(argv[3])};
  std::string const mode = argv[4];
  if (mode == "leave") return leave(open_store(argv[1]), argv[2], ttl);
  lock const where(open_store(argv[1]), argv[2]);
  if (mode == "work" && argc == 7) return work(where, ttl, std::stoi(argv[5]), argv[6]);
  acquired held;
  if (mode == "restore" && argc == 6) {
    held = where.restore(lease_ticket::parse(argv[5]).value(), {.ttl = ttl});
  } else {
    held = where.acquire({.ttl = ttl, .wait = std::chrono::minutes(1)});
  }
  if (!held) return say("busy"), 1;
  return obey_signals(std::move(*held), awaited);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
