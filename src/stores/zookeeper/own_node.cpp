#include "stores/zookeeper/own_node.hpp"

#include <zookeeper/zookeeper.h>

#include <utility>

#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {
namespace {

// Parents come and go while we climb; more steps than a path has components are somebody's fight
// against us.
constexpr int most_steps = 200;

// Makes what is missing above a queue: the chroot's nodes, which stay, and the resource's
// container, which the server removes some time after its last child. Begins with the deepest: it
// is often there, and its parent may be one in which nobody may create anything. `done` is called
// with ZOK, or with what went wrong and where, as an event. Another may remove the node again
// before the caller gets to use it.
class parent_maker : public std::enable_shared_from_this<parent_maker> {
 public:
  parent_maker(session& ensemble, std::string const& path, std::weak_ptr<void> owner,
               std::function<void(int, std::string const&)> done)
      : ensemble_(ensemble), owner_(std::move(owner)), done_(std::move(done)) {
    for (auto at = path.find('/', 1); at != std::string::npos; at = path.find('/', at + 1)) {
      paths_.push_back(path.substr(0, at));
    }
    paths_.push_back(path);
    at_ = paths_.size() - 1;
  }

  void go_on() {
    if (++steps_ > most_steps) return done_(ZNONODE, paths_[at_]);
    bool const deepest = at_ + 1 == paths_.size();
    ensemble_.call({deepest ? verb::contain : verb::make, paths_[at_]}, owner_,
                   [self = shared_from_this()](reply answer) { self->on_made(answer.code); });
  }

 private:
  void on_made(int code) {
    if (code == ZCONNECTIONLOSS) return go_on();
    if (code == ZNONODE && at_ > 0) {
      --at_;
      return go_on();
    }
    if (code != ZOK && code != ZNODEEXISTS) return done_(code, paths_[at_]);
    if (at_ + 1 == paths_.size()) return done_(ZOK, paths_[at_]);
    ++at_;
    go_on();
  }

  session& ensemble_;
  std::weak_ptr<void> const owner_;
  std::function<void(int, std::string const&)> const done_;
  std::vector<std::string> paths_;
  std::size_t at_ = 0;
  int steps_ = 0;
};

}  // namespace

own_node::own_node(store_state& store, queue_entry& entry, acquire_request const& request)
    : ensemble_(store.ensemble()),
      entry_(entry),
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
      return leaving_ ? remove_now() : entry_.on_node_made();
    case ZCONNECTIONLOSS:
      doubtful_ = true;
      return search();
    case ZNONODE:
      return leaving_ ? entry_.be_gone() : make_parent();
    case ZSESSIONEXPIRED:
      return;  // the session's own event says what follows
    default:
      return entry_.fail_and_leave(answer.code, parent_);
  }
}

void own_node::make_parent() {
  auto on_made = [this, holder = holder_, turn = begin()](int code, std::string const& path) {
    auto const alive = holder.lock();
    if (!alive || turn_ != turn) return;
    if (leaving_) return entry_.be_gone();
    if (code == ZOK) return entry_.enter();
    if (code == ZSESSIONEXPIRED) return;
    entry_.fail_and_leave(code, path);
  };
  std::make_shared<parent_maker>(ensemble_, parent_, holder_, std::move(on_made))->go_on();
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
    return entry_.fail_and_leave(answer.code, parent_);
  }
  node_.clear();
  for (auto const& one : in_order(std::move(answer.names))) {
    if (!is_of(owner_, one)) continue;
    node_ = one;
    break;
  }
  if (leaving_) return node_.empty() ? entry_.be_gone() : remove_now();
  if (node_.empty()) return entry_.enter();
  ask_next(verb::get, path(), [this](reply found) { on_identified(std::move(found)); });
}

void own_node::on_identified(reply answer) {
  if (answer.code == ZSESSIONEXPIRED) return;
  if (answer.code == ZCONNECTIONLOSS) return search();
  if (answer.code == ZNONODE) return entry_.enter();
  if (answer.code != ZOK) return entry_.fail_and_leave(answer.code, path());
  fencing_ = answer.fencing;
  entry_.list();
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
  if (answer.code == ZSESSIONEXPIRED) return entry_.be_gone();
  if (answer.code == ZCONNECTIONLOSS) {
    removal_cut_ = true;
    return remove_now();
  }
  // Which of the two is not there, the other way tells. From here on the mark may be the next
  // one's.
  bool const mark_too = !std::exchange(mark_, {}).empty();
  if (answer.code != ZOK && mark_too) return remove_now();
  if (answer.code != ZOK && answer.code != ZNONODE) {
    entry_.on_node_removed(answer.code);
    return entry_.be_gone();
  }
  if (answer.code == ZOK || removal_cut_) entry_.on_node_removed(ZOK);
  if (doubtful_) return search();
  entry_.be_gone();
}

void own_node::remove_ghosts(std::vector<std::string> const& children) {
  if (!doubtful_) return;
  for (auto const& one : children) {
    if (one == node_ || !is_of(owner_, one)) continue;
    ensemble_.call({verb::remove, path_of(one), {}, session_}, holder_, [](reply const&) {});
  }
}

}  // namespace herdlock::zookeeper
