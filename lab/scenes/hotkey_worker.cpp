// A process of `herdlock-lab hotkey`.
#include <fmt/format.h>

#include <array>
#include <herdlock/cache.hpp>
#include <memory>
#include <random>
#include <string_view>
#include <thread>

#include "scenes/hotkey.hpp"
#include "stage/near_warnings.hpp"
#include "stage/place.hpp"
#include "stage/zipf.hpp"

namespace herdlock::lab {
namespace {

using texts = cache<std::string>;

// Older requests are left out, so that no queue grows.
constexpr std::int64_t oldest_request_ns = 100'000'000;
constexpr double zipf_exponent = 0.99;
constexpr std::size_t value_bytes = 100;
// Nobody asks for it before, in either run.
constexpr std::array keys_of_runs{"offer:1", "offer:2"};
// The callers' wait for an answer is less than the scene's patience.
constexpr milliseconds longest_wait{10'000};

std::string load_text() { return std::string(value_bytes, 'x'); }
std::string name_of(std::size_t key) { return fmt::format("product:{}", key); }

class hotkey_worker {
 public:
  hotkey_worker(hotkey_terms const& terms, std::size_t number, hotkey_board& board)
      : terms_(terms),
        number_(number),
        board_(board),
        own_(board.processes[number]),
        store_(open_here(terms.options.store)),
        values_(store_, cache_terms()) {}

  void run() {
    fill();
    own_.ready = true;
    await_end_of(hotkey_phase::filling);
    std::thread asking([this] { ask_for_others(); });
    ask_for_the_key();
    asking.join();
    tell();
    own_.done = true;
    await_end_of(hotkey_phase::ending);
    if (terms_.run == hotkey_run::with) remove();
  }

 private:
  cache_options cache_terms() {
    cache_options how;
    how.prefix = terms_.prefix;
    // Should nobody take them away, they go by themselves.
    how.ttl = 2 * (terms_.options.time + terms_.patience);
    how.wait = longest_wait;
    if (terms_.run == hotkey_run::without) {
      how.near = near_cache::off;
      return how;
    }
    if (terms_.keeping == hotkey_keeping::can) how.near = near_cache::hot;
    how.fleet_threshold = terms_.options.fleet_threshold();
    how.hot_keys.emplace();
    how.hot_keys->threshold = terms_.options.threshold;
    how.hot_keys->window = terms_.options.window();
    how.hot_keys->on_hot = [this](std::string_view key) {
      if (key != the_key_) return;
      note_first(own_.found_ns, steady_ns());
      own_.hot = true;
      ++own_.became_hot;
    };
    how.hot_keys->on_cooled = [this](std::string_view key) {
      if (key != the_key_) return;
      own_.cooled_ns = steady_ns();
      own_.hot = false;
    };
    return how;
  }

  void await_end_of(hotkey_phase phase) const {
    while (board_.now->phase <= phase) std::this_thread::sleep_for(milliseconds(1));
  }

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
    auto const all = static_cast<std::size_t>(terms_.options.keys);
    for (auto n = number_; n < all; n += board_.processes.size()) call(name_of(n));
  }

  void ask_for_the_key() {
    auto const began = board_.now->began_ns.load();
    auto const end = began + in_ns(terms_.options.load_to());
    pace requests(began + in_ns(terms_.options.load_from()), terms_.options.rate_of_each());
    std::shared_ptr<std::string const> last;
    for (; requests.due() < end && goes_on(); requests.go_on()) {
      std::shared_ptr<std::string const> value;
      auto* const into = make(hotkey_kind::key, requests,
                              [&] { value = values_.get_or_load_shared(the_key_, load_text); });
      if (!value) continue;
      // What a process keeps is the same object each time; what is read is a new one.
      bool const kept = value == last;
      if (kept) note_first(own_.kept_ns, steady_ns());
      if (!kept && into) ++into->asked;
      last = std::move(value);
    }
  }

  void ask_for_others() {
    zipf const popularity(static_cast<std::size_t>(terms_.options.keys), zipf_exponent);
    std::mt19937_64 random(number_);
    pace requests(board_.now->began_ns, terms_.options.rate_of_others() / terms_.options.processes);
    for (; goes_on(); requests.go_on()) {
      make(hotkey_kind::others, requests,
           [&] { values_.get_or_load_shared(name_of(popularity.draw(random)), load_text); });
    }
  }

  bool goes_on() const { return board_.now->phase == hotkey_phase::playing; }

  // Where an answered call was counted; else null.
  template <class Call>
  call_record* make(hotkey_kind kind, pace& requests, Call call) {
    auto const due = requests.due();
    if (steady_ns() - due > oldest_request_ns) {
      if (auto* const into = board_.at_time(number_, kind, due)) ++into->left_out;
      return nullptr;
    }
    auto const from = requests.await();
    auto* const into = board_.at_time(number_, kind, from);
    try {
      call();
      if (into) into->took.note(steady_ns() - from);
      return into;
    } catch (error const&) {
      if (into) ++into->failed;
    }
    return nullptr;
  }

  void tell() {
    own_.reports = static_cast<std::int64_t>(values_.fleet_stats().reported);
    own_.store_errors = static_cast<std::int64_t>(values_.stats().store_errors);
    bool const was_hot = terms_.keeping == hotkey_keeping::can && own_.found_ns != 0;
    if (!was_hot || own_.kept_ns != 0 || !is_told_of_no_changes(store_)) return;
    throw error(make_failure(errc::not_supported,
                             "store " + store_.display_name() +
                                 ": the processes cannot keep its value: " + told_of_no_changes));
  }

  // What the store does not take in time goes by its ttl.
  void remove() const {
    auto const until = steady_ns() + in_ns(terms_.patience) / 2;
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
  std::size_t const number_;
  hotkey_board& board_;
  hotkey_process& own_;
  std::string_view const the_key_ = keys_of_runs[terms_.run == hotkey_run::with];
  store const store_;
  texts const values_;
};

}  // namespace

void ask_for_keys(hotkey_terms const& terms, std::size_t number, hotkey_board& board) {
  hotkey_worker(terms, number, board).run();
}

}  // namespace herdlock::lab
