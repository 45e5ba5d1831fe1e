#include "stores/zookeeper/parents.hpp"

#include <zookeeper/zookeeper.h>

namespace herdlock::zookeeper {
namespace {

// Parents come and go while we climb; more steps than a path has components are somebody's fight
// against us.
constexpr int most_steps = 200;

// Begins with the deepest node: it is often there, and its parent may be one in which nobody may
// create anything.
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

void make_parents(session& ensemble, std::string const& path, std::weak_ptr<void> owner,
                  std::function<void(int, std::string const&)> done) {
  std::make_shared<parent_maker>(ensemble, path, std::move(owner), std::move(done))->go_on();
}

}  // namespace herdlock::zookeeper
