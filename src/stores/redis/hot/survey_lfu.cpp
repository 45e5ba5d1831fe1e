#include <algorithm>
#include <array>
#include <deque>
#include <memory>
#include <set>
#include <tuple>
#include <utility>

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/hot/glob.hpp"
#include "stores/redis/hot/lfu_range.hpp"
#include "stores/redis/hot/survey_parts.hpp"
#include "stores/redis/hot/surveys.hpp"

namespace herdlock::redis {
namespace {

constexpr std::uint64_t page_keys = 1000;
constexpr int counters = 256;  // a byte
constexpr char const* other_sources = "ask another source: clients, monitor";

std::string way_to_a_policy() {
  return "set maxmemory-policy to allkeys-lfu (or volatile-lfu), by CONFIG SET or in the server's "
         "configuration; the counters mean something only some minutes later. Or " +
         std::string(other_sources);
}

/// Those that are used most, each key once: SCAN may give one twice. The counters of two servers
/// with different settings are not the same measure, so the likely rate is compared first.
class best_keys {
 public:
  explicit best_keys(std::size_t most) : most_(most) {}

  void add(int counter, std::string_view key, lfu_range const& range) {
    bool const is_full = kept_.size() >= most_;
    // Nearly all end here, and none of them is copied.
    if (is_full && kept_.begin()->rank() >= rank(range.likely, counter, key)) return;
    entry fresh{counter, std::string(key), range};
    auto const known =
        std::find_if(kept_.begin(), kept_.end(), [&](entry const& one) { return one.key == key; });
    if (known != kept_.end() && !(*known < fresh)) return;
    if (known != kept_.end()) {
      kept_.erase(known);
    } else if (is_full) {
      kept_.erase(kept_.begin());
    }
    kept_.insert(std::move(fresh));
  }

  /// The greatest first.
  std::vector<surveyed_key> take() {
    std::vector<surveyed_key> keys;
    for (auto at = kept_.rbegin(); at != kept_.rend(); ++at) {
      surveyed_key one;
      one.key = at->key;
      one.rate = at->range.likely;
      one.low = at->range.low;
      one.high = at->range.high;
      keys.push_back(std::move(one));
    }
    return keys;
  }

 private:
  // By what they are ordered: the likely rate, the counter, the key.
  using rank = std::tuple<double, int, std::string_view>;

  struct entry {
    int counter;
    std::string key;
    lfu_range range;

    best_keys::rank rank() const { return {range.likely, counter, key}; }
    friend bool operator<(entry const& a, entry const& b) { return a.rank() < b.rank(); }
  };

  std::size_t const most_;
  std::set<entry> kept_;
};

/// What all servers together have cost.
struct lfu_cost {
  std::uint64_t commands = 0;
  std::uint64_t keys = 0;    // whose counter was read
  std::uint64_t denied = 0;  // of those, by the user's rights
};

class lfu_scan {
 public:
  lfu_scan(settings const& server, survey_request const& request, best_keys& into)
      : client_(server),
        request_(request),
        best_(into),
        page_size_(std::min(page_keys, request.most_a_second)) {}

  /// `progress(done)`: from 0 to 1.
  template <class Progress>
  failure run(std::vector<std::string>& notes, Progress progress) {
    if (auto why = look_at_settings(notes); why.code) return why;
    for (int i = 0; i < counters; ++i) {
      ranges_[static_cast<std::size_t>(i)] = lfu_range_of(i, log_factor_, decay_minutes_);
    }
    begun_ = clock::now();
    send({.scans = true});
    while (!under_way_.empty()) {
      if (auto why = take_answers(); why.code) return why;
      progress(all_keys_ > 0 ? double(looked_at_) / double(all_keys_) : 1);
      auto const pace = double(looked_at_) / double(request_.most_a_second);
      client_.wait_until(begun_ + std::chrono::duration_cast<clock::duration>(
                                      std::chrono::duration<double>(pace)));
    }
    return {};
  }

