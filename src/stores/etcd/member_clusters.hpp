// Which cluster the members of a URL are of.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock::etcd {

/// Pure. etcd names its cluster in each answer. An address can have been given to a member of
/// another cluster, where all that is held here is free: such a stranger is not believed. The
/// cluster of most of the members that have answered counts, each by its last answer; of two with
/// as many, the one that counted before.
class member_clusters {
 public:
  explicit member_clusters(std::size_t members) : told_(members) {}

  /// The member has answered so (empty: it did not say). False: it is a stranger.
  bool heard(std::size_t member, std::string_view cluster);
  /// Whether more than half of the members are of one cluster, as far as they have answered.
  bool certain() const { return 2 * count_of(believed_) > told_.size(); }
  bool has_heard(std::size_t member) const { return !told_[member].empty(); }

 private:
  std::size_t count_of(std::string_view cluster) const;

  std::vector<std::string> told_;
  std::string believed_;
};

/// What the text of an answer says of its cluster; empty when it says nothing.
std::string_view cluster_in(std::string_view answer);

}  // namespace herdlock::etcd
