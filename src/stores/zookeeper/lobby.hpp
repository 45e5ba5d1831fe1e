// What the contenders of one store share: the session, who waits for which node, their table.
#pragma once

#include <map>
#include <unordered_map>

#include "stores/common/lease_ends.hpp"
#include "stores/zookeeper/contender.hpp"

namespace herdlock::zookeeper {

/// All on the executor, but for the constructor and close_session().
class lobby final : public session_user, public std::enable_shared_from_this<lobby> {
 public:
  lobby(std::shared_ptr<stores::pending_operations> pending, settings how)
      : pending_(std::move(pending)), settings_(std::move(how)), ends_(pending_->executor()) {}

  void start();
  /// From any thread: nothing is sent any more, and the ensemble ends the session.
  void close_session() { session_->close(); }
  void close();

  session& ensemble() { return *session_; }
  settings const& how() const { return settings_; }
  stores::lease_ends& ends() { return ends_; }
  std::shared_ptr<stores::pending_operations> const& pending() const { return pending_; }
  std::string path_of(resource const& name) const;

  std::shared_ptr<contender> find(resource const& name, owner_token const& owner) const;
  /// The contender of the operation's owner, made if there is none.
  void contend(std::shared_ptr<acquire_operation> const& one);
  void remove(contender const& one);

  void watch(std::string const& path, std::weak_ptr<contender> who);
  void unwatch(std::string const& path, contender const* who);

  /// What an operation fails with.
  template <class T>
  failure explain(stores::operation<T> const& one, int code, std::string const& path) const {
    auto const [what, why] = meaning(code, path);
    return one.failure_of(what, why);
  }

 private:
  using key = std::pair<std::string, std::string>;
  std::pair<errc, std::string> meaning(int code, std::string const& path) const;

  void on_connected() override;
  void on_session_lost() override;
  void on_node_event(std::string const& path, node_event what) override;
  std::vector<std::shared_ptr<contender>> everyone() const;

  std::shared_ptr<stores::pending_operations> const pending_;
  settings const settings_;
  stores::lease_ends ends_;
  std::shared_ptr<session> session_;
  std::map<key, std::shared_ptr<contender>> contenders_;
  std::unordered_multimap<std::string, std::weak_ptr<contender>> watchers_;
};

}  // namespace herdlock::zookeeper
