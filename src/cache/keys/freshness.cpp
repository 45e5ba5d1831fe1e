#include "cache/keys/freshness.hpp"

#include <algorithm>
#include <charconv>

#include "cache/engine/engine.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

// A store that did not tell its clock is not asked again for so long.
constexpr milliseconds pause_of_clock{1000};
// The pause between two looks at an entry that is early.
constexpr milliseconds pause_of_refreshes{50};
// The count behind the text of a shared error; the back-off of the next failure goes by it.
constexpr std::string_view count_begins = " [failed ";
constexpr std::string_view count_ends = " times in a row]";
// With the count it is no longer than what all stores keep of it.
constexpr std::size_t most_of_text = 4000;

algo::refresh_policy policy_of(cache_options const& options) {
  algo::failure_back_off const back_off{
      options.error_back_off,
      std::max(options.error_back_off, options.freshness.max_error_back_off)};
  return {.early_refresh = options.early_refresh,
          .soft_timeout = options.freshness.soft_timeout,
          .fail_safe = options.freshness.fail_safe,
          .back_off = back_off};
}

// Takes the count off; 1 when there is none.
std::uint32_t take_count(std::string& text) {
  auto const at = text.rfind(count_begins);
  if (at == std::string::npos || !text.ends_with(count_ends)) return 1;
  std::uint32_t count = 0;
  auto const* const end = text.data() + text.size() - count_ends.size();
  auto const [read, why] = std::from_chars(text.data() + at + count_begins.size(), end, count);
  if (why != std::errc() || read != end || count == 0) return 1;
  text.resize(at);
  return count;
}

// Each text is kept once, and this one names no key.
void warn_without_clock(cache_engine& home, failure const& why) {
  bool const may_pass = why == errc::unavailable || why == errc::timed_out ||
                        why == errc::canceled || why == errc::overloaded;
  if (may_pass) return;
  home.counters.warnings.add(
      cache_in_words(home.home().display_name(), home.options().prefix) +
      " cannot ask the store for its time: what it stores has no grace, and it loads anew what "
      "others have stored with one, unless the store's claim says that it is fresh: " +
      why.message + "; permit TIME");
}

milliseconds in_ms(clock::duration span) { return std::chrono::duration_cast<milliseconds>(span); }

}  // namespace

cache_freshness::cache_freshness(cache_engine& home)
    : home_(home),
      machine_(policy_of(home.options())),
      tags_(home, clock_),
      grace_check_(home.options().freshness.grace) {}

bool cache_freshness::needs_clock() const { return !clock_.known() && clock::now() >= ask_again_; }

void cache_freshness::ask_clock(cache_store& values, handler<void> done) {
  values.now([keep = home_.shared_from_this(), this, sent = clock::now(),
              done = std::move(done)](result<std::chrono::microseconds> said) mutable {
    if (said.has_value()) {
      clock_.told(*said, sent, clock::now());
      return std::move(done)(boost::system::in_place_value);
    }
    ask_again_ = clock::now() + pause_of_clock;
    warn_without_clock(home_, said.error());
    std::move(done)(std::move(said).error());
  });
}

void cache_freshness::keep_clock(cache_store& values) {
  auto const now = clock::now();
  if (now < std::max(clock_.due(), ask_again_) || std::exchange(asking_, true)) return;
  ask_clock(values, [this](result<void> const&) { asking_ = false; });
}

void cache_freshness::put_framed(cache_store& values, put_request request, handler<void> done) {
  if (needs_clock()) {
    // The question has the put, and takes it along when the store goes.
    return ask_clock(values, [this, request = std::move(request),
                              done = std::move(done)](result<void> const&) mutable {
      auto const& store = home_.home().values();
      if (!store) return std::move(done)(home_.home().closed_failure());
      put_framed(*store, std::move(request), std::move(done));
    });
  }
  auto const names = tags_.names_of(request.key);
  if (names.has_error()) {
    return detail::post_result<void>(home_.home().executor(), std::move(done), names.error());
  }
  auto put = [this, keep = home_.shared_from_this(), request = std::move(request),
              done = std::move(done)](result<std::string> tags) mutable {
    if (tags.has_error()) return std::move(done)(std::move(tags).error());
    auto const added = frame_bytes(home_.form(), cache_format::framed, *tags);
    failure why = check_storable(request.value, home_.form(), added);
    if (why.code) return std::move(done)(std::move(why));
    auto const& store = home_.home().values();
    if (!store) return std::move(done)(home_.home().closed_failure());
    frame(request.value, request.ttl, {}, *std::move(tags));
    store->put(std::move(request), std::move(done));
  };
  if (names->empty()) return put(std::string());
  // The callback is one that can be copied.
  tags_.prepare(*names, [put = std::make_shared<decltype(put)>(std::move(put))](
                            result<std::string> tags) { (*put)(std::move(tags)); });
}

