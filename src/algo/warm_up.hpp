// The keys that are to be loaded before people need them, and when.
//
// A key may be wanted from a time to come. It is loaded beforehand, and again shortly before that
// time and once it has come, since its entry may have ended meanwhile; a load that fails is tried
// again. Then those who read the key load it, and nothing is due here any more.
//
// Pure. Times are those of a wall clock, in milliseconds since 1970.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace herdlock::algo {

class warm_up {
 public:
  /// The pause after a load that failed; twice as long after each further one, up to the longest.
  static constexpr std::uint64_t pause_ms = 1000;
  static constexpr std::uint64_t longest_pause_ms = 60'000;
  static constexpr std::size_t most_under_way = 32;

  enum class loading { succeeded, failed };
  struct wish {
    std::string key;
    std::uint64_t from_ms = 0;  ///< when it has to be there; 0: since ever
  };

  /// Wants these keys from now on, no others. For a key with several times the latest counts.
  void want(std::vector<wish> wishes);
  /// All keys are to be loaded anew: by another loader.
  void begin_anew();

  /// The keys whose load is to begin. loaded() has to be called for each of them.
  std::vector<std::string> take_due(std::uint64_t now_ms);
  void loaded(std::string_view key, loading how, std::uint64_t now_ms);
  /// When take_due() has something; nothing: not before one that is under way has ended.
  std::optional<std::uint64_t> next_due() const;

 private:
  struct wanted {
    std::string key;
    std::uint64_t from_ms = 0;
    std::uint64_t next_ms = 0;
    std::uint64_t pause_ms = warm_up::pause_ms;
    bool is_under_way = false;
    bool is_done = false;
  };

  wanted* find(std::string_view key);

  std::vector<wanted> keys_;   // by key
  std::size_t under_way_ = 0;  // loads, also of keys that nobody wants any more
};

}  // namespace herdlock::algo
