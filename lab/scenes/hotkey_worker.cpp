#include "scenes/hotkey_worker.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <herdlock/cache.hpp>
#include <memory>
#include <random>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "stage/bench_board.hpp"
#include "terminal/exit_code.hpp"
#include "scenes/near_warnings.hpp"

namespace herdlock::cli {
namespace {

using namespace std::chrono_literals;
using texts = cache<std::string>;

// A process that slept this long has several requests to make; fewer wake-ups, less work.
constexpr std::int64_t shortest_nap_ns = 1'000'000;
// Older ones are left out, so that no queue grows.
constexpr std::int64_t oldest_request_ns = 100'000'000;
constexpr milliseconds pause_of_stages = 1ms;
constexpr std::size_t value_bytes = 100;
// Nobody asks for it before, in either run.
constexpr std::array keys_of_runs{"offer:1", "offer:2"};
// The callers' wait for an answer is less than the parent's patience.
constexpr milliseconds longest_wait = 10s;

std::string load_text() { return std::string(value_bytes, 'x'); }

// The number of a key, 0 most often.
class zipf_numbers {
 public:
  zipf_numbers(std::size_t keys, std::uint64_t seed) : random_(seed), up_to_(keys) {
    double sum = 0;
    for (std::size_t n = 0; n < keys; ++n) {
      sum += std::pow(static_cast<double>(n + 1), -hotkey_options::zipf_exponent);
      up_to_[n] = sum;
    }
  }
  std::size_t next() {
    double const at = std::uniform_real_distribution<>(0, up_to_.back())(random_);
    auto const found = std::upper_bound(up_to_.begin(), up_to_.end(), at);
    return std::min(static_cast<std::size_t>(found - up_to_.begin()), up_to_.size() - 1);
  }

 private:
  std::mt19937_64 random_;
  std::vector<double> up_to_;
};

// Requests that come at even times. One is there from when it is due, or from when the process
// woke behind that: how late a sleep ends says nothing of the cache.
class request_clock {
 public:
  request_clock(std::int64_t from_ns, double per_second)
      : from_ns_(from_ns), gap_ns_(1e9 / per_second), woke_ns_(from_ns) {}

  std::int64_t due() const {
    return from_ns_ + static_cast<std::int64_t>(gap_ns_ * static_cast<double>(next_));
  }
  void go_on() { ++next_; }
  bool is_too_late() const { return steady_ns() - due() > oldest_request_ns; }
  /// Since when the request is there, which it is when this returns.
  std::int64_t await() {
    auto const now = steady_ns();
    if (now < due()) {
      auto const nap = std::max(due() - now, shortest_nap_ns);
      std::this_thread::sleep_for(std::chrono::nanoseconds(nap));
      woke_ns_ = steady_ns();
    }
    return std::max(due(), woke_ns_);
  }

 private:
  std::int64_t const from_ns_;
  double const gap_ns_;
  std::int64_t woke_ns_;
  std::int64_t next_ = 0;
};

class hotkey_worker {
 public:
  hotkey_worker(hotkey_terms const& terms, std::size_t number, hotkey_board& board)
      : terms_(terms),
        options_(terms.options),
        number_(number),
        board_(board),
        store_(open_store(terms.url)),
        values_(store_, cache_terms()) {}

  void run() {
    fill();
    record().ready = true;
    await_end_of(hotkey_stage::starting);
    std::thread asking([this] { ask_for_others(); });
    ask_for_the_key();
    asking.join();
    tell();
    record().done = true;
    await_end_of(hotkey_stage::ending);
    if (terms_.run == hotkey_run::with) remove();
  }

 private:
  cache_options cache_terms() {
    cache_options how;
    how.prefix = terms_.prefix;
    // Should nobody take them away, they go by themselves.
    how.ttl = 2 * (options_.time + terms_.patience);
    how.wait = longest_wait;
    if (terms_.run == hotkey_run::without) {
      how.near = near_cache::off;
      return how;
    }
    if (terms_.keeping == hotkey_keeping::can) how.near = near_cache::hot;
    how.fleet_threshold = options_.fleet_threshold();
    how.hot_keys.emplace();
    how.hot_keys->threshold = options_.threshold;
    how.hot_keys->window = options_.window();
    how.hot_keys->on_hot = [this](std::string_view key) {
      if (key != the_key_) return;
      if (record().found_ns == 0) record().found_ns = steady_ns();
      record().hot = true;
      ++record().became_hot;
    };
    how.hot_keys->on_cooled = [this](std::string_view key) {
      if (key != the_key_) return;
      record().cooled_ns = steady_ns();
      record().hot = false;
    };
    return how;
  }

  void await_end_of(hotkey_stage stage) const {
    while (board_.stage() <= stage) std::this_thread::sleep_for(pause_of_stages);
  }