  lfu_cost const& cost() const noexcept { return cost_; }

 private:
  failure look_at_settings(std::vector<std::string>& notes) {
    auto const answers =
        client_.ask({{"CONFIG", "GET", "maxmemory*"}, {"CONFIG", "GET", "lfu-*"}, {"DBSIZE"}});
    if (!answers) return answers.error();
    cost_.commands += answers->size();
    all_keys_ =
        static_cast<std::uint64_t>(std::max<std::int64_t>(answers->at(2).number().value_or(0), 0));
    reply const& policy = answers->at(0);
    reply const& numbers = answers->at(1);
    if (policy.is_error() || numbers.is_error()) {
      notes.push_back("CONFIG GET is refused (" +
                      in_quotes((policy.is_error() ? policy : numbers).text()) +
                      "): lfu-log-factor and lfu-decay-time of " + client_.how().address() +
                      " are taken to be 10 and 1, as by default");
      return {};
    }
    for (std::size_t i = 1; i + 1 < policy.nodes(); i += 2) {
      auto const name = policy.text(i), value = policy.text(i + 1);
      if (name == "maxmemory-policy" && value.find("lfu") == value.npos) {
        return no_policy("it is " + in_quotes(value));
      }
      if (name == "maxmemory" && value == "0") {
        notes.push_back(client_.how().address() +
                        " has no maxmemory: there all keys with the same whole number from 0 to "
                        "9999 as their value share one counter");
      }
    }
    for (std::size_t i = 1; i + 1 < numbers.nodes(); i += 2) {
      auto const value = static_cast<int>(
          std::clamp<std::int64_t>(numbers.number(i + 1).value_or(1), 0, 1'000'000));
      if (numbers.text(i) == "lfu-log-factor") log_factor_ = value;
      if (numbers.text(i) == "lfu-decay-time") decay_minutes_ = value;
    }
    if (decay_minutes_ == 0) {
      notes.push_back("lfu-decay-time is 0 at " + client_.how().address() +
                      ": its counters tell which keys were used most, and not when");
    }
    return {};
  }

  failure no_policy(std::string const& why) const {
    return client_.how().failed(errc::not_supported, "the server at " + client_.how().address() +
                                                         " counts no uses, as its maxmemory-policy "
                                                         "is not LFU (" +
                                                         why + "); " + way_to_a_policy());
  }

  struct part_of_page {
    bool scans = false;
    std::vector<std::string_view> keys{};  // whose counters are asked for
    std::shared_ptr<reply const> page{};   // which they are part of
  };

  void send(part_of_page what) {
    if (!what.scans && what.keys.empty()) return;
    auto asked = make_batch();
    if (what.scans) ask(*asked, scan_command());
    for (auto const key : what.keys) ask(*asked, {"OBJECT", "FREQ", key});
    cost_.commands += asked->commands.size();
    client_.send(std::move(asked));
    under_way_.push_back(std::move(what));
  }

  failure take_answers() {
    auto const asked = std::move(under_way_.front());
    under_way_.pop_front();
    auto answers = client_.next();
    if (!answers) return answers.error();
    if (asked.scans) {
      if (auto why = take_page(std::move(answers->at(0))); why.code) return why;
    }
    std::size_t const first = asked.scans ? 1 : 0;
    for (std::size_t i = 0; i < asked.keys.size(); ++i) {
      if (auto why = take_counter(asked.keys[i], answers->at(first + i)); why.code) return why;
    }
    return {};
  }

  command_words scan_command() const {
    command_words words{"SCAN", cursor_};
    if (!request_.prefix.empty()) {
      words.insert(words.end(), {"MATCH", escape_glob(request_.prefix) + "*"});
    }
    words.insert(words.end(), {"COUNT", std::to_string(page_size_)});
    return words;
  }

