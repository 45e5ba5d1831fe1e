// Reading and changing the rules for hot keys: what herdlock/hot_rules.hpp does in the store.
#include <herdlock/hot_rules.hpp>

#include <algorithm>
#include <chrono>
#include <memory>

#include <herdlock/detail/blocking.hpp>
#include <herdlock/detail/cache_core.hpp>
#include <herdlock/rules_store.hpp>

#include "algo/rule_list.hpp"
#include "cache/fleet/rules.hpp"
#include "runtime/inherited.hpp"
#include "runtime/on_own_executor.hpp"
#include "runtime/store_context.hpp"

namespace herdlock::runtime {
namespace {

constexpr int most_tries_of_a_change = 10;

static_assert(hot_rules::most_rules == algo::rule_list::most_rules);
static_assert(hot_rules::most_key_bytes == algo::rule_list::most_key_bytes);

// The fault of a rule; empty: none.
std::string fault_of(hot_rule const& one) {
  constexpr hot_rule::time first(std::chrono::milliseconds(1));
  if (one.key.empty() && one.by == hot_rule::match::exact) {
    return "a rule without a key; hot_rule::match::prefix with an empty one is for all keys";
  }
  if (one.key.size() > hot_rules::most_key_bytes) {
    return "the key " + in_quotes(one.key) + " has " + std::to_string(one.key.size()) +
           " bytes; at most " + std::to_string(hot_rules::most_key_bytes);
  }
  if ((one.from && *one.from < first) || (one.until && *one.until < first)) {
    return "the rule for " + in_quotes(one.key) + " has a time before 1970";
  }
  if (one.from && one.until && *one.until <= *one.from) {
    return "the rule for " + in_quotes(one.key) + " ends before it begins";
  }
  bool const fits =
      one.keep_at_most >= hot_rule::least_keep && one.keep_at_most <= hot_rule::most_keep;
  if (one.does == hot_rule::action::keep && !fits) {
    return "the rule for " + in_quotes(one.key) + " has a keep_at_most of " +
           std::to_string(one.keep_at_most.count()) + " ms; from 1 s to 24 h";
  }
  return {};
}

// The rule as it will be read; its times are within their bounds.
void round_times(hot_rule& one) {
  if (one.from) one.from = std::chrono::floor<milliseconds>(*one.from);
  if (one.until) one.until = std::chrono::floor<milliseconds>(*one.until);
}

std::string fault_of(std::vector<hot_rule> const& rules) {
  if (rules.size() > hot_rules::most_rules) {
    return std::to_string(rules.size()) + " rules; at most " +
           std::to_string(hot_rules::most_rules);
  }
  for (auto const& one : rules) {
    if (auto fault = fault_of(one); !fault.empty()) return fault;
  }
  return {};
}

// The rules in a stored text; nothing if this version does not understand it.
std::optional<hot_rules> rules_of(store_rules const& stored) {
  if (stored.version == 0) return hot_rules();
  auto list = algo::decode_list(stored.text);
  if (!list) return std::nullopt;
  return hot_rules{stored.version, std::move(list->rules)};
}

/// One call. All members on the executor.
class hot_rules_call : public std::enable_shared_from_this<hot_rules_call> {
 public:
  hot_rules_call(std::shared_ptr<store_core> home, std::string prefix, hot_rules_edit edit,
                 handler<hot_rules> done)
      : home_(std::move(home)),
        prefix_(std::move(prefix)),
        edit_(std::move(edit)),
        done_(on_own_executor(home_->executor(), std::move(done))) {}

  void read() {
    if (home_->closing()) return std::move(done_)(home_->closed_failure());
    auto const& rules = home_->rules();
    if (!rules) {
      return fail(errc::not_supported,
                  "it keeps no rules; use sqlite:PATH for one machine, or a Redis or a Valkey");
    }
    rules->read_rules(hot_keys_topic(prefix_),
                      [self = shared_from_this()](result<store_rules> found) {
                        self->on_read(std::move(found));
                      });
  }

