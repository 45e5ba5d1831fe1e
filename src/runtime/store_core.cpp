#include "runtime/store_core.hpp"

#include "algo/backoff.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

constexpr algo::backoff_options clean_up_backoff{milliseconds{50}, std::chrono::seconds{2}};

// One release with an unknown need, repeated until the store has answered or the ttl is over.
// Closing waits for the first answer only.
class clean_up_job final : public closing_listener,
                           public std::enable_shared_from_this<clean_up_job> {
 public:
  clean_up_job(std::shared_ptr<store_core> home, acquire_request what, arrival request,
               std::size_t& running)
      : home_(std::move(home)),
        what_(std::move(what)),
        running_(running),
        until_(clock::now() + what_.ttl),
        request_(request),
        late_until_(request == arrival::in_order ? clock::time_point::min()
                                                 : clock::now() + late_arrival),
        timer_(home_->executor()) {
    ++running_;
    home_->give_back_begun();
    home_->tell_when_closing(*this);
  }
  ~clean_up_job() override { --running_; }

  void on_closing() override { timer_.cancel(); }

  void run() {
    auto const& leases = home_->leases();
    if (!leases) return answered();
    auto on_reply = [self = shared_from_this()](result<release_reply> reply) {
      auto const now = clock::now();
      bool const released = reply.has_value() && *reply == release_reply::released &&
                            self->request_ != arrival::late_after_release;
      // Over a connection that was lost meanwhile, its own request may come late.
      if (reply.has_error()) self->late_until_ = std::max(self->late_until_, now + late_arrival);
      // Why: docs/decisions/lease.md#not-held-is-no-proof
      bool const enough = released || (reply.has_value() && now >= self->late_until_);
      bool const again = !enough && now < self->until_ && !self->home_->closing();
      if (again) self->again();
      if (!again || reply.has_value()) self->answered();
    };
    leases->release(what_.name, what_.owner, std::move(on_reply));
  }

 private:
  void again() {
    timer_.expires_after(backoff_.next(random_unit()));
    timer_.async_wait([self = shared_from_this()](boost::system::error_code const& ec) {
      if (ec) return self->answered();
      self->run();
    });
  }
  void answered() {
    if (!std::exchange(answered_, true)) home_->give_back_ended();
  }

  std::shared_ptr<store_core> home_;
  acquire_request what_;
  std::size_t& running_;  // of home_, which we keep
  bool answered_ = false;
  clock::time_point until_;
  arrival request_;
  clock::time_point late_until_;
  asio::steady_timer timer_;
  algo::backoff backoff_{clean_up_backoff};
};

// An observer that throws harms nobody: what it throws leaves in an event of its own.
lease_counters::callback harmless(asio::any_io_executor const& executor,
                                  lease_counters::callback on_event) {
  if (!on_event) return {};
  return [executor, on_event = std::move(on_event)](lease_event const& what) {
    try {
      on_event(what);
    } catch (...) {
      detail::rethrow_later(executor);
    }
  };
}

}  // namespace

store_core::store_core(asio::any_io_executor executor, backend ports,
                       lease_counters::callback on_event)
    : executor_(std::move(executor)),
      ports_(std::move(ports)),
      traits_(ports_.traits),
      display_name_(ports_.display_name),
      keeps_values_(ports_.values != nullptr),
      pushes_changes_(ports_.tracking != nullptr),
      warnings_(ports_.warnings ? ports_.warnings : std::make_shared<store_warnings>()),
      timers_(std::make_shared<timer_queue>(executor_)),
      counters_(harmless(executor_, std::move(on_event))) {
  timers_->start();
  if (!ports_.leases) return;
  ports_.leases->on_lease_end([weak = std::weak_ptr(roll_)](lease_end const& what) {
    if (auto const roll = weak.lock()) roll->tell(what);
  });
  ports_.leases->on_new_connection([weak = std::weak_ptr(roll_)] {
    if (auto const roll = weak.lock()) roll->renew_all(clock::now(), random_unit());
  });
}

store_core::~store_core() {
  timers_->close();
  roll_->close();
}

store_metrics store_core::metrics() const {
  auto all = counters_.read(display_name_);
  caches_.read(all);
  return all;
}

failure store_core::closed_failure() const {
  return make_failure(errc::canceled, "store " + display_name_ + " is closed");
}

void store_core::clean_up(acquire_request what, arrival request) {
  if (!ports_.leases || clean_ups_ >= max_clean_ups) return;
  std::make_shared<clean_up_job>(shared_from_this(), std::move(what), request, clean_ups_)->run();
}

void store_core::give_back_ended() {
  if (--closing_.giving_back == 0 && closing_.leases_ended) shut_down();
}

void store_core::campaign_ended() {
  if (--closing_.campaigns == 0 && closing_.begun) end_leases();
}

void store_core::close(std::function<void()> closed) {
  if (closing_.over) return closed();
  closing_.to_tell.push_back(std::move(closed));
  if (std::exchange(closing_.begun, true)) return;
  ++closing_.campaigns;  // not before all have been told
  while (!listeners_.empty()) {
    auto& listener = listeners_.front();
    listener.unlink();
    listener.on_closing();
  }
  close_within_limit(&store_core::end_leases);
  campaign_ended();
}

void store_core::end_leases() {
  if (std::exchange(closing_.leases_ended, true)) return;
  ++closing_.giving_back;  // not before all have been told
  roll_->tell_closing();
  bool const may_have_sent = !ports_.leases || ports_.leases->may_have_sent();
  if (--closing_.giving_back == 0 || !may_have_sent) return shut_down();
  close_within_limit(&store_core::shut_down);
}

void store_core::close_within_limit(void (store_core::*next)()) {
  closing_.timer.emplace(executor_, close_limit);
  closing_.timer->async_wait([weak = weak_from_this(), next](boost::system::error_code const& ec) {
    if (auto self = weak.lock(); self && !ec) ((*self).*next)();
  });
}

void store_core::shut_down() {
  if (std::exchange(closing_.over, true)) return;
  // From here on nothing of Asio's is left in here: a caller's last reference may go after the
  // store's thread and its io_context.
  closing_.timer.reset();
  timers_->close();
  roll_->close();
  // Out of the members first: what the stores' destructors complete may look at this object.
  auto ports = std::exchange(ports_, backend{});
  ports = {};
  for (auto const& closed : std::exchange(closing_.to_tell, {})) closed();
}

}  // namespace herdlock::runtime
