#include "stores/zookeeper/store_state.hpp"

#include <zookeeper/zookeeper.h>

namespace herdlock::zookeeper {

void store_state::start() {
  session_ = std::make_shared<session>(pending_->executor(), settings_, weak_from_this());
  session_->start();
}

void store_state::close() {
  pending_->close();
  entries_.clear();
  watchers_.clear();
}

std::string store_state::path_of(resource const& name) const {
  return settings_.chroot + "/" + component_of(name);
}

std::shared_ptr<queue_entry> store_state::find(resource const& name,
                                               owner_token const& owner) const {
  auto const found = entries_.find({name.str(), owner.str()});
  return found == entries_.end() ? nullptr : found->second;
}

void store_state::enqueue(std::shared_ptr<waiter> const& one) {
  auto& entry = entries_[{one->request.name.str(), one->request.owner.str()}];
  if (!entry) entry = std::make_shared<queue_entry>(shared_from_this(), one->request);
  auto const who = entry;  // it may leave at once
  who->join(one);
}

void store_state::remove(queue_entry const& one) {
  auto const found = entries_.find({one.name().str(), one.owner().str()});
  if (found != entries_.end() && found->second.get() == &one) entries_.erase(found);
}

void store_state::watch(std::string const& path, std::weak_ptr<queue_entry> who) {
  watchers_.emplace(path, std::move(who));
}

void store_state::unwatch(std::string const& path, queue_entry const* who) {
  auto const [first, last] = watchers_.equal_range(path);
  for (auto each = first; each != last; ++each) {
    auto const alive = each->second.lock();
    if (alive.get() != who && alive) continue;
    watchers_.erase(each);
    return;
  }
}

void store_state::on_watch_event(std::string const& path, watch_event what) {
  std::vector<std::weak_ptr<queue_entry>> told;
  auto const [first, last] = watchers_.equal_range(path);
  for (auto each = first; each != last; ++each) told.push_back(each->second);
  for (auto const& one : told) {
    if (auto alive = one.lock()) alive->on_watch_event(path, what);
  }
}

// They may leave meanwhile.
void store_state::on_connected() {
  for (auto const& [ignored, one] : std::map(entries_)) one->on_connected();
}
void store_state::on_session_lost() {
  for (auto const& [ignored, one] : std::map(entries_)) one->on_session_lost();
}

failure store_state::explain(int code, std::string const& path) const {
  auto const& where = settings_.display_name;
  switch (code) {
    case ZNOAUTH:
      return make_failure(errc::access_denied,
                          where + " gives no right to do that at " + path +
                              "; check user, password and the access list of that node");
    case ZAUTHFAILED: {
      bool const login = session_->refusal().find("login") != std::string::npos;
      errc const other = session_->connected() ? errc::invalid_url : errc::unavailable;
      return make_failure(login ? errc::access_denied : other, where + ": " + session_->refusal());
    }
    case ZCONNECTIONLOSS:
      return make_failure(errc::unavailable,
                          where + ": the connection was lost; is the server running?");
    case ZSESSIONEXPIRED:
      return make_failure(errc::unavailable, where + ": the session was ended");
    default:
      return make_failure(errc::protocol, where + " answers at " + path + ": " + zerror(code));
  }
}

}  // namespace herdlock::zookeeper
