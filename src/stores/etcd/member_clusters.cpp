#include "stores/etcd/member_clusters.hpp"

#include <algorithm>

namespace herdlock::etcd {

std::size_t member_clusters::count_of(std::string_view cluster) const {
  if (cluster.empty()) return 0;
  return static_cast<std::size_t>(std::ranges::count(told_, cluster));
}

bool member_clusters::heard(std::size_t member, std::string_view cluster) {
  if (cluster.empty()) return true;
  if (told_[member] != cluster) {
    told_[member] = cluster;
    for (auto const& each : told_) {
      if (count_of(each) > count_of(believed_)) believed_ = each;
    }
  }
  return cluster == believed_;
}

// A member that does not say counts neither for nor against a cluster.
agreement member_clusters::agreed() const {
  auto const members = told_.size();
  if (members == 1 || certain()) return agreement::sure;
  auto const silent = static_cast<std::size_t>(std::ranges::count(told_, std::string()));
  if (silent == members) {
    auto const mute = static_cast<std::size_t>(std::ranges::count(mute_, true));
    bool const enough = members == 2 ? mute > 0 : 2 * mute > members;
    return enough ? agreement::nobody_says : agreement::none;
  }
  return members == 2 && silent == 1 ? agreement::alone : agreement::none;
}

// A number in quotes. Keys and values are in base64, so nobody else can write such a field.
std::string_view cluster_in(std::string_view answer) {
  constexpr std::string_view field = "\"cluster_id\":\"";
  auto const at = answer.find(field);
  if (at == answer.npos) return {};
  auto const text = answer.substr(at + field.size());
  auto const end = text.find('"');
  return end == text.npos ? std::string_view{} : text.substr(0, end);
}

}  // namespace herdlock::etcd
