// Reads of entries, and what callers get for what was found.
#include "cache/engine/engine.hpp"

#include <algorithm>
#include <new>

#include "cache/near/near_tags.hpp"

namespace herdlock::runtime {
namespace {

// `then` is told what the entry is worth by its tags, if it has some.
template <class Then>
void judge_by_tags(cache_engine& engine, result<near_read> got, Then then) {
  bool const has_tags =
      is_framed(engine.options()) && got.has_value() && got->found && has_extensions(*got->found);
  if (!has_tags) return then(std::move(got), algo::tag_verdict::fresh);
  auto const reading = got->reading;
  auto on_said = [then = std::move(then), reading](result<judged_value> said) mutable {
    if (said.has_error()) return then(std::move(said).error(), algo::tag_verdict::fresh);
    auto const verdict = said->verdict;
    bool const is_fresh = verdict == algo::tag_verdict::fresh;
    then(near_read{std::move(said->stored), is_fresh ? reading : std::nullopt}, verdict);
  };
  engine.freshness()->tags().judge(*std::move(got->found), std::move(on_said),
                                   reading ? entry_future::is_kept : entry_future::is_used);
}

struct stored_facts {
  std::size_t bytes = 0;
  std::uint64_t fingerprint = 0;
};

// Nothing may happen before the entry is inserted. It, or its tags, may have changed since they
// were read: then it is an answer, and not kept; as it is without memory to keep it.
void keep_near(cache_engine const& engine, cache_key const& key, found_entry& found,
               near_reading const& of, stored_facts const& is) {
  auto const now = clock::now();
  auto& near = *engine.local().near;
  try {
    auto const extensions = found.age ? std::string_view(found.age->header.extensions) : "";
    auto supports = supports_of(near, extensions, now);
    auto how = supports ? near.admit(key, of) : std::nullopt;
    if (!how) return;
    if (engine.freshness()) engine.freshness()->plan_near(key, found, *how, now);
    detail::near_value what{.value = found.answer.object,
                            .bytes = is.bytes,
                            .supports = *std::move(supports),
                            .fingerprint = is.fingerprint};
    if (near.insert(key, *how, std::move(what))) found.answer.sole = false;
  } catch (std::bad_alloc const&) {
  }
}

}  // namespace

void cache_engine::send_look(look_group group) {
  auto const& values = values_->values();
  if (!values) {
    looks_.ended();
    group.for_each(
        [&](auto const& caller) { callers_.finish(*caller, values_->closed_failure()); });
    return;
  }
  if (is_framed(options())) {
    if (freshness_->needs_clock()) {
      auto then = [self = shared_from_this(),
                   group = std::move(group)](result<void> asked) mutable {
        // A store that hangs costs its timeout once.
        bool const hangs = asked.has_error() && asked.error() == errc::timed_out;
        if (hangs) return self->on_look(group, std::move(asked).error());
        self->send_look(std::move(group));
      };
      return freshness_->ask_clock(*values, std::move(then));
    }
    freshness_->keep_clock(*values);
    group.sent = freshness_->look_sent(group.head->key);
  }
  cache_key key = group.head->key;
  auto on_reply = [self = shared_from_this(),
                   group = std::move(group)](result<near_read> got) mutable {
    auto then = [self, group = std::move(group)](result<near_read> judged,
                                                 algo::tag_verdict said) mutable {
      group.by_tags = said;
      self->on_look(group, std::move(judged));
    };
    judge_by_tags(*self, std::move(got), std::move(then));
  };
  if (local_.near && local_.near->keeps(key)) {
    return local_.near->read(key, settings_.form, std::move(on_reply));
  }
  values->get(std::move(key), settings_.form,
              [on_reply = std::move(on_reply)](result<cache_lookup> reply) mutable {
                if (reply.has_error()) return on_reply(std::move(reply).error());
                on_reply(near_read{*std::move(reply), std::nullopt});
              });
}

void cache_engine::on_look(look_group const& group, result<near_read> got) {
  bool const in_trouble = got.has_error() && is_store_trouble(got.error());
  if (in_trouble) trouble_.failed(algo::store_step::read, got.error());
  if (got.has_value()) trouble_.read_worked();
  if (looks_.ended()) {
    // A store that hangs costs its timeout once, however many wait.
    looks_.send_some([this](look_group next) {
      if (!trouble_.reads_fail()) return send_look(std::move(next));
      looks_.ended();
      next.for_each([&](auto const& caller) { do_without_store(caller, trouble_.latest()); });
    });
  }
  bool const killed = group.sent != 0 && freshness_->look_over(group.head->key, group.sent);
  if (got.has_error()) {
    auto const& why = got.error();
    return group.for_each([&](auto const& caller) {
      if (in_trouble) return do_without_store(caller, why);
      callers_.finish(*caller, why);
    });
  }
  // One time for all decisions: an entry that was there does not end in between.
  auto const now = clock::now();
  std::optional<found_entry> found;
  stored_facts is;
  if (got->reading && got->found) is = {value_bytes(*got->found), fingerprint_of(*got->found)};
  if (got->found) found = read(*std::move(got->found));
  if (found) {
    found->answer.sole = group.rest.empty();
    if (plain_times_) found->age = plain_times_->of(group.head->key, now);
    if (got->reading) keep_near(*this, group.head->key, *found, *got->reading, is);
    if (found->age) {
      bool const is_gone = group.by_tags == algo::tag_verdict::gone;
      found->age->killed = killed || is_gone;
      found->age->by_tags = group.by_tags;
      return group.for_each([&](auto const& caller) { on_aged_entry(caller, *found, now); });
    }
    group.for_each([&](auto const& caller) {
      if (!caller->missed) counters.count_hits(found->answer.kind, 1);
    });
    if (group.rest.empty()) return callers_.finish(*group.head, std::move(found->answer));
    return group.for_each([&](auto const& caller) { callers_.finish(*caller, found->answer); });
  }
  if (lasting_) lasting_->missed(group.head->key);
  if (plain_times_) plain_times_->forget(group.head->key);
  group.for_each([&](auto const& caller) {
    if (caller->answered) return;
    if (caller->wish != detail::caller_wish::refresh) count_miss(*caller, counters);
    if (caller->wish != detail::caller_wish::load) {
      return callers_.finish(*caller, detail::cache_answer{});
    }
    launch(caller, algo::load_guard::guarded);
  });
}

// An entry with times of its own. A caller who only looks takes a stale one for a miss.
void cache_engine::on_aged_entry(detail::caller_ptr const& caller, found_entry const& entry,
                                 clock::time_point now) {
  if (caller->answered) return;
  bool const stale = now >= entry.age->times.expires;
  bool const looks = caller->wish == detail::caller_wish::look;
  bool const by_schedule = caller->wish == detail::caller_wish::refresh;
  auto use = looks && !stale ? algo::entry_use::serve : algo::entry_use::load;
  load_purpose purpose{.refresh_below = cache_freshness::refresh_below(*entry.age),
                       .by_tags = entry.age->by_tags != algo::tag_verdict::fresh};
  bool const is_answer = !stale || !entry.age->killed;
  if (by_schedule && entry.age->by_tags == algo::tag_verdict::gone) {
    return callers_.finish(*caller, detail::cache_answer{});
  }
  if (by_schedule) {
    if (!stale) lasting_->fresh_until(caller->key, entry.age->times.expires);
    use = freshness_->use_by_schedule(caller->key, entry.age->times, now);
  } else if (!looks && is_answer) {
    use = freshness_->use_of(caller->key, *entry.age, now);
  }
  bool waits = false;
  if (use == algo::entry_use::serve_and_refresh) {
    purpose.refresh = freshness_->refresh_id();
    // Nothing that a call was given is used behind its answer: without a loader of the cache's own
    // this call waits for its load, with the value at hand.
    purpose.caller_waits = !owned();
    if (purpose.caller_waits) {
      freshness_->copies().keep(*caller, entry.answer, entry.age->times);
    }
    refresh(caller, purpose);
    waits = purpose.caller_waits && (caller->in_flight || caller->loads || caller->answered);
    if (!waits) callers_.leave_flight(*caller);
  } else if (use != algo::entry_use::serve) {
    count_miss(*caller, counters);
    if (looks) return callers_.finish(*caller, detail::cache_answer{});
    purpose.waits_softly = use == algo::entry_use::wait_softly;
    if (purpose.waits_softly) freshness_->keep(caller, entry);
    return launch(caller, algo::load_guard::guarded, purpose);
  }
  if (!by_schedule && !caller->missed) {
    counters.count_hits(entry.answer.kind, 1);
    if (stale) cache_counters::add(counters.stale_hits);
  }
  if (!waits) callers_.finish(*caller, entry.answer);
}

// The store failed, or did so a moment ago (S9): whoever has a loader loads under this process' own
// bounds. A call that was let through although a value is kept has that (near_look::first).
void cache_engine::do_without_store(detail::caller_ptr const& caller, failure const& why) {
  if (caller->answered) return;
  if (caller->wish != detail::caller_wish::load) return callers_.finish(*caller, why);
  auto const own = without_prefix(caller->key, options());
  auto hit = local_.near ? local_.near->find(own, detail::near_look::any) : detail::near_hit();
  if (hit) return callers_.finish(*caller, answer_of(std::move(hit)));
  count_miss(*caller, counters);
  launch(caller, algo::load_guard::unguarded);
}

void cache_engine::probe(cache_key const& key) {
  auto const& values = values_->values();
  if (!values) return;
  auto on_reply = [self = shared_from_this()](result<cache_lookup> reply) {
    auto& trouble = self->trouble_;
    if (reply.has_value()) return trouble.read_worked();
    auto const& why = reply.error();
    auto const scope = is_store_trouble(why) ? trouble.failed(algo::store_step::read, why)
                                             : algo::trouble_scope::none;
    // At a bound of our own nothing was asked. Else who refuses one key answers.
    if (why == errc::overloaded) return trouble.read_probe_over();
    if (scope != algo::trouble_scope::reads) trouble.read_worked();
  };
  values->get(key, settings_.form, std::move(on_reply));
}

}  // namespace herdlock::runtime
