// A process that ends while it holds what it has of a store, for the contract of the process's end.
//
//   ending_process URL NAME TTL_MS WAY [values]
//
// It takes the lock NAME, leads the election NAME-job and, with `values`, makes a cache; then it
// ends. WAY: return, exit, exit_in_thread, exit_on_store (on the store's own thread), quick_exit;
// thread_local (as return); fork (a child ends first, by exit(), and this one by return); busy
// (exit() while other threads call).
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/post.hpp>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <herdlock/herdlock.hpp>
#include <memory>
#include <optional>
#include <stdexcept>
#include <stop_token>
#include <string>
#include <thread>

namespace {

using namespace herdlock;

// What the work of a term shares with who waits for it; it may end behind the objects.
struct working {
  std::promise<void> begun;
  std::promise<void> ended;
};

election_services work(std::shared_ptr<working> const& at) {
  return {.start_work = in_thread([at](election_term& term) {
            at->begun.set_value();
            std::stop_callback const ends(term.stop_token(), [at] { at->ended.set_value(); });
            at->ended.get_future().wait();
          })};
}

struct everything {
  std::shared_ptr<working> at = std::make_shared<working>();
  store opened;
  lock where;
  std::optional<lease> held;
  election job;
  std::optional<cache<std::string>> values;

  everything(std::string const& url, std::string const& name, milliseconds ttl)
      : opened(open_store(url)),
        where(opened, name),
        held(where.try_acquire({.ttl = ttl})),
        job(opened, name + "-job", work(at), {.ttl = std::max(ttl, milliseconds{1000})}) {
    if (!held) throw std::runtime_error("the lock is held");
    job.async_campaign([](failure const&) {});
    at->begun.get_future().wait();
  }
};

// They are empty, and what destroys them is registered, before anything of the library is used: so
// all that registers itself later ends before them.
std::optional<everything> in_static_storage;
thread_local std::optional<everything> of_the_thread;

int fork_first() {
  pid_t const child = ::fork();
  if (child == 0) {
    ::alarm(20);
    std::exit(in_static_storage->held->valid() ? 3 : 0);
  }
  int status = -1;
  if (::waitpid(child, &status, 0) != child || !WIFEXITED(status)) return 4;
  if (WEXITSTATUS(status) != 0) return WEXITSTATUS(status);
  return in_static_storage->held->valid() ? 0 : 5;
}

void keep_calling(std::string const& url, std::string const& name) {
  lock const where(open_store(url), name + "-other");
  for (;;) {
    try {
      if (auto one = where.try_acquire()) one->release();
    } catch (error const&) {  // the store that it is in may be ending
    }
  }
}

int end(std::string const& way, std::string const& url, std::string const& name) {
  if (way == "exit") std::exit(0);
  if (way == "quick_exit") std::quick_exit(0);
  if (way == "fork") return fork_first();
  if (way == "exit_in_thread") std::thread([] { std::exit(0); }).join();
  if (way == "exit_on_store") {
    boost::asio::post(in_static_storage->opened.get_executor(), [] { std::exit(0); });
    for (;;) ::pause();
  }
  if (way == "busy") {
    for (int i = 0; i < 3; ++i) std::thread([=] { keep_calling(url, name); }).detach();
    auto const one = lock(open_store(url), name + "-first").try_acquire();
    std::exit(one ? 0 : 6);  // `one` and the stores of the threads are never destroyed
  }
  return 0;
}

}  // namespace

int main(int argc, char** argv) try {
  if (argc < 5) return 64;
  std::string const url = argv[1];
  std::string const name = argv[2];
  milliseconds const ttl{std::stol(argv[3])};
  std::string const way = argv[4];
  auto& all = way == "thread_local" ? of_the_thread : in_static_storage;
  all.emplace(url, name, ttl);
  if (argc > 5) {
    all->values.emplace(all->opened, cache_options{.prefix = name + "-values:"});
    all->values->put("key", "value");
  }
  return end(way, url, name);
} catch (std::exception const& e) {
  std::fprintf(stderr, "%s\n", e.what());
  return 2;
}
