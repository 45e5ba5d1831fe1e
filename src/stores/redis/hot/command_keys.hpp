// Which words of a command are keys, as the server itself says it: the key specifications that
// COMMAND answers with since Redis 7.0.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

struct used_key {
  std::string_view key;
  bool is_write;

  friend bool operator==(used_key const&, used_key const&) = default;
};

/// Where keys of a command begin, and which of the words behind are keys, too.
struct key_spec {
  enum class search { index, keyword };
  enum class find { range, number };

  search begins = search::index;
  int index = 0;  ///< of the first key; or from where the keyword is looked for, < 0: backwards
  std::string keyword;  ///< in front of the first key
  find keys = find::range;
  int last = 0;  ///< behind the first one; < 0: from the end
  int step = 1;
  int limit = 0;   ///< with a last < 0: of the words that are left, a half, a third…
  int number = 0;  ///< where the number of keys stands, behind the beginning
  int first = 0;   ///< the first key behind that
  bool is_write = false;
};

class command_keys {
 public:
  /// Of the answer to COMMAND. Nothing when it is none.
  static std::optional<command_keys> read(reply const& answer);

  /// Of the command with all its words. None of one that is not known, or whose words do not go
  /// with what is known.
  std::vector<used_key> of(std::span<std::string const> words) const;
  std::size_t size() const noexcept { return specs_.size(); }

 private:
  std::map<std::string, std::vector<key_spec>, std::less<>> specs_;  // `get`, `xgroup|create`
};

}  // namespace herdlock::redis
