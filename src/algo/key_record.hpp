// The record of one key of a cache: all that one process remembers of it. Each policy has a part in
// the record; a part that a cache does not use takes a null pointer at most.
#pragma once

#include <boost/intrusive/list.hpp>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>

#include <herdlock/types.hpp>

#include "algo/deadline_queue.hpp"

namespace herdlock::algo {

struct key_record;
class key_records;

namespace hooks {
using unlinks_itself = boost::intrusive::link_mode<boost::intrusive::auto_unlink>;
struct of_user;
struct of_answer;
struct of_record;
template <class Tag>
using hook = boost::intrusive::list_base_hook<boost::intrusive::tag<Tag>, unlinks_itself>;
template <class T, class Tag>
using list = boost::intrusive::list<T, boost::intrusive::base_hook<hook<Tag>>,
                                    boost::intrusive::constant_time_size<false>>;
}  // namespace hooks

/// Something that works at a key and may store an entry of it: its record stays meanwhile.
struct key_user : hooks::hook<hooks::of_user> {};

/// Refreshes and failed loads of the key (algo/freshness.hpp).
struct refresh_state {
  std::uint64_t refresh = 0;          ///< the one that is under way; 0: none
  clock::time_point not_before{};     ///< no refresh until then
  clock::time_point failing_until{};  ///< the error of a load is everyone's answer until then
  std::chrono::microseconds made{0};  ///< the entry that was found last
  std::uint32_t failures = 0;         ///< in a row
  std::uint32_t kept = 0;             ///< stale copies that callers have at hand

  void succeeded() noexcept {
    failures = 0;
    failing_until = {};
  }
  bool in_use() const noexcept { return refresh != 0 || kept != 0; }
  bool spent(clock::time_point now) const noexcept { return failures == 0 && not_before <= now; }
};

/// A step that failed for the key, and is not tried again before a time. Each failure in a row
/// doubles the pause; it is forgotten when nothing has failed for as long as it was, after that.
struct key_pause {
  static constexpr milliseconds first{500};
  static constexpr milliseconds longest{60'000};

  clock::time_point until{};
  milliseconds length{0};

  void failed(clock::time_point now) noexcept {
    length = spent(now) ? first : std::min(2 * length, longest);
    until = now + length;
  }
  bool pauses(clock::time_point now) const noexcept { return now < until; }
  bool spent(clock::time_point now) const noexcept { return until + length <= now; }
};

/// The end of an entry that carries no times of its own (algo/plain_ends.hpp).
struct plain_end {
  clock::time_point known_since{};
  clock::time_point ends{};
  clock::duration load_time{0};
  std::uint64_t asked = 0;  ///< the question that is under way; 0: none
  clock::time_point ask_again{};

  bool spent(clock::time_point now) const noexcept { return ends <= now && ask_again <= now; }
};

/// When a lasting entry is loaded anew.
struct refresh_schedule : timed<clock> {
  ~refresh_schedule() override { deadline_queue<clock>::remove(*this); }
};

/// An entry that this process has stored for good (algo/lasting_ledger.hpp).
struct lasting_entry {
  std::size_t bytes = 0;
  std::uint64_t under_way = 0;                       ///< the latest store; 0: none
  std::optional<std::size_t> stored = std::nullopt;  ///< the bytes of what is there
  std::unique_ptr<refresh_schedule> schedule = nullptr;
};

enum class unstored_kind { unguarded, refused, unstorable };

/// The answer of a load that the store does not have (algo/unstored_answers.hpp).
struct unstored_answer : hooks::hook<hooks::of_answer> {
  key_record* record = nullptr;
  std::shared_ptr<void const> what;
  unstored_kind kind{};
  std::size_t bytes = 0;
  clock::time_point until{};
};

struct key_record : hooks::hook<hooks::of_record> {
  std::uint64_t flight = 0;  ///< the load that takes new callers; 0: none
  hooks::list<key_user, hooks::of_user> users;
  std::uint64_t look = 0;       ///< the read that is to be sent (shared_looks); 0: none
  std::uint32_t looks = 0;      ///< reads that are under way
  std::uint64_t killed_at = 0;  ///< stale copies that were read or kept before are dead
  refresh_state refresh;
  key_pause untaken;  ///< values that the store did not take
  key_pause moving;   ///< claims: the slot of the key is being moved
  std::unique_ptr<plain_end> end;
  std::unique_ptr<lasting_entry> lasting;
  std::unique_ptr<unstored_answer> answer;

  std::string_view key() const noexcept { return key_; }
  /// Somebody works at the key, or its entry is to last.
  bool in_use() const noexcept {
    return flight != 0 || !users.empty() || look != 0 || looks != 0 || refresh.in_use() ||
           lasting || (end && end->asked != 0);
  }
  /// Nothing in it is worth being remembered any more. REQUIRES: !in_use().
  bool spent(clock::time_point now) const noexcept {
    return refresh.spent(now) && untaken.spent(now) && moving.spent(now) &&
           (!end || end->spent(now)) && (!answer || answer->until <= now);
  }
  std::size_t bytes() const noexcept {
    return bytes_around + key_.size() + (end ? sizeof(plain_end) : 0) +
           (lasting ? sizeof(lasting_entry) + bytes_around : 0) +
           (answer ? sizeof(unstored_answer) + answer->bytes : 0);
  }
  /// The bytes of a record that says little.
  static constexpr std::size_t bytes_around = 320;

 private:
  friend key_records;
  std::string_view key_;
  std::size_t counted_ = 0;  // of bytes()
};

}  // namespace herdlock::algo
