// Example 1: only one of us may do this now.
//
// Run it twice at the same time: the second one is told who is at work. The store is a file, so
// this needs no server; give redis://127.0.0.1:6379 as the argument to exclude other machines too.
#include <herdlock/herdlock.hpp>
#include <iostream>

using namespace std::chrono_literals;

int main(int argc, char** argv) try {
  auto store = herdlock::open_store(argc > 1 ? argv[1] : "sqlite:example.db");
  herdlock::lock report(store, "nightly-report");

  // The callback form gives the lock back in every case, also when the work throws.
  bool const done = report.with({.ttl = 30s, .wait = 1s}, [](herdlock::lease& lease) {
    // Hand the fencing token to whatever the lock protects, and let it refuse smaller ones.
    std::cout << "writing the report with fencing token " << lease.fencing().value << '\n';

    // Long work looks now and then whether the right is still proved.
    if (!lease.valid()) std::cout << "lost it: " << lease.lost_reason().message << '\n';
  });

  if (!done) {
    auto const holder = report.inspect();
    std::cout << "busy: " << (holder ? holder->holder : "somebody") << " is at it\n";
  }

  // The same by hand: a lease is renewed in the background until it is released or destroyed.
  if (auto lease = report.try_acquire({.ttl = 10s})) {
    std::cout << "held by " << lease->owner().label() << '\n';
    lease->release();
  }
} catch (herdlock::error const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
