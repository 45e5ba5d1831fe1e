// Which cluster the members of a URL are of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock::etcd {

/// What the members have told of themselves is good for:
enum class agreement {
  sure,         ///< more than half of the members are of one cluster, or there is only one member
  alone,        ///< one of two has told, and there is nobody to compare it with
  nobody_says,  ///< those that answer do not tell of which cluster they are
  none,         ///< too few have told, or they contradict each other: nobody is believed
};

/// Pure. etcd names its cluster in each answer. An address can have been given to a member of
/// another cluster, where all that is held here is free: such a stranger is not believed. The
/// cluster of most of the members that have answered counts, each by its last answer; of two with
/// as many, the one that counted before.
class member_clusters {
 public:
  explicit member_clusters(std::size_t members) : told_(members), mute_(members) {}

  /// The member has answered so (empty: it did not say). False: it is a stranger.
  bool heard(std::size_t member, std::string_view cluster);
  /// It was asked, answered, and did not say.
  void did_not_say(std::size_t member) { mute_[member] = true; }

  agreement agreed() const;
  /// Whether more than half of the members are of one cluster, as far as they have answered.
  bool certain() const { return 2 * count_of(believed_) > told_.size(); }
  /// How many are of the cluster that counts.
  std::size_t named() const { return count_of(believed_); }
  /// It is of the cluster that counts; or it was asked, and nobody can know more of it.
  bool known(std::size_t member) const {
    return told_[member].empty() ? bool{mute_[member]} : told_[member] == believed_;
  }
  bool stranger(std::size_t member) const {
    return !told_[member].empty() && told_[member] != believed_;
  }
  std::string const& of(std::size_t member) const { return told_[member]; }

 private:
  std::size_t count_of(std::string_view cluster) const;

  std::vector<std::string> told_;
  std::vector<bool> mute_;
  std::string believed_;
};

/// What the text of an answer says of its cluster; empty when it says nothing.
std::string_view cluster_in(std::string_view answer);

}  // namespace herdlock::etcd