  hotkey_record& record() { return board_.process(number_); }
  static std::string name_of(std::size_t key) { return fmt::format("product:{}", key); }

  // Not by loads: a claim leaves its fencing number in the store for days.
  void fill() const {
    if (number_ == 0) values_.put(the_key_, load_text());
    for_own_keys([this](std::string const& key) {
      if (!values_.get(key)) values_.put(key, load_text());
    });
  }

  // Each process has its share of the other keys.
  template <class Call>
  void for_own_keys(Call call) const {
    for (std::size_t n = number_; n < options_.keys; n += options_.processes) call(name_of(n));
  }

  std::int64_t at(milliseconds since_begin) const {
    return board_.began_ns() + since_begin / std::chrono::nanoseconds(1);
  }

  void ask_for_the_key() {
    auto const end = at(options_.load_to());
    request_clock requests(at(options_.load_from()), options_.rate_of_each());
    std::shared_ptr<std::string const> last;
    for (; requests.due() < end && goes_on(); requests.go_on()) {
      std::shared_ptr<std::string const> value;
      auto* const into = make(hotkey_kind::key, requests,
                              [&] { value = values_.get_or_load_shared(the_key_, load_text); });
      if (!value) continue;
      // What a process keeps is the same object each time; what is read is a new one.
      bool const kept = value == last;
      if (kept && record().kept_ns == 0) record().kept_ns = steady_ns();
      if (!kept && into) ++into->asked;
      last = std::move(value);
    }
  }

  void ask_for_others() {
    zipf_numbers numbers(options_.keys, number_);
    request_clock requests(board_.began_ns(),
                           options_.rate_of_others() / static_cast<double>(options_.processes));
    for (; goes_on(); requests.go_on()) {
      make(hotkey_kind::others, requests,
           [&] { values_.get_or_load_shared(name_of(numbers.next()), load_text); });
    }
  }

  bool goes_on() const { return board_.stage() == hotkey_stage::playing; }

  // Where an answered call was counted; else null.
  template <class Call>
  call_record* make(hotkey_kind kind, request_clock& requests, Call call) {
    auto const due = requests.due();
    if (requests.is_too_late()) {
      if (auto* const into = board_.at(number_, kind, due)) ++into->left_out;
      return nullptr;
    }
    auto const from = requests.await();
    auto* const into = board_.at(number_, kind, from);
    try {
      call();
      if (!into) return nullptr;
      auto const took = steady_ns() - from;
      ++into->calls;
      ++into->took[latency_bins::of(took)];
      into->slowest_ns = std::max(into->slowest_ns.load(), took);
      return into;
    } catch (error const&) {
      if (into) ++into->failed;
    }
    return nullptr;
  }

  void tell() {
    record().reports = static_cast<std::int64_t>(values_.fleet_stats().reported);
    record().store_errors = static_cast<std::int64_t>(values_.stats().store_errors);
    bool const was_hot = terms_.keeping == hotkey_keeping::can && record().found_ns != 0;
    if (!was_hot || record().kept_ns != 0 || !is_told_of_no_changes(store_)) return;
    throw error(make_failure(errc::not_supported,
                             "store " + store_.display_name() +
                                 ": the processes cannot keep its value: " + told_of_no_changes));
  }

  // What the store does not take in time goes by its ttl.
  void remove() const {
    auto const until = steady_ns() + terms_.patience.count() * 500'000;
    try {
      if (number_ == 0) {
        for (char const* key : keys_of_runs) values_.invalidate(key);
      }
      for_own_keys([&](std::string const& key) {
        if (steady_ns() < until) values_.invalidate(key);
      });
    } catch (error const&) {  // its trouble showed before
    }
  }

  hotkey_terms const& terms_;
  hotkey_options const& options_;
  std::size_t const number_;
  hotkey_board& board_;
  std::string_view const the_key_ = keys_of_runs[terms_.run == hotkey_run::with];
  store const store_;
  texts const values_;
};

}  // namespace

hotkey_keeping keeping_of(std::string const& url) {
  store const asked = value_or_raise(try_open_store(url));
  if (!asked.traits().across_processes) {
    texts const one(asked, {.prefix = no_prefix});
    return hotkey_keeping::needless;
  }
  try {
    texts const one(asked, {.prefix = no_prefix, .near = near_cache::hot});
    return hotkey_keeping::can;
  } catch (error const& e) {
    if (e.code() != errc::not_supported) throw;
  }
  texts const one(asked, {.prefix = no_prefix});  // throws for what keeps no values at all
  return hotkey_keeping::cannot;
}

void ask_for_keys(hotkey_terms const& terms, std::size_t number, hotkey_board& board) {
  complaining(board.why(), fmt::format("process {}", number + 1),
              [&] { hotkey_worker(terms, number, board).run(); });
}

}  // namespace herdlock::cli
