#include "cache/keys/reads.hpp"

#include <algorithm>
#include <new>
#include <tuple>
#include <utility>

#include "cache/keys/frame.hpp"
#include "cache/near/near_tags.hpp"

namespace herdlock::runtime {
namespace {

// The pause between two looks at an entry that is early.
constexpr milliseconds pause_of_refreshes{50};

// A foreign entry costs loads, unseen in answers. Each text is kept once, and this names no key.
void warn_of_foreign_entries(cache_home& home) {
  char const* const format = is_framed(home.options) ? "framed" : "plain";
  home.counters.warnings.add(
      home.in_words() +
      " meets entries that it cannot decode, takes them for misses and loads anew: another cache, "
      "or version of the program, keeps values of another type, or in another format, under this "
      "prefix (here it is format=" +
      format + "); give each of them a prefix of its own");
}

// Nothing that is there is an answer to the call.
load_purpose purpose_of_now(found_entry& entry) {
  load_purpose purpose{.refresh_below = limits::max_ttl};
  entry.answer.sole = false;
  bool const is_dead = entry.age && entry.age->killed;
  if (!is_dead) purpose.replaces(entry);
  return purpose;
}

// Makes the answer to a caller who examines the entry. False if that has ended, also while it was
// read.
bool examine(found_entry& entry, clock::time_point now) {
  looked_times times;
  if (auto const& age = entry.age) {
    constexpr auto no_end = clock::time_point::max();
    auto const& [header, known] = std::tie(age->header, age->times);
    times.is_stale = entry.stale(now);
    if (now >= known.ends || (times.is_stale && age->killed)) return false;
    bool const has_end = known.expires != clock::time_point::min() && known.expires != no_end;
    if (has_end) times.expires = known.expires;
    if (known.ends != no_end) times.ends = known.ends;
    if (times.ends && known.made.count() != 0) {
      auto const grace = std::min(header.grace, limits::max_ttl);
      times.made = known.ends - std::min(header.ttl, limits::max_ttl) - grace;
    }
  }
  auto const kind = entry.answer.kind;
  auto what = std::make_shared<detail::examined_entry>(
      detail::examined_entry{std::move(entry.answer), times});
  entry.answer = {.kind = kind, .object = std::move(what), .sole = true};
  return true;
}

}  // namespace

struct key_reads::look {
  look(cache_key its, sharing shared, on_found told)
      : key(std::move(its)), how(shared), done_(std::move(told)) {}
  look(look const&) = delete;
  look& operator=(look const&) = delete;
  // Something was thrown before there was an answer: whoever waits for it goes on all the same.
  ~look() {
    if (!done_ || std::uncaught_exceptions() == 0) return;
    try {
      tell(make_failure(errc::overloaded, "no memory to read " + key.str()));
    } catch (...) {
    }
  }
  void tell(result<std::optional<found_entry>> found) {
    if (auto const done = std::exchange(done_, nullptr)) done(std::move(found));
  }

  cache_key const key;
  sharing const how;
  std::uint64_t number = 0;  // of freshness_machine::look_sent(); 0: it is not asked

