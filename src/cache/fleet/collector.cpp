#include "cache/fleet/collector.hpp"

#include <algorithm>
#include <utility>

#include "runtime/fitted_ttl.hpp"
#include "runtime/io_runner.hpp"
#include "runtime/random.hpp"
#include "runtime/side_names.hpp"

namespace herdlock::runtime {
namespace {

constexpr int intervals_of_echo = 3;

// The greatest of the lists that are kept.
std::optional<algo::fleet_list> last_of(std::vector<std::string> const& texts) {
  std::optional<algo::fleet_list> last;
  for (auto const& text : texts) {
    auto list = algo::decode_fleet_list(text);
    if (list && (!last || list->number > last->number)) last = std::move(list);
  }
  return last;
}

}  // namespace

/// Listens during one term.
class store_collector::ear final : public report_listener {
 public:
  explicit ear(std::weak_ptr<store_collector> of) : of_(std::move(of)) {}

  void on_report(std::string_view text) override {
    if (auto const self = home()) self->on_report(text);
  }
  void on_listening() override {
    if (auto const self = home()) self->on_listening();
  }
  void on_deaf() override {
    if (auto const self = home()) self->on_deaf();
  }

 private:
  std::shared_ptr<store_collector> home() const {
    auto const self = of_.lock();
    return self && self->term_.listener.get() == this ? self : nullptr;
  }

