#include "runtime/store_core.hpp"

#include "algo/backoff.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

constexpr algo::backoff_options clean_up_backoff{milliseconds{50}, std::chrono::seconds{2}};

// One release with an unknown need, repeated until the store has answered or the ttl is over.
class clean_up_job : public std::enable_shared_from_this<clean_up_job> {
 public:
  clean_up_job(std::shared_ptr<store_core> home, acquire_request what, std::function<void()> done)
      : home_(std::move(home)),
        what_(std::move(what)),
        done_(std::move(done)),
        until_(clock::now() + what_.ttl),
        timer_(home_->executor()) {}

  void run() {
    auto const& leases = home_->leases();
    if (!leases) return done_();
    auto on_reply = [self = shared_from_this()](result<release_reply> reply) {
      if (reply.has_value() || clock::now() >= self->until_) return self->done_();
      self->again();
    };
    leases->release(what_.name, what_.owner, std::move(on_reply));
  }

 private:
  void again() {
    timer_.expires_after(backoff_.next(random_unit()));
    timer_.async_wait([self = shared_from_this()](boost::system::error_code const& ec) {
      if (ec) return self->done_();
      self->run();
    });
  }

  std::shared_ptr<store_core> home_;
  acquire_request what_;
  std::function<void()> done_;
  clock::time_point until_;
  asio::steady_timer timer_;
  algo::backoff backoff_{clean_up_backoff};
};

}  // namespace

store_core::store_core(asio::any_io_executor executor, backend ports)
    : executor_(std::move(executor)),
      ports_(std::move(ports)),
      traits_(ports_.traits),
      display_name_(ports_.display_name),
      keeper_(std::make_shared<lease_keeper>(executor_)),
      close_timer_(executor_) {
  keeper_->start();
}

store_core::~store_core() { keeper_->close(); }

failure store_core::closed_failure() const {
  return make_failure(errc::canceled, "store " + display_name_ + " is closed");
}

void store_core::clean_up(resource name, owner_token owner, milliseconds ttl) {
  if (!ports_.leases || clean_ups_ >= max_clean_ups) return;
  ++clean_ups_;
  give_back_begun();
  auto done = [self = shared_from_this()] {
    --self->clean_ups_;
    self->give_back_ended();
  };
  acquire_request what{std::move(name), std::move(owner), ttl, milliseconds{0}};
  std::make_shared<clean_up_job>(shared_from_this(), std::move(what), std::move(done))->run();
}

void store_core::give_back_ended() {
  if (--giving_back_ == 0 && on_closed_) shut_down();
}

void store_core::close(std::function<void()> closed) {
  on_closed_ = std::move(closed);
  if (giving_back_ == 0) return shut_down();
  close_timer_.expires_after(close_grace);
  close_timer_.async_wait([weak = weak_from_this()](boost::system::error_code const& ec) {
    if (auto self = weak.lock(); self && !ec) self->shut_down();
  });
}

void store_core::shut_down() {
  auto const closed = std::exchange(on_closed_, nullptr);
  if (!closed) return;
  close_timer_.cancel();
  keeper_->close();
  // Out of the members first: what the stores' destructors complete may look at this object.
  auto const ports = std::exchange(ports_, backend{});
  closed();
}

}  // namespace herdlock::runtime
