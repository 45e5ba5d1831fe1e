// The processes of a scene.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "stage/forked_process.hpp"
#include "stage/shared.hpp"

namespace herdlock::lab {

/// Forked, so start them while this process has one thread. Those that are left are killed with
/// their cast. What a process throws is the cast's complaint, and look() throws it here.
class cast {
 public:
  /// Whether a process may have ended its work by now.
  enum class may_end { no, yes };

  /// The number of the new process, from 0. `name` is for messages. In the process `work` may use
  /// everything that it can reach here, as it was when this was called, and shared memory.
  std::size_t start(std::string name, std::function<void()> const& work);
  /// `count` of one kind, "NAME 1" and on; each plays work(0) and on.
  void start_all(std::size_t count, std::string const& name,
                 std::function<void(std::size_t)> const& work);

  /// Throws command_error when one has failed, or has ended before it may: what was complained of,
  /// else that it died.
  void look(may_end now);
  bool all_ended() const;
  /// As look() has seen it.
  bool ended(std::size_t number) const { return members_[number].gone; }
  /// Kills those that are left, and forgets all, also what they complained of.
  void clear() {
    members_.clear();
    std::construct_at(&*why_);
  }

  void signal(std::size_t number, int signal) const { members_[number].process.signal(signal); }
  /// SIGKILL; it counts no more, until start_again().
  void kill(std::size_t number);
  /// The same work in a new process, in the place of one that was killed or has ended.
  void start_again(std::size_t number);

 private:
  struct member {
    std::string name;
    std::function<void()> work;
    forked_process process;
    bool gone = false;
  };

  forked_process forked(std::string const& name, std::function<void()> const& work);

  shared<complaint> why_;
  std::vector<member> members_;
};

}  // namespace herdlock::lab
