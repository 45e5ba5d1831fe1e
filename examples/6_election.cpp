// Example 6: one of many works; when it stops, the next begins.
//
// Here both candidates are in one process. On ten machines each would have one, on a store that
// they share: give redis://127.0.0.1:6379 as the argument.
#include <atomic>
#include <herdlock/herdlock.hpp>
#include <iostream>
#include <string>
#include <thread>

using namespace std::chrono_literals;

namespace {

std::atomic<int> terms = 0;

void work(herdlock::election_term& term) {
  // The term's number is a fencing token: what the work writes to can refuse an older one.
  std::cout << term.candidate() + " leads term " + std::to_string(term.number().value) + "\n";
  ++terms;
  while (!term.stop_token().stop_requested()) {
    // After a pause of the process the clock says whether the term is still ours.
    if (!term.valid()) return;
    std::this_thread::sleep_for(1ms);
  }
}

void stand(herdlock::store const& store, std::string const& name) {
  herdlock::election_options const options{.ttl = 10s, .candidate = name};
  herdlock::election job(store, "scheduler", {.start_work = herdlock::in_thread(work)}, options);
  std::jthread const retires([&, before = terms.load()] {
    while (terms == before) std::this_thread::sleep_for(1ms);
    job.resign();  // hands over at once, and ends the campaign
  });
  job.campaign();
}

}  // namespace

int main(int argc, char** argv) try {
  auto const store = herdlock::open_store(argc > 1 ? argv[1] : "memory:");
  stand(store, "first");
  stand(store, "second");
  return terms == 2 ? 0 : 1;
} catch (herdlock::error const& e) {
  std::cerr << e.what() << '\n';
  return 1;
}
