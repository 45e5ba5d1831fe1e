#include "runtime/cache_near.hpp"

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
  return {.max_staleness = options.max_staleness,
          .servers = several ? algo::near_servers::several : algo::near_servers::one,
          .max_age = if_any(options.near_max_age),
          .untracked_age = if_any(options.near_untracked_age)};
}

detail::near_table_options table_options(store_core const& home, cache_options const& options) {
  detail::near_table_options made{.entries = options.near_entries, .bytes = options.near_bytes};
  auto const& source = home.tracking();
  if (auto const slot_of = source ? source->slot_of() : nullptr) {
    made.slot_of = [slot_of, prefix = options.prefix](std::string_view key) {
      return slot_of(prefix + std::string(key));
    };
  }
  return made;
}

std::optional<std::string_view> without(std::string_view prefix, std::string_view key) {
  if (!key.starts_with(prefix)) return std::nullopt;
  return key.substr(prefix.size());
}

}  // namespace

cache_near::cache_near(std::shared_ptr<store_core> home, cache_counters& counters,
                       cache_options const& options)
    : home_(std::move(home)),
      counters_(counters),
      mode_(options.near),
      prefix_(options.prefix),
      serves_untracked_(options.near_untracked_age != milliseconds{0}),
      table_(std::make_shared<detail::near_table>(table_options(*home_, options))),
      upkeep_(std::make_shared<near_upkeep>(home_, table_, prefix_)),
      machine_(machine_settings(*home_, options)),
      fences_(home_->executor(), options.max_waiting),
      pins_(options.near_entries) {}

cache_near::~cache_near() { timer_queue::remove(*this); }

// ------------------------------------------------------------------------------------- pins

failure cache_near::pin(std::string_view key) {
  if (pins_.add(key)) return {};
  return make_failure(errc::overloaded, "cannot pin " + in_quotes(key) + " in the cache in " +
                                            home_->display_name() + ": " +
                                            std::to_string(pins_.most()) +
                                            " keys are pinned already (near_entries)");
}

void cache_near::unpin(std::string_view key) {
  if (pins_.remove(key) && mode_ == near_cache::hot) table_->drop(key);
}

bool cache_near::keeps(cache_key const& key) const {
  auto const may_keep = [this](auto const& one) {
    return machine_.coverage(one.second.connection) != algo::near_coverage::off;
  };
  if (closed_ || std::none_of(links_.begin(), links_.end(), may_keep)) return false;
  if (mode_ == near_cache::all) return true;
  auto const own = without(prefix_, key.str());
  return own && pins_.has(*own);
}

// ------------------------------------------------------------------------------------ reads

void cache_near::read(cache_key const& key, layout form,
                      std::function<void(result<near_read>)> done) {
  auto const stamp = std::make_shared<std::optional<algo::near_stamp>>();
  auto sending = [weak = weak_from_this(), stamp, key](link_id over) {
    auto const self = weak.lock();
    auto* const by = self ? self->find_link(over) : nullptr;
    stamp->reset();
    if (!by) return false;
    *stamp = self->machine_.read_sent(by->connection, key.str(), clock::now());
    return *stamp && self->machine_.coverage(by->connection) == algo::near_coverage::tracked;
  };
  auto on_reply = [self = shared_from_this(), stamp, key,
                   done = std::move(done)](result<tracked_value> got) {
    if (got.has_error()) return done(std::move(got).error());
    std::optional<algo::near_entry> keep;
    if (*stamp) keep = self->admit(key, **stamp, *got);
    done(near_read{std::move(got->found), keep});
  };
  home_->tracking()->get({key, form, std::move(sending)}, std::move(on_reply));
}

std::optional<algo::near_entry> cache_near::admit(cache_key const& key,
                                                  algo::near_stamp const& stamp,
                                                  tracked_value const& got) {
  if (!got.found) return std::nullopt;
  auto* const by = got.over ? find_link(*got.over) : nullptr;
  std::optional<algo::near_entry> keep;
  if (by) {
    bool const negative = std::holds_alternative<absent>(*got.found);
    algo::near_answer const answer{
        .from = by->connection,
        .what = negative ? algo::near_answer::found::negative : algo::near_answer::found::value,
        .left = got.left};
    keep = machine_.fill(key.str(), stamp, answer, clock::now());
  }
  if (!keep) cache_counters::add(counters_.near_refused);
  return keep;
}

bool cache_near::insert(cache_key const& key, algo::near_entry const& how,
                        detail::cache_answer const& answer, std::size_t bytes) {
  auto const own = without(prefix_, key.str());
  if (!own || !keeps(key)) return false;
  try {
    bool const inserted = table_->insert(*own, how, {answer.object, bytes}, clock::now());
    // It may have been unpinned meanwhile, by another thread.
    if (inserted && !keeps(key)) table_->drop(*own);
    return inserted;
  } catch (std::bad_alloc const&) {
    return false;
  }
}

