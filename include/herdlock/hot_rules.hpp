// The rules of people for keys: which are to be kept in the processes, and which never; for a time,
// if they say so. Kept in the store, told to all processes, and obeyed while they run by the caches
// that were made with hot_options::rules = key_rules::on.
//
//     herdlock::change_hot_rules(store, "product:", [&](std::vector<herdlock::hot_rule>& rules) {
//       rules.push_back({.key = "sale", .from = noon, .until = noon + 2h});
//     });
//
// docs/guide/hot-key-rules.md says what a cache does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <herdlock/detail/async.hpp>
#include <herdlock/error.hpp>
#include <herdlock/hot_rule.hpp>
#include <herdlock/open.hpp>
#include <herdlock/types.hpp>

namespace herdlock {
inline namespace v0 {

/// The rules of all caches with one prefix.
struct hot_rules {
  static constexpr std::size_t most_rules = 1000;
  static constexpr std::size_t most_key_bytes = 256;

  std::uint64_t version = 0;  ///< 0: nobody has written any
  std::vector<hot_rule> rules;

  friend bool operator==(hot_rules const&, hot_rules const&) = default;
};

/// Changes the rules that it is given, in place.
using hot_rules_edit = std::function<void(std::vector<hot_rule>& rules)>;

namespace detail {
// Without an edit it reads.
void start_hot_rules(store const& in, std::string prefix, hot_rules_edit edit,
                     handler<hot_rules> done);
void start_count_of_rule_listeners(store const& in, std::string prefix,
                                   handler<std::optional<std::uint64_t>> done);
}  // namespace detail

/// The rules for caches whose cache_options::prefix is this one: `void(failure, hot_rules)`.
/// errc::not_supported where the store keeps no rules (all but Redis, Valkey, SQLite and memory);
/// errc::invalid_value for rules of a kind that this version does not know; access_denied,
/// wrong_type and the errors of a store in trouble. Not cancellable: it ends by the store's
/// timeout. Executor as for all operations.
template <class Token = boost::asio::deferred_t>
auto async_read_hot_rules(store const& in, std::string prefix, Token&& token = {}) {
  return detail::initiate<hot_rules>(
      in.get_executor(),
      [in, prefix = std::move(prefix)](handler<hot_rules> h) mutable {
        detail::start_hot_rules(in, std::move(prefix), nullptr, std::move(h));
      },
      std::forward<Token>(token));
}

/// Reads the rules, has them changed by `edit`, and writes them if nobody else has written
/// meanwhile; else it begins again, ten times at most, and then ends with errc::overloaded.
/// `void(failure, hot_rules)`: as they are now. `edit` is called on the store's executor, once for
/// each try, and must not block; what it throws ends the call with errc::invalid_value and its
/// text, and nothing is written. So do more than most_rules rules, and a rule out of its bounds.
/// Other errors as above; after errc::timed_out the outcome is unknown. Name `edit` (GCC 12: no
/// lambda that owns something inside of a co_await expression).
template <class Token = boost::asio::deferred_t>
auto async_change_hot_rules(store const& in, std::string prefix, hot_rules_edit edit,
                            Token&& token = {}) {
  return detail::initiate<hot_rules>(
      in.get_executor(),
      [in, prefix = std::move(prefix), edit = std::move(edit)](handler<hot_rules> h) mutable {
        detail::start_hot_rules(in, std::move(prefix), std::move(edit), std::move(h));
      },
      std::forward<Token>(token));
}

/// How many store handles, which is as a rule how many processes, have a cache of the prefix that
/// listens for its rules (hot_options::rules) and has been called:
/// `void(failure, std::optional<std::uint64_t>)`; nothing where the store cannot tell (SQLite,
/// whose listeners read the file). Over Redis by PUBSUB NUMSUB, which sees those who are connected
/// now and may subscribe; who may not reads the rules once a minute and is not counted. Errors and
/// the rest as for async_read_hot_rules.
template <class Token = boost::asio::deferred_t>
auto async_count_rule_listeners(store const& in, std::string prefix, Token&& token = {}) {
  return detail::initiate<std::optional<std::uint64_t>>(
      in.get_executor(),
      [in, prefix = std::move(prefix)](handler<std::optional<std::uint64_t>> h) mutable {
        detail::start_count_of_rule_listeners(in, std::move(prefix), std::move(h));
      },
      std::forward<Token>(token));
}

// Blocking, throwing herdlock::error. Not on the store's own thread.

hot_rules read_hot_rules(store const& in, std::string prefix);
hot_rules change_hot_rules(store const& in, std::string prefix, hot_rules_edit edit);
std::optional<std::uint64_t> count_rule_listeners(store const& in, std::string prefix);

}  // namespace v0
}  // namespace herdlock