 private:
  void on_read(result<store_rules> found) {
    if (found.has_error()) return std::move(done_)(std::move(found).error());
    auto known = rules_of(*found);
    if (!known) {
      return fail(errc::invalid_value,
                  "they are of a kind that this version of herdlock does not know; use the one "
                  "that wrote them");
    }
    if (!edit_) return std::move(done_)(*std::move(known));
    try {
      edit_(known->rules);
    } catch (...) {
      return fail(errc::invalid_value,
                  "the edit failed: " + detail::exception_text(std::current_exception()));
    }
    // Before they are rounded, since what is out of bounds may overflow; and after, since what is
    // left of a rule may have no length.
    auto fault = fault_of(known->rules);
    if (fault.empty()) {
      std::for_each(known->rules.begin(), known->rules.end(), &round_times);
      fault = fault_of(known->rules);
    }
    if (!fault.empty()) return fail(errc::invalid_value, fault);
    write(*std::move(known));
  }

  void write(hot_rules next) {
    auto const& rules = home_->rules();
    if (!rules) return std::move(done_)(home_->closed_failure());
    rules_change what{hot_keys_topic(prefix_), next.version, algo::encode({0, next.rules})};
    rules->write_rules(std::move(what), [self = shared_from_this(), next = std::move(next)](
                                            result<std::uint64_t> written) mutable {
      if (written.has_error()) return std::move(self->done_)(std::move(written).error());
      if (*written == 0) return self->try_again();
      next.version = *written;
      std::move(self->done_)(std::move(next));
    });
  }

  // Another one was first: what he has written is not to be lost.
  void try_again() {
    if (++tries_ < most_tries_of_a_change) return read();
    fail(errc::overloaded,
         "others changed them " + std::to_string(tries_) + " times meanwhile; try again");
  }

  void fail(errc why, std::string const& text) {
    std::string const verb = edit_ ? "change" : "read";
    std::move(done_)(make_failure(why, "cannot " + verb + " the rules for hot keys of the prefix " +
                                           in_quotes(prefix_) + " in " + home_->display_name() +
                                           ": " + text));
  }

  std::shared_ptr<store_core> const home_;
  std::string const prefix_;
  hot_rules_edit const edit_;  // none: it reads
  handler<hot_rules> done_;
  int tries_ = 0;
};

}  // namespace
}  // namespace herdlock::runtime

namespace herdlock {
inline namespace v0 {

void detail::start_hot_rules(store const& in, std::string prefix, hot_rules_edit edit,
                             handler<hot_rules> done) {
  auto const& home = context_of(in)->core();
  if (runtime::refused_in_child(*home, done)) return;
  auto const call = std::make_shared<runtime::hot_rules_call>(home, std::move(prefix),
                                                              std::move(edit), std::move(done));
  asio::post(home->executor(), [call] { call->read(); });
}

void detail::start_count_of_rule_listeners(store const& in, std::string prefix,
                                           handler<listener_count> done) {
  auto const& home = context_of(in)->core();
  if (runtime::refused_in_child(*home, done)) return;
  asio::post(home->executor(),
             [home, prefix = std::move(prefix),
              done = runtime::on_own_executor(home->executor(), std::move(done))]() mutable {
               if (home->closing()) return std::move(done)(home->closed_failure());
               if (auto const& rules = home->rules()) {
                 return rules->count_listeners(runtime::hot_keys_topic(prefix), std::move(done));
               }
               std::move(done)(make_failure(
                   errc::not_supported,
                   "cannot count who listens for rules: " + home->display_name() + " keeps none"));
             });
}

std::optional<std::uint64_t> count_rule_listeners(store const& in, std::string prefix) {
  auto start = [&](handler<listener_count> done) {
    detail::start_count_of_rule_listeners(in, std::move(prefix), std::move(done));
  };
  return detail::wait_for<listener_count>(*detail::context_of(in), start).value();
}

hot_rules read_hot_rules(store const& in, std::string prefix) {
  return change_hot_rules(in, std::move(prefix), nullptr);
}

hot_rules change_hot_rules(store const& in, std::string prefix, hot_rules_edit edit) {
  auto start = [&](handler<hot_rules> done) {
    detail::start_hot_rules(in, std::move(prefix), std::move(edit), std::move(done));
  };
  return detail::wait_for<hot_rules>(*detail::context_of(in), start).value();
}

}  // namespace v0
}  // namespace herdlock
