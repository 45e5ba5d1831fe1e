// An owner's node among the children of a resource: made, found again when the answer was lost,
// removed.
#pragma once

#include <optional>

#include <herdlock/backend.hpp>
#include "stores/zookeeper/names.hpp"
#include "stores/zookeeper/session.hpp"

namespace herdlock::zookeeper {

class queue_entry;
class store_state;

/// Every step is one request; ZCONNECTIONLOSS repeats it when there is a connection again, but for
/// the making, whose outcome is looked up first. A later step makes the answers to earlier ones
/// void, also to what others ask for the node.
class own_node {
 public:
  own_node(store_state& store, queue_entry& entry, acquire_request const& request);

  resource const& name() const { return name_; }
  owner_token const& owner() const { return owner_; }
  std::string const& parent() const { return parent_; }
  std::string path() const { return path_of(node_); }
  std::string path_of(std::string const& node) const { return parent_ + "/" + node; }
  /// Its name; empty while that is unknown.
  std::string const& node() const { return node_; }
  fencing_token fencing() const { return fencing_; }
  /// Its making waits for a connection.
  bool still_parked() const;

  /// Who has it: handlers are not called once that has gone.
  void belong_to(std::weak_ptr<void> holder) { holder_ = std::move(holder); }
  std::weak_ptr<void> const& holder() const { return holder_; }
  /// The session that it belongs to.
  std::uint64_t session_number() const { return session_; }

  /// The number of the step that begins.
  std::uint64_t begin() { return ++turn_; }
  std::uint64_t turn() const { return turn_; }
  /// In the present step.
  void ask(request what, reply_handler done);
  /// As a step of its own: what was asked before is void.
  void ask_next(verb what, std::string const& path, reply_handler done);

  void make(naming how, milliseconds ttl);
  /// It is not there any more, with the session.
  void forget();
  /// Removes it, as soon as its name is known, with the mark that belongs to it, if any.
  void remove(std::string mark);
  /// Those of ours that we had given up for never made.
  void remove_ghosts(std::vector<std::string> const& children);

 private:
  void on_made(reply answer);
  void make_parent();
  void search();
  void on_searched(reply answer);
  void on_identified(reply answer);
  void remove_now();
  void on_removed(reply const& answer);

  session& ensemble_;
  queue_entry& entry_;  ///< hears what becomes of it
  resource const name_;
  owner_token const owner_;
  std::string const parent_;

  std::weak_ptr<void> holder_;
  std::uint64_t turn_ = 0;  ///< of the present step
  std::uint64_t session_ = 0;
  std::string node_;
  fencing_token fencing_{};
  std::string mark_;                        ///< to be removed with it
  std::optional<std::uint64_t> parked_at_;  ///< connections() when the making had to wait
  bool leaving_ = false;
  bool doubtful_ = false;     ///< a making had no answer: there may be a node that is not known
  bool removal_cut_ = false;  ///< a removal had no answer: that may be why the node is not there
};

}  // namespace herdlock::zookeeper
