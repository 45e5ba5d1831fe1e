#include "stores/mysql/session_leases.hpp"

#include "stores/mysql/seat.hpp"

namespace herdlock::mysql {
namespace {

using stores::order;

// An operation that a seat completes.
template <class T>
class errand final : public stores::operation<T> {
 public:
  errand(std::shared_ptr<engine> const& with, order<T> what)
      : stores::operation<T>(with->pending, std::move(what), clock::now() + with->how.timeout) {}
};

class session_leases final : public lease_store {
 public:
  explicit session_leases(std::shared_ptr<hall> place) : hall_(std::move(place)) {}

  // What the sessions hold is free as soon as the server sees them go.
  ~session_leases() override {
    hall_->with->close();
    asio::post(hall_->with->pending->executor(), [place = hall_] {
      auto const all = std::move(place->seats);
      place->seats.clear();
      for (auto const& [name, each] : all) each->close();
    });
  }

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    order<acquire_reply> what{"acquire", request.name.str(), std::move(done)};
    if (refused(hall_->with, what, check_ttl(request.ttl))) return;
    resource const name = request.name;
    auto const who = std::make_shared<candidate>(hall_->with, std::move(request), std::move(what));
    if (!who->admit()) return;
    seat_of(name)->ask(who);
    if (++hall_->with->grants % grants_per_sweep != 0) return;
    hall_->with->jobs.add([raw = hall_->with.get(), name] { sweep(*raw, name); });
  }

  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    order<renew_reply> what{"renew", name.str(), std::move(done)};
    if (refused(hall_->with, what, check_ttl(ttl))) return;
    auto const op = std::make_shared<errand<renew_reply>>(hall_->with, std::move(what));
    if (!op->admit()) return;
    auto const found = hall_->seats.find(name.str());
    if (found == hall_->seats.end()) return op->complete_later(renew_reply::lost);
    auto const keep = found->second;
    keep->renew(op, owner, ttl);
  }

  void release(resource name, owner_token owner, handler<release_reply> done) override {
    order<release_reply> what{"release", name.str(), std::move(done)};
    auto const op = std::make_shared<errand<release_reply>>(hall_->with, std::move(what));
    if (!op->admit()) return;
    auto const found = hall_->seats.find(name.str());
    if (found == hall_->seats.end()) return op->complete_later(release_reply::lost);
    auto const keep = found->second;
    keep->release(op, owner);
  }

  void on_lease_end(std::function<void(lease_end const&)> told) override {
    hall_->ends.listen(std::move(told));
  }

  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    order<std::optional<lease_info>> what{"inspect", name.str(), std::move(done)};
    begin(hall_->with, std::move(what), [raw = hall_.get(), name](connection& db) {
      return result<std::optional<lease_info>>(raw->protocol->inspect(db, name));
    });
  }

  void force_release(resource name, handler<release_reply> done) override {
    order<release_reply> what{"force release of", name.str(), std::move(done)};
    begin(hall_->with, std::move(what), [raw = hall_.get(), name](connection& db) {
      auto const deadline = clock::now() + raw->with->how.timeout / 2;
      bool const ended = raw->protocol->force_release(db, name, deadline);
      asio::post(raw->with->pending->executor(), [weak = raw->weak_from_this(), name] {
        auto const place = weak.lock();
        auto const found = place ? place->seats.find(name.str()) : decltype(place->seats.end()){};
        if (place && found != place->seats.end()) std::shared_ptr(found->second)->check();
      });
      return result<release_reply>(ended ? release_reply::released : release_reply::lost);
    });
  }

  // A holder that died leaves its row behind: each is looked at.
  void list(list_request request, handler<lease_page> done) override {
    order<lease_page> what{"list", "leases", std::move(done)};
    begin(hall_->with, std::move(what),
          [raw = hall_.get(), request = std::move(request)](connection& db) {
            auto const most = std::min(page_size(request), limits::max_listed);
            auto page = list_rows(db, raw->with->how, request.cursor, most);
            std::erase_if(page.names,
                          [&](resource const& name) { return !raw->protocol->is_held(db, name); });
            return result<lease_page>(std::move(page));
          });
  }

 private:
  std::shared_ptr<seat> seat_of(resource const& name) {
    auto& place = hall_->seats[name.str()];
    if (!place) place = std::make_shared<seat>(hall_, name);
    return place;
  }

  std::shared_ptr<hall> hall_;
};

}  // namespace

std::shared_ptr<lease_store> make_session_leases(std::shared_ptr<engine> with,
                                                 std::unique_ptr<session_protocol> protocol) {
  auto place = std::make_shared<hall>(std::move(with), std::move(protocol));
  return std::make_shared<session_leases>(std::move(place));
}

}  // namespace herdlock::mysql