bool cache_freshness::open(cache_value& stored, std::optional<entry_age>& age) const {
  auto read = without_header(std::move(stored));
  auto* const entry = std::get_if<framed_value>(&read);
  if (!entry || !algo::decode_tags(entry->header.extensions)) return false;
  auto const times = algo::times_of(entry->header, clock_);
  age = {std::move(entry->header), times};
  stored = std::move(entry->value);
  return true;
}

void cache_freshness::frame(cache_value& value, milliseconds& ttl, clock::duration load_time,
                            std::string extensions) const {
  algo::entry_header header;
  header.extensions = std::move(extensions);
  header.load_time = in_ms(load_time);
  header.ttl = ttl;
  // Nobody could tell when the entry becomes stale.
  if (clock_.known()) {
    header.created = clock_.there(clock::now());
    // A negative entry does not last.
    bool const ends = home_.lasting() && std::holds_alternative<absent>(value);
    header.grace = ends ? milliseconds{0} : home_.options().freshness.grace;
  }
  ttl = std::min(ttl + header.grace, limits::max_ttl);
  value = with_header({std::move(header), std::move(value)}, home_.form());
}

std::uint64_t cache_freshness::look_sent(cache_key const& key) {
  ++looks_[key.str()].count;
  return ++sequence_;
}

bool cache_freshness::look_over(cache_key const& key, std::uint64_t sent) {
  auto const at = looks_.find(key.str());
  bool const killed = at->second.killed_at > sent;
  if (--at->second.count == 0) looks_.erase(at);
  return killed;
}

void cache_freshness::plan_near(cache_key const& key, found_entry& found, algo::near_entry& how,
                                clock::time_point now) const {
  auto const& options = home_.options();
  auto& age = found.age;
  if (home_.local().near->is_hot(key) && !home_.lasting()) {
    bool const negative = found.answer.kind == detail::entry_kind::absent;
    auto const ttl = negative ? options.negative_ttl : options.ttl;
    if (!is_framed(options)) {
      auto const load_time = age ? age->times.load_time : last_load_time_;
      // When it was made is not known: it says nothing of a load that failed.
      age = entry_age{{.ttl = ttl}, {{}, load_time, how.ends, how.ends}};
    }
    age->head_start = algo::safe_head_start(ttl, age->times.load_time);
  }
  if (!age) return;
  auto const expires = age->times.expires;
  how.expires = std::min(how.expires, expires);
  if (expires <= now) return;
  auto const drawn =
      algo::head_start_of(age->times.load_time, options.early_refresh, random_unit());
  if (age->head_start == clock::duration{0}) {
    // From there on each call draws for itself.
    how.expires = std::min(how.expires, expires - drawn);
    return;
  }
  // The processes are not early all at once.
  double const share = 0.75 + random_unit() / 4;
  auto const least = std::chrono::duration<double>(age->head_start) * share;
  auto const ahead = std::max(drawn, std::chrono::duration_cast<clock::duration>(least));
  auto const again = std::max<clock::duration>(pause_of_refreshes, (expires - now) / 4);
  how.due = std::max(expires - ahead, now + again);
}

algo::entry_use cache_freshness::use_of(cache_key const& key, entry_age const& age,
                                        clock::time_point now) {
  return machine_.found(key.str(), age.times, now, random_unit(), age.head_start);
}

algo::entry_use cache_freshness::use_by_schedule(cache_key const& key,
                                                 algo::entry_times const& times,
                                                 clock::time_point now) {
  return machine_.found_by_schedule(key.str(), times, now);
}

void cache_freshness::refresh_ended(cache_key const& key, std::uint64_t refresh) {
  machine_.refresh_ended(key.str(), refresh, clock::now());
}

milliseconds cache_freshness::refresh_below(entry_age const& age) {
  // The store knows nothing of it, and may have kept the next one for a shorter time.
  if (age.by_tags != algo::tag_verdict::fresh) return limits::max_ttl;
  return algo::refresh_below(age.header, age.times, clock::now());
}

void cache_freshness::voided(cache_key const& key, voiding how) {
  if (how == voiding::keeps_copies) return machine_.expired(key.str());
  machine_.invalidated(key.str());
  auto const looks = looks_.find(key.str());
  if (looks != looks_.end()) looks->second.killed_at = ++sequence_;
}

// -------------------------------------------------------------------------------- loads end