 private:
  on_found done_;
};

detail::near_hit key_reads::looked(detail::cache_caller const& caller, clock::time_point now) {
  bool const loads = caller.wish == detail::caller_wish::load;
  auto hit = kept_for(caller, loads ? detail::near_look::first : detail::near_look::any);
  if (!hit) of_.local.looked(of_.home->own(caller.key), now);
  return hit;
}

detail::near_hit key_reads::kept_for(detail::cache_caller const& caller,
                                     detail::near_look who) const {
  bool const is_taken =
      caller.how.near == near_values::used && caller.wish != detail::caller_wish::examine;
  return is_taken ? of_.local.find(of_.home->own(caller.key), who) : detail::near_hit();
}

void key_reads::read(cache_key const& key, sharing how, on_found done) {
  auto const& values = of_.home->store->values();
  if (!values) return done(of_.home->store->closed_failure());
  send(std::make_shared<look>(key, how, std::move(done)), *values);
}

void key_reads::send(std::shared_ptr<look> const& about, cache_store& values) {
  auto const keep = of_.home->keep();
  if (of_.tags) {
    if (of_.clock_of_store.is_needed()) {
      return of_.clock_of_store.ask(values, [this, keep, about](result<void> asked) {
        // A store that hangs costs its timeout once.
        bool const hangs = asked.has_error() && asked.error() == errc::timed_out;
        auto const& store = *of_.home->store;
        if (hangs) return about->tell(std::move(asked).error());
        if (!store.values()) return about->tell(store.closed_failure());
        send(about, *store.values());
      });
    }
    of_.clock_of_store.keep(values);
    about->number = of_.ages.look_sent(about->key.str());
  }
  of_.local.read(values, about->key, of_.home->form,
                 [this, keep, about](result<near_read> got) { judge(about, std::move(got)); });
}

// Finds out what the entry is worth by its tags, if it has some.
void key_reads::judge(std::shared_ptr<look> const& about, result<near_read> got) {
  bool const is_found = got.has_value() && got->found;
  bool const has_tags = of_.tags && is_found && of_.tags->concerns(*got->found);
  if (!has_tags) return end(*about, std::move(got), algo::tag_verdict::fresh);
  auto const reading = got->reading;
  auto on_said = [this, keep = of_.home->keep(), about, reading](result<judged_value> said) {
    if (said.has_error()) return end(*about, std::move(said).error(), algo::tag_verdict::fresh);
    auto const verdict = said->verdict;
    bool const is_fresh = verdict == algo::tag_verdict::fresh;
    end(*about, near_read{std::move(said->stored), is_fresh ? reading : std::nullopt}, verdict);
  };
  of_.tags->judge(*std::move(got->found), std::move(on_said),
                  reading ? entry_future::is_kept : entry_future::is_used);
}

void key_reads::end(look& about, result<near_read> got, algo::tag_verdict by_tags) {
  bool const killed = about.number != 0 && of_.ages.look_over(about.key.str(), about.number);
  if (got.has_error()) return about.tell(std::move(got).error());
  // One time for all decisions: an entry that was there does not end in between.
  auto const now = clock::now();
  std::optional<found_entry> found;
  stored_facts is;
  if (got->reading && got->found) is = {value_bytes(*got->found), fingerprint_of(*got->found)};
  if (got->found) found = open(*std::move(got->found));
  if (found) {
    found->answer.sole = about.how == sharing::one;
    if (of_.plain_times) found->age = of_.plain_times->of(about.key, now);
    if (got->reading) keep_near(about.key, *found, *got->reading, is);
    if (found->age) {
      found->age->killed = killed || by_tags == algo::tag_verdict::gone;
      found->age->by_tags = by_tags;
    }
  } else {
    if (of_.lasting) of_.lasting->missed(about.key);
    if (of_.plain_times) of_.plain_times->forget(about.key);
  }
  about.tell(std::move(found));
}

bool key_reads::take_header_off(cache_value& stored, std::optional<entry_age>& age) const {
  // An entry of the other format is none of ours.
  if (!of_.tags) return !is_framed(stored);
  auto read = without_header(std::move(stored));
  auto* const entry = std::get_if<framed_value>(&read);
  if (!entry || !algo::decode_tags(entry->header.extensions)) return false;
  auto const times = algo::times_of(entry->header, of_.clock_of_store.known());
  age = {std::move(entry->header), times};
  stored = std::move(entry->value);
  return true;
}

std::optional<found_entry> key_reads::open(cache_value stored) {
  found_entry entry;
  bool readable = take_header_off(stored, entry.age);
  if (readable && std::holds_alternative<absent>(stored)) {
    entry.answer.kind = detail::entry_kind::absent;
    return entry;
  }
  if (readable) {
    auto object = decode_(stored);
    readable = object.has_value();
    if (readable) entry.answer = {detail::entry_kind::value, *std::move(object)};
  }
  if (readable) return entry;
  cache_counters::add(of_.home->counters.undecodable);
  warn_of_foreign_entries(*of_.home);
  return std::nullopt;
}

milliseconds key_reads::refresh_below(entry_age const& age) {
  // The store knows nothing of it, and may have kept the next one for a shorter time.
  if (age.by_tags != algo::tag_verdict::fresh) return limits::max_ttl;
  return algo::refresh_below(age.header, age.times, clock::now());
}

// A caller who only looks takes a stale entry for a miss, but not one who examines it.
found_use key_reads::use_of(detail::cache_caller const& caller, found_entry& entry,
                            clock::time_point now) {
  using algo::entry_use;
  if (loads_now(caller)) return {entry_use::load, purpose_of_now(entry)};
  if (caller.wish == detail::caller_wish::examine) {
    return {examine(entry, now) ? entry_use::serve : entry_use::load};
  }
  if (!entry.age) return {entry_use::serve};
  auto const& age = *entry.age;
  bool const stale = entry.stale(now);
  if (caller.wish == detail::caller_wish::look) {
    return {stale ? entry_use::load : entry_use::serve};
  }
  found_use is{
      entry_use::load,
      {.refresh_below = refresh_below(age), .by_tags = age.by_tags != algo::tag_verdict::fresh}};
  auto const key = std::string_view(caller.key.str());
  if (caller.wish == detail::caller_wish::refresh) {
    if (age.by_tags == algo::tag_verdict::gone) return {entry_use::serve};
    if (!stale) of_.lasting->fresh_until(caller.key, age.times.expires);
    is.use = of_.ages.found_by_schedule(key, age.times, now);
  } else if (!stale || !age.killed) {
    is.use = of_.ages.found(key, age.times, now, random_unit(),
                            {age.head_start, caller.how.soft_timeout});
  }
  if (is.use == entry_use::serve_and_refresh) is.purpose.refresh = of_.ages.refresh_id();
  is.purpose.waits_softly = is.use == entry_use::wait_softly;
  if (is.use != entry_use::serve) {
    entry.answer.sole = false;
    if (!age.killed) is.purpose.replaces(entry);
  }
  return is;
}

// ------------------------------------------------------------------------------- kept near

// Nothing may happen before the entry is inserted. It, or its tags, may have changed since they
// were read: then it is an answer, and not kept; as it is without memory to keep it.
void key_reads::keep_near(cache_key const& key, found_entry& found, near_reading const& of,
                          stored_facts const& is) {
  auto const now = clock::now();
  auto& near = *of_.local.near();
  try {
    auto const extensions = found.age ? std::string_view(found.age->header.extensions) : "";
    auto supports = supports_of(near, extensions, now);
    auto how = supports ? near.admit(key, of) : std::nullopt;
    if (!how) return;
    plan_near(key, found, *how, now);
    detail::near_value what{.value = found.answer.object,
                            .bytes = is.bytes,
                            .supports = *std::move(supports),
                            .fingerprint = is.fingerprint};
    if (near.insert(key, *how, std::move(what))) found.answer.sole = false;
  } catch (std::bad_alloc const&) {
  }
}

// How an entry is kept near, and from when on it is early: of a hot one, who can load is let
// through to the store before it ends.
void key_reads::plan_near(cache_key const& key, found_entry& found, algo::near_entry& how,
                          clock::time_point now) const {
  auto const& options = of_.home->options;
  auto& age = found.age;
  if (of_.local.is_hot(key) && !of_.lasting) {
    bool const negative = found.answer.kind == detail::entry_kind::absent;
    auto ttl = negative ? options.negative_ttl : options.ttl;
    if (of_.tags) {
      // Its loader may have set another: one that is shorter than the head start by the cache's own
      // would be early all the time.
      if (age) ttl = age->header.ttl;
    } else {
      auto const load_time = age ? age->times.load_time : of_.last_load_time;
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

}  // namespace herdlock::runtime
