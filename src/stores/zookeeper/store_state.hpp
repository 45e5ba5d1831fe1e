// What the entries of one store share: the session, who waits for which node, their table.
#pragma once

#include <map>
#include <unordered_map>

#include "stores/common/lease_ends.hpp"
#include "stores/zookeeper/queue_entry.hpp"

namespace herdlock::zookeeper {

/// All on the executor, but for the constructor and close_session().
class store_state final : public std::enable_shared_from_this<store_state> {
 public:
  store_state(std::shared_ptr<stores::pending_operations> pending, settings how)
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

  std::shared_ptr<queue_entry> find(resource const& name, owner_token const& owner) const;
  /// At the entry of the waiter's owner, made if there is none.
  void enqueue(std::shared_ptr<waiter> const& one);
  void remove(queue_entry const& one);

  void watch(std::string const& path, std::weak_ptr<queue_entry> who);
  void unwatch(std::string const& path, queue_entry const* who);

  // What becomes of the session:
  void on_connected();     ///< the first time, and again
  void on_session_lost();  ///< with all of its nodes and watches
  void on_watch_event(std::string const& path, watch_event what);

  /// What an operation fails with.
  failure explain(int code, std::string const& path) const;

 private:
  using key = std::pair<std::string, std::string>;

  std::shared_ptr<stores::pending_operations> const pending_;
  settings const settings_;
  stores::lease_ends ends_;
  std::shared_ptr<session> session_;
  std::map<key, std::shared_ptr<queue_entry>> entries_;
  std::unordered_multimap<std::string, std::weak_ptr<queue_entry>> watchers_;
};

}  // namespace herdlock::zookeeper
