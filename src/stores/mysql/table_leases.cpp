#include "stores/mysql/table_leases.hpp"

namespace herdlock::mysql {
namespace {

using stores::order;

class table_leases final : public lease_store {
 public:
  explicit table_leases(std::shared_ptr<engine> with) : with_(std::move(with)) {}
  ~table_leases() override { with_->close(); }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    failure bad = check_ttl(request.ttl);
    order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    begin(with_, std::move(what), std::move(bad),
          [with = with_.get(), request = std::move(request)](connection& db) {
            return result<acquire_reply>(take(db, *with, request));
          });
    sweep_sometimes();
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    order<renew_reply> what{"renew", name.str(), std::move(done)};
    acquire_request request{std::move(name), std::move(owner), ttl};
    begin(with_, std::move(what), check_ttl(ttl),
          [with = with_.get(), request = std::move(request)](connection& db) {
            return result<renew_reply>(renew_row(db, with->how, request));
          });
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    order<release_reply> what{"release", name.str(), std::move(done)};
    begin(with_, std::move(what), {}, [with = with_.get(), name, owner](connection& db) {
      return result<release_reply>(free_row(db, with->how, name, owner));
    });
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    order<std::optional<lease_info>> what{"inspect", name.str(), std::move(done)};
    begin(with_, std::move(what), {}, [with = with_.get(), name](connection& db) {
      return result<std::optional<lease_info>>(inspect_row(db, with->how, name));
    });
  }

  void force_release(resource name, handler<release_reply> done) override {
    order<release_reply> what{"force release of", name.str(), std::move(done)};
    begin(with_, std::move(what), {}, [with = with_.get(), name](connection& db) {
      return result<release_reply>(free_row(db, with->how, name, std::nullopt));
    });
  }

  void list(list_request request, handler<lease_page> done) override {
    order<lease_page> what{"list", "leases", std::move(done)};
    begin(with_, std::move(what), {},
          [with = with_.get(), request = std::move(request)](connection& db) {
            return result<lease_page>(list_rows(db, with->how, request.cursor, page_size(request)));
          });
  }

 private:
  // As if it were free, unless it was not of late; a wrong guess costs a round trip.
  static acquire_reply take(connection& db, engine& with, acquire_request const& request) {
    auto& busy_lately =
        with.busy_lately.at(std::hash<std::string>{}(request.name.str()) % with.busy_lately.size());
    if (!busy_lately) {
      if (auto const got = grab_row(db, with.how, request)) return *got;
    }
    auto reply = take_row(db, with.how, request);
    busy_lately = std::holds_alternative<busy>(reply);
    return reply;
  }

  void sweep_sometimes() {
    if (++with_->grants % grants_per_sweep != 0) return;
    with_->jobs.add([raw = with_.get()] { sweep(*raw); });
  }

  std::shared_ptr<engine> with_;
};

}  // namespace

std::shared_ptr<lease_store> make_table_leases(std::shared_ptr<engine> with) {
  return std::make_shared<table_leases>(std::move(with));
}

}  // namespace herdlock::mysql
