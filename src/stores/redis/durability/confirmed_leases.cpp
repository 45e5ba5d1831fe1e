#include "stores/redis/durability/confirmed_leases.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "stores/common/pending.hpp"

namespace herdlock::redis {
namespace {

failure about(std::string_view verb, resource const& name, failure const& why) {
  return failure{
      why.code, "cannot " + std::string(verb) + " " + in_quotes(name.str()) + " at " + why.message};
}

// From the inner store's answer to ours; its caller may cancel in between.
template <class Reply>
class confirmed_operation : public std::enable_shared_from_this<confirmed_operation<Reply>> {
 public:
  confirmed_operation(asio::any_io_executor executor, handler<Reply> done)
      : executor_(std::move(executor)), caller_(std::move(done)) {}

  void listen_to_cancellation() {
    caller_.on_cancel([weak = this->weak_from_this()] {
      if (auto const self = weak.lock()) self->cancel();
    });
  }

  asio::cancellation_slot inner_slot() { return cancel_inner_.slot(); }

  void complete(result<Reply> outcome) { caller_.post(executor_, std::move(outcome)); }

  /// The inner store has answered: from here on a cancellation ends the call by itself.
  void inner_done() { confirming_ = true; }

 private:
  void cancel() {
    if (!confirming_) return cancel_inner_.emit(asio::cancellation_type::all);
    complete(make_failure(errc::canceled, "cancelled by the caller"));
  }

  asio::any_io_executor executor_;
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
    if (auto why = refusal(request.ttl); why.code) {
      return refuse(about("acquire", request.name, why), std::move(done));
    }
    if (confirmed_->quarantined() > milliseconds{0}) {
      return refuse(about("acquire", request.name, confirmed_->in_quarantine()), std::move(done));
    }
    auto call = std::make_shared<confirmed_operation<acquire_reply>>(confirmed_->executor(),
                                                                     std::move(done));
    call->listen_to_cancellation();
    auto on_reply = [call, with = confirmed_, name = request.name,
                     owner = request.owner](result<acquire_reply> reply) {
      call->inner_done();
      bool const granted = reply.has_value() && std::holds_alternative<grant>(*reply);
      if (!granted) return call->complete(std::move(reply));
      with->confirm(what_happened::granted, name, owner, [call, name, reply](failure const& why) {
        if (why.code) return call->complete(about("acquire", name, why));
        call->complete(reply);
      });
    };
    inner_->acquire(std::move(request),
                    asio::bind_cancellation_slot(call->inner_slot(), std::move(on_reply)));
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    if (auto why = refusal(ttl); why.code) {
      return refuse(about("renew", name, why), std::move(done));
    }
    auto call =
        std::make_shared<confirmed_operation<renew_reply>>(confirmed_->executor(), std::move(done));
    call->listen_to_cancellation();
    auto on_reply = [call, with = confirmed_, name, owner](result<renew_reply> reply) {
      call->inner_done();
      bool const renewed = reply.has_value() && *reply == renew_reply::renewed;
      if (!renewed) return call->complete(std::move(reply));
      with->confirm(what_happened::renewed, name, owner, [call, name](failure const& why) {
        if (why.code) return call->complete(about("renew", name, why));
        call->complete(renew_reply::renewed);
      });
    };
    inner_->renew(std::move(name), std::move(owner), ttl,
                  asio::bind_cancellation_slot(call->inner_slot(), std::move(on_reply)));
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
