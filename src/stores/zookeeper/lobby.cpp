#include "stores/zookeeper/lobby.hpp"

#include <zookeeper/zookeeper.h>

namespace herdlock::zookeeper {

void lobby::start() {
  session_ = std::make_shared<session>(pending_->executor(), settings_, weak_from_this());
  session_->start();
}

void lobby::close() {
  pending_->close();
  contenders_.clear();
  watchers_.clear();
}

std::string lobby::path_of(resource const& name) const {
  return settings_.chroot + "/" + component_of(name);
}

std::shared_ptr<contender> lobby::find(resource const& name, owner_token const& owner) const {
  auto const found = contenders_.find({name.str(), owner.str()});
  return found == contenders_.end() ? nullptr : found->second;
}

void lobby::contend(std::shared_ptr<acquire_operation> const& one) {
  auto& place = contenders_[{one->request.name.str(), one->request.owner.str()}];
  if (!place) place = std::make_shared<contender>(shared_from_this(), one->request);
  auto const who = place;  // it may leave at once
  who->join(one);
}

void lobby::remove(contender const& one) {
  auto const found = contenders_.find({one.name().str(), one.owner().str()});
  if (found != contenders_.end() && found->second.get() == &one) contenders_.erase(found);
}

void lobby::watch(std::string const& path, std::weak_ptr<contender> who) {
  watchers_.emplace(path, std::move(who));
}

void lobby::unwatch(std::string const& path, contender const* who) {
  auto const [first, last] = watchers_.equal_range(path);
  for (auto each = first; each != last; ++each) {
    auto const alive = each->second.lock();
    if (alive.get() != who && alive) continue;
    watchers_.erase(each);
    return;
  }
}

void lobby::on_node_event(std::string const& path, node_event what) {
  std::vector<std::weak_ptr<contender>> told;
  auto const [first, last] = watchers_.equal_range(path);
  for (auto each = first; each != last; ++each) told.push_back(each->second);
  for (auto const& one : told) {
    if (auto alive = one.lock()) alive->on_watch(path, what);
  }
}

std::vector<std::shared_ptr<contender>> lobby::everyone() const {
  std::vector<std::shared_ptr<contender>> all;
  all.reserve(contenders_.size());
  for (auto const& [ignored, one] : contenders_) all.push_back(one);
  return all;
}

void lobby::on_connected() {
  for (auto const& one : everyone()) one->on_connected();
}

void lobby::on_session_lost() {
  for (auto const& one : everyone()) one->on_session_lost();
}

std::pair<errc, std::string> lobby::meaning(int code, std::string const& path) const {
  auto const& where = settings_.display_name;
  switch (code) {
    case ZNOAUTH:
      return {errc::access_denied, where + " gives no right to do that at " + path +
                                       "; check user, password and the access list of that node"};
    case ZAUTHFAILED:
      if (session_->refusal().find("login") != std::string::npos) {
        return {errc::access_denied, where + ": " + session_->refusal()};
      }
      if (session_->connected()) return {errc::invalid_url, where + ": " + session_->refusal()};
      return {errc::unavailable, where + ": " + session_->refusal()};
    case ZCONNECTIONLOSS:
      return {errc::unavailable, where + ": the connection was lost; is the server running?"};
    case ZSESSIONEXPIRED:
      return {errc::unavailable, where + ": the session was ended"};
    default:
      return {errc::protocol, where + " answers at " + path + ": " + zerror(code)};
  }
}

}  // namespace herdlock::zookeeper