void cache_freshness::load_succeeded(cache_key const& key, clock::duration took) {
  machine_.load_succeeded(key.str());
  last_load_time_ = took;
  auto const usual = grace_check_.load_took(took);
  if (!usual) return;
  auto const& options = home_.options();
  std::string const time = std::to_string(usual->count()) + " ms";
  home_.counters.warnings.add(
      cache_in_words(home_.home().display_name(), options.prefix) + " keeps stale entries for " +
      std::to_string(options.freshness.grace.count()) +
      " ms (freshness.grace), but its loads usually take " + time +
      ": when the grace is over, callers wait for the load that runs; use a grace longer than " +
      time + ", or a faster loader");
}

shared_failure cache_freshness::load_failed(cache_key const& key, std::string text) {
  auto const back_off = machine_.load_failed(key.str(), clock::now(), random_unit());
  auto const count = machine_.failures(key.str());
  if (home_.options().freshness.max_error_back_off > home_.options().error_back_off && count > 1) {
    text.resize(std::min(text.size(), most_of_text));
    text += std::string(count_begins) + std::to_string(count) + std::string(count_ends);
  }
  return {std::move(text), back_off};
}

std::string cache_freshness::told_of_failure(cache_key const& key, load_backing_off what) {
  auto const now = clock::now();
  auto const count = take_count(what.error);
  machine_.told_of_failure(key.str(), count, now, now + what.remaining);
  return std::move(what.error);
}

// ---------------------------------------------------------------------------------- soft waits

void cache_freshness::keep(detail::caller_ptr const& caller, found_entry const& stale) {
  auto const now = clock::now();
  auto const copy = machine_.keep(caller->key.str(), stale.age->times, now);
  auto const soft = home_.options().freshness.soft_timeout;
  auto const due = soft > limits::max_ttl ? clock::time_point::max() : now + soft;
  auto tags = algo::decode_tags(stale.age->header.extensions);
  soft_wait mine{caller, stale.answer, stale.age->times.ends,
                 copy,   due,          tags ? *std::move(tags) : std::vector<algo::entry_tag>(),
                 now};
  auto const before = waits_by_caller_.find(caller.get());
  if (before != waits_by_caller_.end()) {
    // The caller looks again, and has waited already.
    machine_.wait_over(caller->key.str(), before->second->copy, algo::wait_end::value);
    mine.due = before->second->due;
    *before->second = std::move(mine);
    return;
  }
  waits_.push_back(std::move(mine));
  waits_by_caller_.emplace(caller.get(), std::prev(waits_.end()));
  if (!is_linked()) schedule();
}

std::optional<detail::cache_answer> cache_freshness::end_wait(detail::cache_caller& caller,
                                                              algo::wait_end how) {
  auto const found = waits_by_caller_.find(&caller);
  if (found == waits_by_caller_.end()) return std::nullopt;
  auto const wait = std::move(*found->second);
  waits_.erase(found->second);
  waits_by_caller_.erase(found);
  bool const is_answer = machine_.wait_over(caller.key.str(), wait.copy, how);
  auto const now = clock::now();
  if (!is_answer || now >= wait.ends) return std::nullopt;
  auto const& known = tags_.known();
  bool const is_gone = known.have_ended(wait.tags, wait.came) ||
                       known.judge(wait.tags, wait.came, now) == algo::tag_verdict::gone;
  return is_gone ? std::nullopt : std::optional(wait.stale);
}

result<detail::cache_answer> cache_freshness::best_of(detail::cache_caller& caller,
                                                      result<detail::cache_answer> const& answer) {
  if (answer.has_error()) {
    // The copy is good until its entry ends, whatever has become of its load.
    if (auto had = copies_.end(caller, algo::wait_end::soft_timeout)) return *std::move(had);
  }
  if (waits_.empty()) return answer;
  auto const how = answer.has_error() ? algo::wait_end::error : algo::wait_end::value;
  auto stale = end_wait(caller, how);
  if (!stale) return answer;
  cache_counters::add(home_.counters.stale_after_error);
  return *std::move(stale);
}

void cache_freshness::forget(detail::cache_caller& caller) {
  copies_.end(caller, algo::wait_end::value);
  if (!waits_.empty()) end_wait(caller, algo::wait_end::value);
}

void cache_freshness::on_due(clock::time_point now) {
  while (!waits_.empty() && waits_.front().due <= now) {
    auto const caller = waits_.front().caller;
    // A caller whose copy died goes on waiting: the load tells him.
    auto stale = end_wait(*caller, algo::wait_end::soft_timeout);
    if (!stale) continue;
    cache_counters::add(home_.counters.soft_timeouts);
    home_.callers().end(*caller, *std::move(stale));
  }
  schedule();
}

void cache_freshness::schedule() {
  if (waits_.empty() || waits_.front().due == clock::time_point::max()) return;
  home_.home().timers().schedule(*this, waits_.front().due);
}

}  // namespace herdlock::runtime
