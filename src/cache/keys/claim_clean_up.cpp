#include "cache/keys/claim_clean_up.hpp"

#include <boost/asio/steady_timer.hpp>

#include "algo/backoff.hpp"
#include "runtime/random.hpp"

namespace herdlock::runtime {
namespace {

constexpr algo::backoff_options retry_backoff{milliseconds{50}, std::chrono::seconds{2}};

class claim_clean_up final : public closing_listener,
                             public std::enable_shared_from_this<claim_clean_up> {
 public:
  claim_clean_up(std::shared_ptr<store_core> home, std::shared_ptr<cache_store> over_locks,
                 claim_request claim)
      : home_(std::move(home)),
        over_locks_(std::move(over_locks)),
        claim_(std::move(claim)),
        bracket_(*home_),
        until_(clock::now() + claim_.ttl),
        timer_(home_->executor()) {
    if (!home_->closing()) home_->tell_when_closing(*this);
  }

  // A try that is under way goes on; no more of them are made.
  void on_closing() override { timer_.cancel(); }

  void run() {
    cache_store* const claims = over_locks_ ? over_locks_.get() : home_->values().get();
    if (!claims) return;
    auto on_reply = [self = shared_from_this()](result<fill_reply> reply) {
      bool const in_time = clock::now() < self->until_ && !self->home_->closing();
      if (reply.has_error() && in_time) self->again();
    };
    claims->fail(claim_.key, claim_.owner, std::string(), milliseconds{0}, std::move(on_reply));
  }

 private:
  void again() {
    timer_.expires_after(backoff_.next(random_unit()));
    timer_.async_wait([self = shared_from_this()](boost::system::error_code const& ec) {
      if (!ec) self->run();
    });
  }

  std::shared_ptr<store_core> home_;
  std::shared_ptr<cache_store> over_locks_;
  claim_request claim_;
  give_back_bracket bracket_;
  clock::time_point until_;
  asio::steady_timer timer_;
  algo::backoff backoff_{retry_backoff};
};

}  // namespace

void start_claim_clean_up(std::shared_ptr<store_core> home, std::shared_ptr<cache_store> over_locks,
                          claim_request const& claim) {
  std::make_shared<claim_clean_up>(std::move(home), std::move(over_locks), claim)->run();
}

}  // namespace herdlock::runtime
