#include "stores/zookeeper/own_node.hpp"

#include <zookeeper/zookeeper.h>

#include <utility>

#include "stores/zookeeper/parents.hpp"
#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {

own_node::own_node(store_state& store, node_listener& listener, acquire_request const& request)
    : ensemble_(store.ensemble()),
      listener_(listener),
      name_(request.name),
      owner_(request.owner),
      parent_(store.path_of(request.name)) {}

void own_node::ask(request what, reply_handler done) {
  ensemble_.call(std::move(what), holder_,
                 [this, holder = holder_, done = std::move(done), turn = turn_](reply answer) {
                   auto const alive = holder.lock();
                   if (alive && turn_ == turn) done(std::move(answer));
                 });
}

void own_node::ask_next(verb what, std::string const& path, reply_handler done) {
  begin();
  ask({what, path, {}, session_}, std::move(done));
}

void own_node::make(naming how, milliseconds ttl) {
  node_.clear();
  begin();
  parked_at_.reset();
  if (!ensemble_.connected()) parked_at_ = ensemble_.connections();
  ask({verb::create, path_of(prefix_of(owner_, how)), encode(owner_, ttl)},
      [this](reply answer) { on_made(std::move(answer)); });
}

bool own_node::still_parked() const { return parked_at_ && *parked_at_ == ensemble_.connections(); }

void own_node::on_made(reply answer) {
  session_ = answer.session;
  switch (answer.code) {
    case ZOK:
      node_ = answer.text.substr(answer.text.rfind('/') + 1);
      fencing_ = answer.fencing;
      return leaving_ ? remove_now() : listener_.on_node_made();
    case ZCONNECTIONLOSS:
      doubtful_ = true;
      return search();
    case ZNONODE:
      return leaving_ ? listener_.be_gone() : make_parent();
    case ZSESSIONEXPIRED:
      return;  // the session's own event says what follows
    default:
      return listener_.fail_and_leave(answer.code, parent_);
  }
}

void own_node::make_parent() {
  make_parents(ensemble_, parent_, holder_,
               [this, holder = holder_, turn = begin()](int code, std::string const& path) {
                 auto const alive = holder.lock();
                 if (!alive || turn_ != turn) return;
                 if (leaving_) return listener_.be_gone();
                 if (code == ZOK) return listener_.enter();
                 if (code == ZSESSIONEXPIRED) return;
                 listener_.fail_and_leave(code, path);
               });
}

// The answer to the making was lost. Once we are connected again the former server's requests for
// this session are either in front of the sync or refused by the leader (the session moved), so
// what the list does not show does not come.
void own_node::search() {
  ask_next(verb::sync, parent_, [](reply const&) {});
  ask({verb::children, parent_, {}, session_},
      [this](reply answer) { on_searched(std::move(answer)); });
}

void own_node::on_searched(reply answer) {
  if (answer.code == ZCONNECTIONLOSS) return search();
  if (answer.code == ZSESSIONEXPIRED) return;
  if (answer.code != ZOK && answer.code != ZNONODE) {
    return listener_.fail_and_leave(answer.code, parent_);
  }
  node_.clear();
  for (auto const& one : in_order(std::move(answer.names))) {
    if (!is_of(owner_, one)) continue;
    node_ = one;
    break;
  }
  if (leaving_) return node_.empty() ? listener_.be_gone() : remove_now();
  if (node_.empty()) return listener_.enter();
  ask_next(verb::get, path(), [this](reply found) { on_identified(std::move(found)); });
}

void own_node::on_identified(reply answer) {
  if (answer.code == ZSESSIONEXPIRED) return;
  if (answer.code == ZCONNECTIONLOSS) return search();
  if (answer.code == ZNONODE) return listener_.enter();
  if (answer.code != ZOK) return listener_.fail_and_leave(answer.code, path());
  fencing_ = answer.fencing;
  listener_.list();
}

void own_node::forget() {
  node_.clear();
  doubtful_ = false;
}

// Without a name the answer on its way tells whether there is anything to remove.
void own_node::remove(std::string mark) {
  leaving_ = true;
  mark_ = std::move(mark);
  if (!node_.empty()) remove_now();
}

void own_node::remove_now() {
  begin();
  auto const what = mark_.empty() ? verb::remove : verb::remove_both;
  ask({what, path(), {}, session_, mark_}, [this](reply const& answer) { on_removed(answer); });
}

void own_node::on_removed(reply const& answer) {
  if (answer.code == ZSESSIONEXPIRED) return listener_.be_gone();
  if (answer.code == ZCONNECTIONLOSS) {
    removal_cut_ = true;
    return remove_now();
  }
  // Which of the two is not there, the other way tells. From here on the mark may be the next
  // one's.
  bool const mark_too = !std::exchange(mark_, {}).empty();
  if (answer.code != ZOK && mark_too) return remove_now();
  if (answer.code != ZOK && answer.code != ZNONODE) {
    listener_.on_node_removed(answer.code);
    return listener_.be_gone();
  }
  if (answer.code == ZOK || removal_cut_) listener_.on_node_removed(ZOK);
  if (doubtful_) return search();
  listener_.be_gone();
}

void own_node::remove_ghosts(std::vector<std::string> const& children) {
  if (!doubtful_) return;
  for (auto const& one : children) {
    if (one == node_ || !is_of(owner_, one)) continue;
    ensemble_.call({verb::remove, path_of(one), {}, session_}, holder_, [](reply const&) {});
  }
}

}  // namespace herdlock::zookeeper