  // [cursor, [key, …]]. What it brings is asked for in halves, the next page with the first one: so
  // the server is at one while we are at the other.
  failure take_page(reply answer) {
    auto const& how = client_.how();
    if (answer.is_error()) {
      return refused(how, answer.text(),
                     {.name = "SCAN", .right = "+scan", .instead = other_sources});
    }
    bool const is_page = answer.kind() == reply_kind::list && answer.list_size() == 2 &&
                         answer.kind(2) == reply_kind::list && !answer.too_large();
    if (!is_page) return how.failed(errc::protocol, "the answer to SCAN is none");
    cursor_ = answer.text(1);
    auto const page = std::make_shared<reply const>(std::move(answer));
    std::vector<std::string_view> keys;
    for (std::size_t i = 3; i < page->nodes(); ++i) {
      if (!is_own_key(page->text(i))) keys.push_back(page->text(i));
    }
    // With a pattern the server looks at as many keys, and tells of few.
    looked_at_ += std::max<std::uint64_t>(page_size_, keys.size());
    auto const middle = keys.begin() + static_cast<std::ptrdiff_t>(keys.size() / 2);
    send({.scans = cursor_ != "0", .keys = {keys.begin(), middle}, .page = page});
    send({.scans = false, .keys = {middle, keys.end()}, .page = page});
    return {};
  }

  // Nothing for a key that has gone meanwhile.
  failure take_counter(std::string_view key, reply const& answer) {
    auto const& how = client_.how();
    if (answer.is_error()) {
      auto const line = answer.text();
      if (line.starts_with("ERR An LFU")) return no_policy("the server says " + in_quotes(line));
      bool const not_this_key = line.starts_with("NOPERM") && line.find("key") != line.npos &&
                                line.find(" run ") == line.npos;
      if (!not_this_key) {
        return refused(how, line,
                       {.name = "OBJECT FREQ", .right = "+object|freq", .instead = other_sources});
      }
      ++cost_.denied;
      return {};
    }
    auto const counter = answer.kind() == reply_kind::number ? answer.number() : std::nullopt;
    if (!counter) return {};
    ++cost_.keys;
    int const value = static_cast<int>(std::clamp<std::int64_t>(*counter, 0, counters - 1));
    best_.add(value, key, ranges_[static_cast<std::size_t>(value)]);
    return {};
  }

  asking_client client_;
  survey_request const& request_;
  best_keys& best_;
  std::uint64_t const page_size_;
  int log_factor_ = 10;
  int decay_minutes_ = 1;
  std::array<lfu_range, counters> ranges_{};  // what each counter means there
  std::uint64_t all_keys_ = 0;
  std::uint64_t looked_at_ = 0;
  std::string cursor_ = "0";
  std::deque<part_of_page> under_way_;
  clock::time_point begun_{};
  lfu_cost cost_;
};

}  // namespace

result<survey> survey_lfu(surveyed_servers const& servers, survey_request const& request) {
  survey made;
  best_keys best(request.top);
  lfu_cost cost;
  auto const begun = clock::now();
  double const all = double(servers.masters.size());
  for (std::size_t i = 0; i < servers.masters.size(); ++i) {
    lfu_scan one(servers.masters[i], request, best);
    auto why = one.run(made.notes, [&](double done) {
      tell_progress(request, (double(i) + std::min(done, 1.0)) / all);
    });
    if (why.code) return why;
    cost.commands += one.cost().commands;
    cost.keys += one.cost().keys;
    cost.denied += one.cost().denied;
  }
  made.keys = best.take();
  keep_greatest(made.keys, request.top);
  made.cost = counted(cost.commands, "command") + " in " + in_seconds(clock::now() - begun) +
              " for the counters of " + counted(cost.keys, "key");
  if (cost.denied > 0) {
    made.notes.push_back("the user may not read " + counted(cost.denied, "key") +
                         ", which are left out");
  }
  made.notes.push_back(
      "a counter grows with the logarithm of the uses and falls once in a decay interval: the "
      "rates "
      "are ranges, of uses that the server saw; behind a change of the policy they mean something "
      "only after some minutes");
  return made;
}

}  // namespace herdlock::redis
