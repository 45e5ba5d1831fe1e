#include "cache/fleet/collector.hpp"

#include <algorithm>
#include <utility>

#include "runtime/fitted_ttl.hpp"
#include "runtime/io_runner.hpp"
#include "runtime/side_names.hpp"

namespace herdlock::runtime {

/// Listens during one term.
class store_collector::ear final : public report_listener {
 public:
  explicit ear(std::weak_ptr<store_collector> of) : of_(std::move(of)) {}

  void on_report(std::string_view text) override {
    auto const self = of_.lock();
    if (self && self->ear_.get() == this) self->on_report(text);
  }

 private:
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

void store_collector::stand(clock::time_point now) {
  if (candidate_ || now < stands_again_ || home_->closing()) return;
  auto const context = context_.lock();
  if (!context) return;
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

// The candidate repeats by itself what may pass.
void store_collector::on_campaign_ended(result<void> const& ended) {
  candidate_.reset();
  stands_again_ = clock::now() + pause_of_trouble;
  if (!ended.has_error() || ended.error() == errc::canceled) return;
  if (!std::exchange(warned_, true)) trouble_.why = ended.error();
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
  term_ = &term;
  began_ = clock::now();
  ear_ = std::make_shared<ear>(weak_from_this());
  reports->listen(std::string(algo::hot_reports_topic), ear_);
}

void store_collector::end_term() {
  timer_queue::remove(*this);
  term_ = nullptr;
  ear_.reset();
  std::erase_if(fleets_, [](fleet const& one) { return one.followed.number.term == 0; });
  for (fleet& one : fleets_) one.sums.reset();
}

// ---------------------------------------------------------------------------- in a term

void store_collector::on_report(std::string_view text) {
  auto told = algo::decode_addressed_report(text);
  auto const now = clock::now();
  auto const how = told ? hear(*std::move(told), now) : algo::fleet_hearing::refused;
  if (how == algo::fleet_hearing::refused) ++trouble_.refused;
  publish(now);
}

algo::fleet_hearing store_collector::hear(algo::addressed_report told, clock::time_point now) {
  std::size_t bytes = 0;
  for (fleet const& one : fleets_) bytes += one.sums ? one.sums->bytes() : 0;
  if (bytes >= algo::fleet_thresholds().most_bytes) return algo::fleet_hearing::refused;
  auto* const one = fleet_of(told.prefix);
  if (!one) return algo::fleet_hearing::refused;
  return sums_of(*one, told.thresholds, now).heard(std::move(told.report), now);
}

store_collector::fleet* store_collector::fleet_of(std::string_view prefix) {
  auto const is_it = [prefix](fleet const& one) { return one.prefix == prefix; };
  auto const found = std::find_if(fleets_.begin(), fleets_.end(), is_it);
  if (found != fleets_.end()) return &*found;
  if (fleets_.size() >= most_fleets) return nullptr;
  fleets_.push_back({.prefix = std::string(prefix)});
  return &fleets_.back();
}

// Processes with other options than the first one has come with are judged by that one's, until
// nobody has these any more: so it is while a program is replaced by its next version.
algo::fleet_collector& store_collector::sums_of(fleet& one, algo::fleet_thresholds const& asked,
                                                clock::time_point now) {
  auto const has_changed = one.sums && asked != one.thresholds;
  if (has_changed && now - one.asked < report_store::keeps_for) return *one.sums;
  one.asked = now;
  if (one.sums && !has_changed) return *one.sums;
  auto const before = has_changed ? one.sums->last() : one.followed;
  one.thresholds = asked;
  auto& sums = one.sums.emplace(asked);
  sums.began(term_->number().value, before, has_changed ? now : began_);
  return sums;
}

void store_collector::publish(clock::time_point now) {
  if (!term_ || !term_->valid()) return;
  auto next = clock::time_point::max();
  for (fleet& one : fleets_) {
    if (!one.sums) continue;
    if (auto const list = one.sums->advance(now)) send(one.prefix, *list);
    next = std::min(next, one.sums->due());
  }
  if (next != clock::time_point::max()) home_->timers().schedule(*this, next);
}

// A list that is lost is followed by the next one.
void store_collector::send(std::string_view prefix, algo::fleet_list const& list) {
  auto const& reports = home_->reports();
  if (!reports) return;
  reports->report({algo::hot_list_topic(prefix), std::to_string(list.number.term),
                   list.number.counter, algo::encode(list)},
                  [](result<void> const&) {});
}

void store_collector::follows(std::string_view prefix, algo::fleet_list const& list) {
  if (auto* const one = fleet_of(prefix)) one->followed = list;
}

}  // namespace herdlock::runtime
