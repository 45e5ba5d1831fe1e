#include "cache/keys/loads.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "cache/keys/frame.hpp"

namespace herdlock::runtime {
namespace {

using algo::load_result;
using algo::tag_verdict;
using algo::unstored_kind;

// The count behind the text of a shared error; the back-off of the next failure goes by it.
constexpr std::string_view count_begins = " [failed ";
constexpr std::string_view count_ends = " times in a row]";
// With the count it is no longer than what all stores keep of it.
constexpr std::size_t most_of_text = 4000;
// The size of a value that does not encode is not known.
constexpr std::size_t bytes_not_known = 1024 * 1024;

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

bool has_value(load_end const& end) { return end.outcome.answer.kind == detail::entry_kind::value; }

// The bytes that the outcome takes while it is kept, as its codec sees them.
std::size_t bytes_of(detail::load_outcome const& outcome) noexcept {
  if (outcome.error) return outcome.error->size();
  if (outcome.answer.kind != detail::entry_kind::value) return 0;
  return outcome.encoded.has_value() ? value_bytes(*outcome.encoded) : bytes_not_known;
}

// The answer of a load, for those who come while the store does not have it.
cache_unstored::sized_answer sized(load_end const& end) {
  auto const longest = end.outcome.decided.ttl.value_or(milliseconds::max());
  return {answer_of(end.outcome), end.bytes, end.began, longest};
}

void warn_of_short_grace(cache_home& home, milliseconds usual) {
  std::string const time = std::to_string(usual.count()) + " ms";
  home.counters.warnings.add(
      home.in_words() + " keeps stale entries for " +
      std::to_string(home.options.freshness.grace.count()) +
      " ms (freshness.grace), but its loads usually take " + time +
      ": when the grace is over, callers wait for the load that runs; use a grace longer than " +
      time + ", or a faster loader");
}

}  // namespace

result<detail::cache_answer> answer_of(detail::load_outcome const& outcome) {
  if (outcome.error) return make_failure(errc::load_failed, *outcome.error);
  return outcome.answer;
}

void frame_entry(key_policies const& by, cache_value& value, milliseconds& ttl,
                 clock::duration load_time, std::string extensions) {
  algo::entry_header header;
  header.extensions = std::move(extensions);
  header.load_time = std::chrono::duration_cast<milliseconds>(load_time);
  header.ttl = ttl;
  auto const& clock_there = by.clock_of_store.known();
  // Nobody could tell when the entry becomes stale.
  if (clock_there.known()) {
    header.created = clock_there.there(clock::now());
    // A negative entry does not last.
    bool const ends = by.lasting && std::holds_alternative<absent>(value);
    header.grace = ends ? milliseconds{0} : by.home->options.freshness.grace;
  }
  ttl = std::min(ttl + header.grace, limits::max_ttl);
  value = with_header({std::move(header), std::move(value)}, by.home->form);
}

// ------------------------------------------------------------------------------- the claim

// The store grants a claim beside an entry that tags ended whatever is there by now. So who has it
// looks once more: the one who had it before may have stored the next entry.
void key_loads::look_under_claim(claim_of_load mine, claim_reply granted, on_claim done) {
  auto const& values = of_.home->store->values();
  if (!values) return done(std::move(granted), tag_verdict::fresh);
  auto key = mine.key;
  auto on_reply = [this, keep = of_.home->keep(), mine = std::move(mine),
                   granted = std::move(granted),
                   done = std::move(done)](result<cache_lookup> reply) {
    if (reply.has_error() || !*reply) return done(granted, tag_verdict::fresh);
    auto on_said = [this, keep, mine, granted, done](result<judged_value> said) {
      bool const is_next = said.has_value() && said->verdict == tag_verdict::fresh;
      auto const found = is_next ? reads_.open(said->stored) : std::nullopt;
      bool const serves = found && found->age && !found->stale(clock::now());
      if (!serves) return done(granted, tag_verdict::fresh);
      mine.give_up();
      done(claim_reply(cache_hit{std::move(said->stored)}), tag_verdict::fresh);
    };
    of_.tags->judge(**std::move(reply), std::move(on_said));
  };
  values->get(std::move(key), of_.home->form, std::move(on_reply));
}

void key_loads::claim_answered(claim_of_load mine, result<claim_reply> reply, on_claim done) {
  bool const granted = reply.has_value() && std::holds_alternative<claimed>(*reply);
  if (granted && mine.by_tags) {
    return look_under_claim(std::move(mine), *std::move(reply), std::move(done));
  }
  auto* const hit = reply.has_value() ? std::get_if<cache_hit>(&*reply) : nullptr;
  if (!of_.tags || !hit) return done(std::move(reply), tag_verdict::fresh);
  auto on_said = [done = std::move(done)](result<judged_value> said) {
    if (said.has_error()) return done(std::move(said).error(), tag_verdict::fresh);
    done(claim_reply(cache_hit{std::move(said->stored)}), said->verdict);
  };
  of_.tags->judge(std::move(hit->value), std::move(on_said));
}

void key_loads::watch_answered(result<watch_reply> reply, on_watch done) {
  auto* const hit = reply.has_value() ? std::get_if<cache_hit>(&*reply) : nullptr;
  if (!of_.tags || !hit) return done(std::move(reply));
  auto on_said = [done = std::move(done)](result<judged_value> said) {
    if (said.has_error()) return done(std::move(said).error());
    done(watch_reply(cache_hit{std::move(said->stored)}));
  };
  of_.tags->judge(std::move(hit->value), std::move(on_said));
}

void key_loads::loaded_elsewhere(cache_key const& key) {
  if (of_.plain_times) of_.plain_times->forget(key);
}

std::string key_loads::failed_elsewhere(cache_key const& key, load_backing_off what) {
  cache_counters::add(of_.home->counters.shared_errors);
  if (!of_.judges_ages()) return std::move(what.error);
  auto const now = clock::now();
  auto const count = take_count(what.error);
  of_.ages.told_of_failure(key.str(), count, now, now + what.remaining);
  return std::move(what.error);
}

// -------------------------------------------------------------------------------- the load

bool key_loads::is_storable(load_end const& end) const {
  auto const& decided = end.outcome.decided;
  if (!end.extensions || !decided.is_stored) return false;
  bool const keeps = end.outcome.answer.kind != detail::entry_kind::absent || decided.ttl ||
                     of_.home->options.negative_ttl != milliseconds{0};
  auto const added = frame_bytes(of_.home->form, of_.home->options.format, *end.extensions);
  return keeps && !check_storable(end.outcome.encoded, of_.home->form, added).code;
}

lasting_admission key_loads::admit(cache_key const& key, load_end const& end) {
  if (!of_.lasting) return {};
  auto mine = of_.lasting->admit_loaded(key, *end.outcome.encoded, end.refresh_below);
  if (mine.why.code) {
    of_.home->trouble.tell(mine.why);
  } else if (has_value(end)) {
    of_.lasting->schedule_refresh(key);
  }
  return mine;
}

load_verdict key_loads::loaded(cache_key const& key, load_end& end) {
  end.bytes = bytes_of(end.outcome);
  auto& counters = of_.home->counters;
  auto const took = clock::now() - end.began;
  counters.load_time.note(took);
  if (auto const& error = end.outcome.error) {
    cache_counters::add(counters.load_errors);
    auto const how = end.is_refresh ? cache_outcome::refresh_failed : cache_outcome::failed;
    counters.tell(how, key, {took, *error});
  } else {
    counters.tell(cache_outcome::loaded, key, {took});
    of_.ages.load_succeeded(key.str());
    of_.last_load_time = took;
    if (auto const usual = of_.grace_check.load_took(took)) {
      warn_of_short_grace(*of_.home, *usual);
    }
  }
  if (!end.outcome.decided.is_modified) cache_counters::add(counters.not_modified);
  bool const unguarded = end.guard == algo::load_guard::unguarded;
  bool const guarded = !unguarded && end.has_claim;
  load_verdict is{load_result::storable, {}};
  if (end.outcome.unfinished) {
    is.result = load_result::unfinished;
  } else if (end.outcome.error) {
    is.result = load_result::failed;
  } else if (!is_storable(end)) {
    is.result = load_result::unstorable;
  }
  // An entry that is refreshed is there, and would be removed.
  bool const is_sent = end.refresh_below != milliseconds{0} || of_.unstored.may_be_taken(key);
  if (is.result == load_result::storable && guarded && !is_sent) {
    keep_answer(key, end, unstored_kind::refused);
    return {load_result::unstorable, {}};
  }
  if (is.result == load_result::storable && guarded) {
    is.admission = admit(key, end);
    if (is.admission.why.code) is.result = load_result::unstorable;
  }
  if (!end.has_claim) cache_counters::add(counters.superseded);
  if (has_value(end) && is.result == load_result::unstorable) {
    cache_counters::add(counters.unstorable);
    keep_answer(key, end, unstored_kind::unstorable);
  } else if (unguarded && !end.outcome.unfinished) {
    keep_answer(key, end, end.refused_alone ? unstored_kind::refused : unstored_kind::unguarded);
  }
  return is;
}

void key_loads::keep_answer(cache_key const& key, load_end const& end, unstored_kind kind) {
  if (end.outdated) return;
  of_.unstored.add(key, kind, sized(end));
}

shared_failure key_loads::failed(cache_key const& key, std::string text) {
  auto const& options = of_.home->options;
  if (!of_.judges_ages()) return {std::move(text), options.error_back_off};
  auto const back_off = of_.ages.load_failed(key.str(), clock::now(), random_unit());
  auto const count = of_.ages.failures(key.str());
  if (options.freshness.max_error_back_off > options.error_back_off && count > 1) {
    text.resize(std::min(text.size(), most_of_text));
    text += std::string(count_begins) + std::to_string(count) + std::string(count_ends);
  }
  return {std::move(text), back_off};
}

// ------------------------------------------------------------------------------- the store

std::shared_ptr<near_write> key_loads::storing(fill_request& request, clock::duration load_time,
                                               load_extensions extensions) {
  auto const expires = clock::now() + request.ttl;
  if (of_.tags) {
    frame_entry(of_, request.value, request.ttl, load_time, *std::move(extensions));
  }
  if (of_.plain_times) of_.plain_times->stored(request.key, request.ttl, load_time);
  if (of_.lasting) of_.lasting->fresh_until(request.key, expires);
  return of_.local.fill(request.key, of_.home->own(request.key));
}

void key_loads::store_ended(cache_key const& key, lasting_admission const& mine, store_end how) {
  if (of_.plain_times && how == store_end::refused) of_.plain_times->forget(key);
  if (of_.lasting) of_.lasting->store_ended(key, mine, how);
}

void key_loads::untaken(cache_key const& key, load_end const& end, untaken_by whom) {
  if (whom == untaken_by::value) {
    cache_counters::add(of_.home->counters.unstorable);
    return keep_answer(key, end, unstored_kind::unstorable);
  }
  if (end.outdated) return;
  of_.unstored.add_untaken(key, sized(end));
}

void key_loads::remove(cache_store& values, cache_key const& key, std::function<void()> then) {
  if (of_.lasting) of_.lasting->gone(key);
  of_.local.remove(values, key, [then = std::move(then)](failure const&) { then(); });
}

}  // namespace herdlock::runtime
