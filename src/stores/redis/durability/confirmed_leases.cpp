#include "stores/redis/durability/confirmed_leases.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "stores/common/pending.hpp"

namespace herdlock::redis {
namespace {

struct lease_in_question {
  what_happened what;
  resource name;
  owner_token owner;

  failure about(failure const& why) const {
    std::string const verb = what == what_happened::granted ? "acquire" : "renew";
    return failure{why.code, "cannot " + verb + " " + in_quotes(name.str()) + " at " + why.message};
  }
};

bool is_to_be_confirmed(acquire_reply const& told) { return std::holds_alternative<grant>(told); }
bool is_to_be_confirmed(renew_reply told) { return told == renew_reply::renewed; }

// From the inner store's answer to ours; its caller may cancel in between.
template <class Reply>
class confirmed_operation : public std::enable_shared_from_this<confirmed_operation<Reply>> {
 public:
  confirmed_operation(std::shared_ptr<confirmation> with, lease_in_question lease,
                      handler<Reply> done)
      : with_(std::move(with)), lease_(std::move(lease)), caller_(std::move(done)) {}

  /// What the inner store is to call.
  handler<Reply> inner_handler() {
    caller_.on_cancel([weak = this->weak_from_this()] {
      if (auto const self = weak.lock()) self->cancel();
    });
    auto on_reply = [self = this->shared_from_this()](result<Reply> told) {
      self->on_reply(std::move(told));
    };
    return asio::bind_cancellation_slot(cancel_inner_.slot(), std::move(on_reply));
  }

 private:
  // From here on a cancellation ends the call by itself.
  void on_reply(result<Reply> told) {
    confirming_ = true;
    if (!told || !is_to_be_confirmed(*told)) return complete(std::move(told));
    with_->confirm(lease_.what, lease_.name, lease_.owner,
                   [self = this->shared_from_this(), told](failure const& why) {
                     if (why.code) return self->complete(self->lease_.about(why));
                     self->complete(told);
                   });
  }

  void cancel() {
    if (!confirming_) return cancel_inner_.emit(asio::cancellation_type::all);
    complete(make_failure(errc::canceled, "cancelled by the caller"));
  }

  void complete(result<Reply> outcome) { caller_.post(with_->executor(), std::move(outcome)); }

  std::shared_ptr<confirmation> with_;
  lease_in_question lease_;
  stores::pending<Reply> caller_;
  asio::cancellation_signal cancel_inner_;
  bool confirming_ = false;
};

class confirmed_leases final : public lease_store {
 public:
  confirmed_leases(std::shared_ptr<lease_store> inner, std::shared_ptr<confirmation> confirmed,
                   settings const& how)
      : inner_(std::move(inner)),
        confirmed_(std::move(confirmed)),
        store_(how.display_name),
        quarantine_(how.durable.quarantine) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    lease_in_question lease{what_happened::granted, request.name, request.owner};
    auto why = refusal(request.ttl);
    bool const too_early = confirmed_->quarantined() > milliseconds{0};
    if (!why.code && too_early) why = confirmed_->in_quarantine();
    if (why.code) return refuse(lease.about(why), std::move(done));
    auto const one = std::make_shared<confirmed_operation<acquire_reply>>(
        confirmed_, std::move(lease), std::move(done));
    inner_->acquire(std::move(request), one->inner_handler());
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    lease_in_question lease{what_happened::renewed, name, owner};
    if (auto why = refusal(ttl); why.code) return refuse(lease.about(why), std::move(done));
    auto const one = std::make_shared<confirmed_operation<renew_reply>>(
        confirmed_, std::move(lease), std::move(done));
    inner_->renew(std::move(name), std::move(owner), ttl, one->inner_handler());
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    inner_->release(std::move(name), std::move(owner), std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    inner_->inspect(std::move(name), std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    inner_->force_release(std::move(name), std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    inner_->list(std::move(request), std::move(done));
  }

 private:
  failure refusal(milliseconds ttl) const {
    if (quarantine_ == milliseconds{0} || ttl <= quarantine_) return {};
    return make_failure(errc::invalid_ttl,
                        store_ + ": a ttl of " + std::to_string(ttl.count()) +
                            " ms is longer than the quarantine of a new master, " +
                            std::to_string(quarantine_.count()) +
                            " ms; raise quarantine_ttl, in all clients");
  }

  template <class T>
  void refuse(failure const& why, handler<T> done) {
    detail::post_result(confirmed_->executor(), std::move(done), result<T>(why));
  }

  std::shared_ptr<lease_store> inner_;
  std::shared_ptr<confirmation> confirmed_;
  std::string store_;
  milliseconds quarantine_;
};

}  // namespace

std::shared_ptr<lease_store> make_confirmed_leases(std::shared_ptr<lease_store> inner,
                                                   std::shared_ptr<confirmation> confirmed,
                                                   settings const& how) {
  return std::make_shared<confirmed_leases>(std::move(inner), std::move(confirmed), how);
}

}  // namespace herdlock::redis
