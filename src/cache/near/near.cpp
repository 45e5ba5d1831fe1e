#include "cache/near/near.hpp"
#include "cache/near/near_sweep.hpp"

#include <algorithm>
#include <utility>

namespace herdlock::runtime {
namespace {

std::optional<milliseconds> if_any(milliseconds span) {
  return span == milliseconds{0} ? std::nullopt : std::optional(span);
}

algo::near_settings machine_settings(store_core const& home, cache_options const& options) {
  auto const& source = home.tracking();
  bool const several = source && source->slot_of();
  return {.max_staleness = options.near.max_staleness,
          .servers = several ? algo::near_servers::several : algo::near_servers::one,
          .max_age = if_any(options.near.max_age),
          .untracked_age = if_any(options.near.untracked_age)};
}

detail::near_table_options table_options(store_core const& home, cache_options const& options,
                                         key_heat& heat, cache_counters const& counters) {
  detail::near_table_options made{.entries = options.near.entries,
                                  .bytes = options.near.bytes,
                                  .value_bytes = options.near.max_value_bytes,
                                  .slot_of = {},
                                  .uses = heat.hits(),
                                  .evicted = counters.teller_of(cache_outcome::evicted)};
  auto const& source = home.tracking();
  if (auto const slot_of = source ? source->slot_of() : nullptr) {
    made.slot_of = [slot_of, prefix = options.prefix](std::string_view key) {
      return slot_of(prefix + std::string(key));
    };
  }
  return made;
}

std::string untold_warning(std::string const& store, std::string const& prefix,
                           milliseconds untracked_age, failure const& why) {
  std::string const name =
      prefix.empty() ? "without a prefix" : "with the prefix " + in_quotes(prefix);
  std::string const follows =
      untracked_age != milliseconds{0}
          ? "its values can be as old as near.untracked_age says"
          : "each call asks the store; near.untracked_age would keep values for a "
            "time that you choose, whoever changes them";
  return store + ": the near cache of the cache " + name + " is told of no changes, so " + follows +
         ": " + why.message;
}

near_link* find_link(std::map<link_id, near_link>& among, link_id which) {
  auto const at = among.find(which);
  return at == among.end() ? nullptr : &at->second;
}

std::uint64_t count_refused(std::map<link_id, near_link> const& among,
                            algo::near_machine const& machine) {
  auto const refused = [&](auto const& one) {
    return machine.coverage(one.second.connection) != algo::near_coverage::tracked;
  };
  return static_cast<std::uint64_t>(std::count_if(among.begin(), among.end(), refused));
}

// Without memory for it the generation is not served, which is safe.
void trust(detail::near_table& table, algo::near_action const& one) {
  try {
    table.trust(one.generation, one.until);
  } catch (std::bad_alloc const&) {
  }
}

}  // namespace

cache_near::cache_near(std::shared_ptr<store_core> home, cache_counters& counters,
                       cache_options const& options, near_cache mode, key_sources by)
    : home_(std::move(home)),
      counters_(counters),
      heat_(std::move(by.heat)),
      rules_(std::move(by.rules)),
      which_(mode, options, {heat_, rules_}),
      asked_for_(options.near.mode.has_value() || options.near.untracked_age != milliseconds{0}),
      untracked_age_(options.near.untracked_age),
      table_(
          std::make_shared<detail::near_table>(table_options(*home_, options, *heat_, counters_))),
      upkeep_(std::make_shared<near_upkeep>(home_, table_, counters_, options.prefix)),
      machine_(machine_settings(*home_, options)),
      fences_(home_->executor(), options.bounds.max_waiting) {}

cache_near::~cache_near() { timer_queue::remove(*this); }

// ------------------------------------------------------------------------------------- pins

failure cache_near::pin(std::string_view key) {
  if (which_.pins.add(key)) {
    if (asked_for_) return {};
    asio::post(home_->executor(), [weak = weak_from_this()] {
      if (auto const self = weak.lock()) self->listen();
    });
    return {};
  }
  return make_failure(errc::overloaded, "cannot pin " + in_quotes(key) + " in the cache in " +
                                            home_->display_name() + ": " +
                                            std::to_string(which_.pins.most()) +
                                            " keys are pinned already (near.entries)");
}

void cache_near::unpin(std::string_view key) {
  if (which_.pins.remove(key) && !which_.stays(key)) table_->drop(key, detail::near_drop::unwanted);
}

bool cache_near::keeps(cache_key const& key) const {
  auto const may_keep = [this](auto const& one) {
    return machine_.coverage(one.second.connection) != algo::near_coverage::off;
  };
  if (closed_ || std::none_of(links_.begin(), links_.end(), may_keep)) return false;
  return which_.is_to_be_read(key, clock::now());
}

// ------------------------------------------------------------------------------------ reads

void cache_near::read(cache_key const& key, layout form,
                      std::function<void(result<near_read>)> done) {
  auto const number = which_.try_sent(key, clock::now());
  auto const stamp = std::make_shared<std::optional<algo::near_stamp>>();
  auto sending = [weak = weak_from_this(), stamp, key](link_id over) {
    auto const self = weak.lock();
    auto* const by = self ? find_link(self->links_, over) : nullptr;
    stamp->reset();
    if (!by) return false;
    *stamp = self->machine_.read_sent(by->connection, key.str(), clock::now());
    return *stamp && self->machine_.coverage(by->connection) == algo::near_coverage::tracked;
  };
  auto on_reply = [self = shared_from_this(), stamp, key, number,
                   done = std::move(done)](result<tracked_value> got) {
    self->which_.try_answered(key, number);
    if (got.has_error()) return done(std::move(got).error());
    std::optional<near_reading> reading;
    auto* const by = got->over ? find_link(self->links_, *got->over) : nullptr;
    if (*stamp && got->found && by) {
      bool const negative = std::holds_alternative<absent>(*got->found);
      using found = algo::near_answer::found;
      reading = {**stamp,
                 {.from = by->connection,
                  .what = negative ? found::negative : found::value,
                  .left = got->left}};
    }
    bool const refused = *stamp && got->found && !by && !self->closed_;
    if (refused) cache_counters::add(self->counters_.near_refused);
    done(near_read{std::move(got->found), reading});
  };
  home_->tracking()->get({key, form, std::move(sending)}, std::move(on_reply));
}

std::optional<algo::near_entry> cache_near::admit(cache_key const& key, near_reading const& of) {
  auto const how = machine_.fill(key.str(), of.stamp, of.answer, clock::now());
  if (!how && !closed_) cache_counters::add(counters_.near_refused);
  return how;
}

bool cache_near::insert(cache_key const& key, algo::near_entry const& how,
                        detail::near_value what) {
  auto const own = which_.own(key.str());
  if (closed_ || !own || !which_.has(*own)) return false;
  try {
    // First, since there may be no memory for it: whoever is told `false` may move from the value.
    if (!which_.is_of_tag(*own)) heat_->name(*own);
    bool const inserted = table_->insert(*own, how, std::move(what), clock::now());
    // The key may have been unpinned meanwhile, by another thread.
    if (inserted && !which_.has(*own)) table_->drop(*own, detail::near_drop::unwanted);
    if (inserted) which_.try_again(key);
    return inserted;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

void cache_near::write_ended(cache_key const& key) {
  machine_.write_ended(key.str());
  which_.try_again(key);
}

// ------------------------------------------------------------------------------------ links

void cache_near::open() {
  auto on_hot = [weak = weak_from_this()] {
    if (auto const self = weak.lock()) self->listen();
  };
  auto on_cooled = [weak = weak_from_this()](std::string_view key) {
    auto const self = weak.lock();
    if (self && !self->which_.stays(key)) self->table_->drop(key, detail::near_drop::unwanted);
  };
  auto keeps = [weak = weak_from_this()](std::string_view key) {
    auto const self = weak.lock();
    return self && self->table_->find_record(key, clock::now());
  };
  heat_->keep_by({std::move(on_hot), std::move(on_cooled), std::move(keeps)});
  auto const sweep = std::make_shared<near_sweep>(home_->executor(), table_);
  rules_->follow([weak = weak_from_this(), sweep] {
    auto const self = weak.lock();
    if (!self) return;
    if (self->rules_->have_pins()) self->listen();
    sweep->start(self->which_, self);
  });
  if (asked_for_) listen();
}

// If nobody has asked for a near cache, it costs the servers nothing before a key is hot.
void cache_near::listen() {
  if (closed_ || std::exchange(listens_, true)) return;
  upkeep_->open();
  if (auto const& source = home_->tracking()) source->listen(weak_from_this());
}

// Null when there are too many.
near_link* cache_near::connect(link_id which, clock::time_point asked) {
  if (closed_) return nullptr;
  auto const made = machine_.connected(asked);
  return made ? &links_.insert_or_assign(which, near_link{*made}).first->second : nullptr;
}

void cache_near::on_link_up(link_id which, clock::time_point asked) {
  if (closed_) return;
  if (auto* const up = connect(which, asked)) apply(machine_.tracking_on(up->connection));
  counters_.near_links_refused = count_refused(links_, machine_);
}

void cache_near::on_link_refused(link_id which, clock::time_point asked, failure const& why) {
  if (closed_) return;
  // Else nobody counts on it: each call asks the store, as without a near cache.
  if (asked_for_ || !which_.pins.empty()) {
    counters_.warnings.add(
        untold_warning(home_->display_name(), which_.prefix(), untracked_age_, why));
  }
  if (auto* const up = connect(which, asked)) apply(machine_.tracking_refused(up->connection));
  counters_.near_links_refused = count_refused(links_, machine_);
}

void cache_near::on_link_down(link_id which) {
  auto const at = links_.find(which);
  if (at == links_.end()) return;
  auto const connection = at->second.connection;
  links_.erase(at);
  counters_.near_links_refused = count_refused(links_, machine_);
  apply(machine_.lost(connection, clock::now()));
}

void cache_near::on_changed(link_id which, std::span<std::string_view const> keys) {
  auto* const by = find_link(links_, which);
  if (!by) return;
  ++by->pushes;
  apply(machine_.invalidated(by->connection, keys, clock::now()));
  for (auto const key : keys) {
    auto const own = which_.own(key);
    if (own && !which_.is_of_tag(*own)) heat_->changed(*own);
  }
}

void cache_near::on_all_changed(link_id which) {
  auto* const by = find_link(links_, which);
  if (!by) return;
  ++by->pushes;
  apply(machine_.flushed(by->connection, clock::now()));
}

void cache_near::on_slots_leaving(link_id which) {
  if (auto* const by = find_link(links_, which)) apply(machine_.asked(by->connection));
}

// ---------------------------------------------------------------------------------- actions

void cache_near::apply(algo::near_plan const& plan) {
  auto const keep = shared_from_this();
  for (auto const& one : plan) apply_one(one);
  if (closed_ || machine_.due() == clock::time_point::max()) return timer_queue::remove(*this);
  home_->timers().schedule(*this, machine_.due());
}

void cache_near::apply_one(algo::near_action const& one) {
  using kind = algo::near_action::kind;
  switch (one.what) {
    case kind::drop_key:
      if (auto const own = which_.own(one.key)) table_->drop(*own);
      break;
    case kind::drop_slot:
      table_->drop_slot(one.slot);
      break;
    case kind::end:
      table_->end(one.generation);
      break;
    case kind::trust:
      trust(*table_, one);
      break;
    case kind::ping:
      ping(one.connection, one.number);
      break;
    case kind::fence_passed:
      fences_.pass(one.number);
      break;
  }
}

void cache_near::ping(algo::near_connection over, std::uint64_t number) {
  auto const& source = home_->tracking();
  if (!source) return;
  for (auto const& [which, by] : links_) {
    if (by.connection != over) continue;
    auto on_pong = [weak = weak_from_this(), id = which, number](result<void> const& said) {
      auto const self = weak.lock();
      auto* const link = self ? find_link(self->links_, id) : nullptr;
      if (!link) return;
      if (said.has_error()) {
        // The PING was refused, or is late: whatever it comes to is no answer to this one any more.
        return self->apply(self->machine_.ping_refused(link->connection, number, clock::now()));
      }
      // The pushes in front of the PONG have been told: replies and pushes come in one order.
      self->apply(self->machine_.pong(link->connection, number, link->pushes, clock::now()));
    };
    return source->ping(which, std::move(on_pong));
  }
}

// ----------------------------------------------------------------------------------- fences

void cache_near::fence(handler<void> done) {
  if (closed_) {
    return detail::post_result<void>(home_->executor(), std::move(done), home_->closed_failure());
  }
  if (fences_.full()) {
    return detail::post_result<void>(
        home_->executor(), std::move(done),
        make_failure(errc::overloaded, "cache in " + home_->display_name() + ": " +
                                           std::to_string(fences_.most()) +
                                           " fences are waiting already (bounds.max_waiting)"));
  }
  cache_counters::add(counters_.near_fences);
  auto const plan = machine_.fence(clock::now());
  fences_.add(machine_.last_fence(), std::move(done));
  apply(plan);
}

void cache_near::close() {
  if (std::exchange(closed_, true)) return;
  auto const keep = shared_from_this();
  timer_queue::remove(*this);
  upkeep_->close();
  // Answers that are on their way keep this for longer than there are counters.
  links_.clear();
  counters_.near_links_refused = 0;
  apply(machine_.drop_all());
  table_->clear();
  fences_.end(home_->closed_failure());
}

void add_counts(detail::near_table const& of, milliseconds max_staleness, cache_stats& into) {
  auto const all = of.counts();
  into.near_hits = all.hits;
  into.near_inserts = all.inserts;
  into.near_refused += all.refused;
  into.near_evicted = all.evicted;
  into.near_invalidations = all.dropped;
  into.near_ended_by_tags = all.fallen;
  into.near_entries = all.entries;
  into.near_bytes = all.bytes;
  into.near_unchanged = all.unchanged;
  if (!all.trusted_until) return;
  auto const age = clock::now() - (*all.trusted_until - max_staleness);
  into.near_proof_age_ms = static_cast<std::uint64_t>(
      std::max(std::chrono::duration_cast<milliseconds>(age), milliseconds{0}).count());
}

}  // namespace herdlock::runtime