  std::weak_ptr<store_collector> const of_;
};

std::shared_ptr<store_collector> store_collector::of(std::shared_ptr<store_core> const& home,
                                                     context_ptr const& context) {
  auto& known = home->caches().collector();
  if (auto there = known.lock()) return there;
  auto made = std::make_shared<store_collector>(home, context);
  known = made;
  return made;
}

store_collector::store_collector(std::shared_ptr<store_core> home, context_ptr context)
    : home_(std::move(home)), context_(std::move(context)) {}

// The end of the process waits for the term to be given back, where a thread of ours does so.
store_collector::~store_collector() {
  timer_queue::remove(*this);
  if (!candidate_) return;
  candidate_->resign(detail::resignation::for_good);
  auto const context = context_.lock();
  if (!context || !context->has_own_thread()) return;
  candidate_->async_resign([duty = process_end::shared().duty()](result<void> const&) {});
}

// ---------------------------------------------------------------------------- the election

void store_collector::stand(std::string_view prefix, std::uint64_t processes,
                            clock::time_point now) {
  if (auto* const one = fleet_of(prefix)) {
    one->is_here = true;
    one->processes = processes;
    one->stands = now;
  }
  watch_echoes(now);
  bool const drawn = is_drawn(now);
  if (candidate_) {
    if (term_.of) return;
    bool const polls = home_->leases() && home_->leases()->polls(resource(collector_name));
    if (!drawn || polls) withdraw(polls ? now + pause_of_polling : now);
    return;
  }
  auto const context = context_.lock();
  if (!drawn || now < stands_again_ || home_->closing() || !context) return;
  election_services services;
  services.start_work = [weak = weak_from_this()](election_term& term) {
    return collect(weak, term);
  };
  election_options how;
  how.ttl = fitted_ttl(home_->traits(), algo::list_follower::longest_term);
  candidate_ = std::make_shared<detail::election_core>(
      context, resource(collector_name), std::move(services), std::move(how), lease_of::library);
  candidate_->campaign([weak = weak_from_this()](result<void> const& ended) {
    if (auto const self = weak.lock()) self->on_campaign_ended(ended);
  });
}

// All stand while no list says how many they are.
bool store_collector::is_drawn(clock::time_point now) {
  if (now >= draw_.until) draw_ = {random_unit(), now + term_of_draw};
  std::uint64_t processes = 0;
  for (fleet const& one : fleets_) {
    if (now - one.stands < term_of_draw) processes = std::max(processes, one.processes);
  }
  return draw_.part * static_cast<double>(processes) < candidates;
}

void store_collector::withdraw(clock::time_point stands_again) {
  stands_again_ = std::max(stands_again_, stands_again);
  candidate_->resign(detail::resignation::for_good);
}

// The candidate repeats by itself what may pass.
void store_collector::on_campaign_ended(result<void> const& ended) {
  candidate_.reset();
  if (!ended.has_error() || ended.error() == errc::canceled) return;
  stands_again_ = std::max(stands_again_, clock::now() + pause_of_trouble);
  warn(warning::refused,
       "this process cannot collect what caches report of hot keys, and where no other one does, "
       "each goes by its own counts: " +
           ended.error().message);
}

void store_collector::watch_echoes(clock::time_point now) {
  if (!term_.of) return;
  clock::duration interval = algo::fleet_list::shortest_interval;
  for (fleet const& one : fleets_) {
    if (one.sums) interval = std::max<clock::duration>(interval, one.sums->last().interval());
  }
  auto const patience = intervals_of_echo * interval;
  bool const lost = term_.hearing.is_lost(now, patience) || term_.reports.is_lost(now, patience) ||
                    term_.lists.is_lost(now, patience);
  if (!lost || !candidate_) return;
  withdraw(now + pause_of_lost_echo);
  warn(warning::echo,
       "this process collects no more what caches report of hot keys: what it sends and hears of "
       "that does not come back, so it may lack the right to PUBLISH or SUBSCRIBE");
}

void store_collector::warn(warning what, std::string const& why) {
  if (std::find(warned_.begin(), warned_.end(), what) != warned_.end()) return;
  warned_.push_back(what);
  warnings_.push_back(why);
}

store_collector::trouble store_collector::take_trouble(std::string_view prefix) {
  trouble found{.refused = std::exchange(malformed_, 0),
                .unsent = 0,
                .warnings = std::exchange(warnings_, {})};
  if (auto* const one = find(prefix)) {
    found.refused += std::exchange(one->refused, 0);
    found.unsent = std::exchange(one->unsent, 0);
  }
  return found;
}

asio::awaitable<void> store_collector::collect(std::weak_ptr<store_collector> who,
                                               election_term& term) {
  struct turn {
    std::weak_ptr<store_collector> of;
    explicit turn(std::weak_ptr<store_collector> one) : of(std::move(one)) {}
    turn(turn const&) = delete;
    turn& operator=(turn const&) = delete;
    ~turn() {
      if (auto const self = of.lock()) self->end_term();
    }
  };
  turn const ours(std::move(who));
  if (auto const self = ours.of.lock()) self->begin_term(term);
  co_await term.until_stop();
}

void store_collector::begin_term(election_term const& term) {
  auto const& reports = home_->reports();
  if (!reports) return;
  term_.of = &term;
  term_.listener = std::make_shared<ear>(weak_from_this());
  term_.hearing.sent(clock::now());
  reports->listen(std::string(algo::hot_reports_topic), term_.listener);
}

void store_collector::end_term() {
  timer_queue::remove(*this);
  term_ = {};
  for (fleet& one : fleets_) one.sums.reset();
  drop_dead();
}

// ---------------------------------------------------------------------------- in a term

// A part was missed meanwhile: it listens for an interval as at first.
void store_collector::on_listening() {
  auto const now = clock::now();
  term_.hears_since = now;
  term_.hearing.came_back();
  for (fleet& one : fleets_) {
    if (one.sums) begin(one, one.sums->last(), now);
  }
  publish(now);
}

void store_collector::on_deaf() {
  timer_queue::remove(*this);
  term_.hears_since.reset();
  term_.hearing.sent(clock::now());
  term_.reports.came_back();
  term_.lists.came_back();
}

void store_collector::on_report(std::string_view text) {
  if (!term_.hears_since) return;
  auto told = algo::decode_addressed_report(text);
  if (!told) {
    ++malformed_;
    return;
  }
  auto const now = clock::now();
  auto* const one = fleet_of(told->prefix);
  if (!one) return;
  if (hear(*one, *std::move(told), now) == algo::fleet_hearing::refused) ++one->refused;
  if (term_.next <= now) return publish(now);
  if (term_.next != clock::time_point::max()) home_->timers().schedule(*this, term_.next);
}

algo::fleet_hearing store_collector::hear(fleet& one, algo::addressed_report told,
                                          clock::time_point now) {
  if (told.report.process == one.own) term_.reports.came_back();
  if (!one.sums) {
    one.thresholds = told.thresholds;
    begin(one, one.followed, *term_.hears_since);
    if (!one.is_here) learn(one);
  } else if (now - one.counted >= one.sums->last().interval()) {
    one.counted = now;
    auto const asked = one.votes.count(one.thresholds);
    bool const has_changed = asked != one.thresholds;
    one.thresholds = asked;
    if (has_changed) begin(one, one.sums->last(), now);
  }
  one.votes.voted(told.report.process, told.thresholds);
  auto const before = one.sums->bytes();
  auto const room = one.thresholds.most_bytes - std::min(term_.bytes, one.thresholds.most_bytes);
  auto const how = one.sums->heard(std::move(told.report), now, room);
  term_.bytes = term_.bytes - before + one.sums->bytes();
  term_.next = std::min(term_.next, one.sums->due());
  return how;
}

// A prefix that comes again counts on behind all lists of the term.
void store_collector::begin(fleet& one, algo::fleet_list before, clock::time_point since) {
  auto const term = term_.of->number().value;
  before.number = {term, term_.counter};
  if (one.sums) term_.bytes -= one.sums->bytes();
  one.sums.emplace(one.thresholds).began(term, before, since);
}

void store_collector::learn(fleet const& one) {
  auto on_found = [weak = weak_from_this(), in = std::weak_ptr(term_.listener),
                   prefix = one.prefix](result<std::vector<std::string>> const& found) {
    auto const self = weak.lock();
    auto const term = in.lock();
    if (!self || !term || self->term_.listener != term || !found.has_value()) return;
    auto const last = last_of(*found);
    auto* const here = self->find(prefix);
    auto const now = clock::now();
    if (last && here && here->sums) here->sums->learned(*last, now);
    self->publish(now);
  };
  if (auto const& reports = home_->reports())
    reports->read(algo::hot_list_topic(one.prefix), std::move(on_found));
}

void store_collector::publish(clock::time_point now) {
  watch_echoes(now);
  if (!term_.of || !term_.of->valid() || !term_.hears_since) return;
  algo::fleet_collector::load all;
  for (fleet const& one : fleets_) {
    auto const own = one.sums ? one.sums->own_load() : algo::fleet_collector::load();
    all = {all.heard + own.heard, all.told + own.told};
  }
  term_.next = clock::time_point::max();
  term_.bytes = 0;
  for (fleet& one : fleets_) {
    if (!one.sums) continue;
    auto const own = one.sums->own_load();
    one.sums->works_beside({all.heard - own.heard, all.told - own.told});
    if (auto const list = one.sums->advance(now)) send(one, *list);
    term_.bytes += one.sums->bytes();
    term_.next = std::min(term_.next, one.sums->due());
  }
  drop_dead();
  if (term_.next != clock::time_point::max()) home_->timers().schedule(*this, term_.next);
}

// A list that is lost is followed by the next one.
void store_collector::send(fleet& one, algo::fleet_list const& list) {
  auto const& reports = home_->reports();
  if (!reports) return;
  term_.counter = std::max(term_.counter, list.number.counter);
  if (one.is_here) term_.lists.sent(clock::now());
  auto on_done = [weak = weak_from_this(), prefix = one.prefix](result<void> const& done) {
    auto const self = weak.lock();
    if (!self || !done.has_error()) return;
    if (auto* const here = self->find(prefix)) ++here->unsent;
  };
  reports->report({algo::hot_list_topic(one.prefix), std::to_string(list.number.term),
                   list.number.counter, algo::encode(list)},
                  std::move(on_done));
}

// ---------------------------------------------------------------------------- the fleets

void store_collector::follows(std::string_view prefix, algo::fleet_list const& list) {
  if (term_.of && list.number.term == term_.of->number().value) term_.lists.came_back();
  auto* const one = fleet_of(prefix);
  if (!one) return;
  one->is_here = true;
  if (list.number > one->followed.number) one->followed = list;
}

void store_collector::reported(std::string_view prefix, std::uint64_t process,
                               clock::time_point now) {
  if (auto* const one = find(prefix)) one->own = process;
  if (term_.hears_since) term_.reports.sent(now);
}

void store_collector::report_failed() { term_.reports.came_back(); }

void store_collector::leaves(std::string_view prefix) {
  auto* const one = find(prefix);
  if (!one) return;
  one->is_here = false;
  one->own = one->processes = 0;
  one->followed = {};
  drop_dead();
}

store_collector::fleet* store_collector::find(std::string_view prefix) {
  auto const found = std::find_if(fleets_.begin(), fleets_.end(),
                                  [prefix](fleet const& one) { return one.prefix == prefix; });
  return found != fleets_.end() ? &*found : nullptr;
}

store_collector::fleet* store_collector::fleet_of(std::string_view prefix) {
  if (auto* const one = find(prefix)) return one;
  if (fleets_.size() >= most_fleets) drop_dead();
  if (fleets_.size() >= most_fleets) return nullptr;
  fleets_.push_back({.prefix = std::string(prefix)});
  return &fleets_.back();
}

void store_collector::drop_dead() {
  std::erase_if(
      fleets_, [](fleet const& one) { return !one.is_here && (!one.sums || one.sums->is_over()); });
}

}  // namespace herdlock::runtime
