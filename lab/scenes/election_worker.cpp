#include "scenes/election_worker.hpp"

#include <unistd.h>

#include <algorithm>
#include <boost/asio/use_future.hpp>
#include <condition_variable>
#include <future>
#include <herdlock/election.hpp>
#include <mutex>
#include <thread>

#include "stage/bench_board.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;

// Says what happens to one candidate.
class speaker {
 public:
  speaker(int pipe, int worker) : pipe_(pipe), worker_(worker) {}

  void say(worker_word word, std::uint64_t term = 0, std::string const& text = {}) const {
    worker_message message{steady_ns(), worker_, word, term, {}};
    std::copy_n(text.begin(), std::min(text.size(), sizeof(message.text) - 1), message.text);
    [[maybe_unused]] auto const written = ::write(pipe_, &message, sizeof(message));
  }
  void tell(election_transition const& what) const {
    bool const asks = what.action == "acquire";
    if (asks) say(worker_word::stands);
    if (what.event == election_event::failed && what.to == election_state::waiting) {
      say(worker_word::trouble, 0, what.why.message);
    }
    if (what.event == election_event::released) say(worker_word::resigned, what.term.value);
  }
  // The work: it looks at its term now and then, which is how it sees the renewals.
  void work(election_term& term) const {
    say(worker_word::leads, term.number().value);
    auto until = term.held().valid_until();
    std::mutex mutex;
    std::condition_variable_any told;
    std::unique_lock guard(mutex);
    while (!told.wait_for(guard, term.stop_token(), 5ms, [&] { return !term.valid(); })) {
      if (term.stop_token().stop_requested()) break;
      if (std::exchange(until, term.held().valid_until()) != term.held().valid_until()) {
        say(worker_word::renews, term.number().value);
      }
    }
    say(worker_word::stops, term.number().value);
  }

 private:
  int pipe_;
  int worker_;
};

}  // namespace

void stand_as_worker(worker_terms const& at, int worker, worker_orders_page& orders) {
  speaker const voice(at.pipe, worker);
  auto const opened = open_store(at.url);
  election_options options;
  options.ttl = at.ttl;
  options.back_off_first = 20ms;
  options.back_off_most = 500ms;
  options.candidate = "worker " + std::to_string(worker);
  options.on_transition = [&](election_transition const& what) { voice.tell(what); };
  election_services const services{in_thread([&](election_term& term) { voice.work(term); }), {}};
  election job(opened, at.name, services, options);
  while (!orders.over) {
    if (!orders.stand) {
      std::this_thread::sleep_for(2ms);
      continue;
    }
    auto campaign = job.async_campaign(asio::use_future);
    while (campaign.wait_for(2ms) != std::future_status::ready) {
      if (orders.resign.exchange(false) || orders.over) job.resign();
    }
    campaign.get();
  }
}

}  // namespace herdlock::cli