// ------------------------------------------------------------------------------------ links

void cache_near::open() {
  if (auto const& source = home_->tracking()) source->listen(weak_from_this());
  upkeep_->open();
}

cache_near::connected_link* cache_near::find_link(link_id which) {
  auto const at = links_.find(which);
  return at == links_.end() ? nullptr : &at->second;
}

// Null when there are too many.
cache_near::connected_link* cache_near::connect(link_id which, clock::time_point asked) {
  if (closed_) return nullptr;
  auto const made = machine_.connected(asked);
  return made ? &links_.insert_or_assign(which, connected_link{*made, asked}).first->second
              : nullptr;
}

void cache_near::on_link_up(link_id which, clock::time_point asked) {
  if (auto* const up = connect(which, asked)) apply(machine_.tracking_on(up->connection));
}

void cache_near::on_link_refused(link_id which, clock::time_point asked, failure const& why) {
  if (closed_) return;
  std::string const name =
      prefix_.empty() ? "without a prefix" : "with the prefix " + in_quotes(prefix_);
  std::string const follows =
      serves_untracked_ ? "its values can be as old as near_untracked_age says"
                        : "each call asks the store; near_untracked_age would keep values for a "
                          "time that you choose, whoever changes them";
  counters_.warnings.add(home_->display_name() + ": the near cache of the cache " + name +
                         " is told of no changes, so " + follows + ": " + why.message);
  if (auto* const up = connect(which, asked)) apply(machine_.tracking_refused(up->connection));
}

void cache_near::on_link_down(link_id which) {
  auto const at = links_.find(which);
  if (at == links_.end()) return;
  auto const connection = at->second.connection;
  links_.erase(at);
  apply(machine_.lost(connection, clock::now()));
}

void cache_near::on_changed(link_id which, std::span<std::string_view const> keys) {
  auto* const by = find_link(which);
  if (!by) return;
  ++by->pushes;
  apply(machine_.invalidated(by->connection, keys, clock::now()));
}

void cache_near::on_all_changed(link_id which) {
  auto* const by = find_link(which);
  if (!by) return;
  ++by->pushes;
  apply(machine_.flushed(by->connection, clock::now()));
}

void cache_near::on_slots_leaving(link_id which) {
  if (auto* const by = find_link(which)) apply(machine_.asked(by->connection));
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
      if (auto const own = without(prefix_, one.key)) table_->drop(*own);
      break;
    case kind::drop_slot:
      table_->drop_slot(one.slot);
      break;
    case kind::end:
      table_->end(one.generation);
      break;
    case kind::trust:
      trust(one.generation, one.until);
      break;
    case kind::ping:
      ping(one.connection, one.number);
      break;
    case kind::fence_passed:
      fences_.pass(one.number);
      break;
  }
}

// Without memory for it the generation is not served, which is safe.
void cache_near::trust(algo::near_generation generation, clock::time_point until) {
  try {
    table_->trust(generation, until);
  } catch (std::bad_alloc const&) {
  }
}

void cache_near::ping(algo::near_connection over, std::uint64_t number) {
  auto const& source = home_->tracking();
  if (!source) return;
  for (auto const& [which, by] : links_) {
    if (by.connection != over) continue;
    auto on_pong = [weak = weak_from_this(), id = which, number](result<void> const& said) {
      auto const self = weak.lock();
      auto* const link = self ? self->find_link(id) : nullptr;
      if (!link) return;
      if (said.has_error()) return self->on_no_pong(id);
      // What was pushed in front of it has been told: replies and pushes come in one order.
      self->apply(self->machine_.pong(link->connection, number, link->pushes, clock::now()));
    };
    return source->ping(which, std::move(on_pong));
  }
}

// It was refused, or is late: whatever it comes to is no answer to this one any more. Where the
// server has lost its slots nothing is read over it again; else it is as good as one that came up.
void cache_near::on_no_pong(link_id over) {
  auto const asked = find_link(over)->asked;
  on_link_down(over);
  on_link_up(over, asked);
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
                                           " fences are waiting already (max_waiting)"));
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
  apply(machine_.drop_all());
  table_->clear();
  fences_.end(home_->closed_failure());
}

void cache_near::add_counts(cache_stats& into) const {
  auto const all = table_->counts();
  into.near_hits = all.hits;
  into.near_inserts = all.inserts;
  into.near_evicted = all.evicted;
  into.near_invalidations = all.dropped;
  into.near_entries = all.entries;
  into.near_bytes = all.bytes;
}

void remove_entry(std::shared_ptr<cache_near> const& near, cache_store& values,
                  cache_key const& key, std::function<void()> then) {
  if (near) near->write_sent(key);
  values.invalidate(key, [near, key, then = std::move(then)](result<bool> const&) {
    if (near) near->write_ended(key);
    then();
  });
}

}  // namespace herdlock::runtime
