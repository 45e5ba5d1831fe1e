// The commands of the lease port and of its queue, and what their replies mean.
#pragma once

#include <algorithm>
#include <string>
#include <variant>

#include <herdlock/backend.hpp>
#include "stores/redis/client/operation.hpp"
#include "stores/redis/queue/grant_subscriptions.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"
#include "stores/redis/wait_limits.hpp"

namespace herdlock::redis {

/// A script's way to say "held": by whom, for how long yet, under which token.
struct held {
  milliseconds remaining;  ///< 0 when unknown: a plain client's lock for ever
  std::string holder;      ///< the owner token as it is stored
  fencing_token fencing;
  // enter only:
  bool added = false;                        ///< it did not wait before
  std::shared_ptr<grant_subscription> at{};  ///< of the server that answered
  std::uint64_t form = 0;                    ///< of the member's name that was sent
};

/// Granted as asked, or how it stands (perhaps held by the one who asks).
using grant_or_held = std::variant<fencing_token, held>;

/// Below 3 a counter that was not there could begin with 1 or, asked twice in one step, with 2.
inline std::int64_t fence_floor_of(router const& home) {
  return std::max<std::int64_t>(3, home.fence_floor());
}

result<held> parse_held(reply const& answer, std::string_view name);
result<grant_or_held> parse_grant_or_held(reply const& answer, std::string_view name);
acquire_reply busy_of(held const& state);

/// What the queue calls a waiter: `SUBSCRIBER TTL OWNER`. The subscriber depends on the server that
/// is asked, and on whether it pushes; so a waiter has several names, of which the queue keeps the
/// last.
class member_name {
 public:
  member_name(milliseconds ttl, owner_token const& owner);

  /// For a request that goes to this channel's server.
  void go_by(grant_subscription const& at);
  /// The server has the present name, and no other.
  void confirm() { others_.clear(); }

  std::string const& present() const { return present_; }
  std::vector<std::string> const& others() const { return others_; }  ///< that it may have as well
  bool is_pushed() const { return pushed_; }
  std::uint64_t form() const { return form_; }  ///< another number for each change of the name

 private:
  void may_have(std::string name);

  std::string tail_;        // behind the subscriber
  std::string subscriber_;  // of the channel that it went by last
  std::string present_;
  std::vector<std::string> others_;
  bool pushed_ = false;
  std::uint64_t form_ = 0;
};
/// The owner in a member's name.
std::string_view owner_in(std::string_view member);

/// A script, its keys (the resource and its side keys) and its arguments, of which one may stand
/// for several.
struct lease_step {
  script const& text;
  script_form form;
};
using step_argument = std::variant<std::string_view, std::int64_t, std::span<std::string const>>;
void encode_step(command_writer& out, lease_step const& step, resource const& name,
                 std::initializer_list<step_argument> rest);

struct acquire_message {
  using value_type = acquire_reply;
  static constexpr std::string_view verb = "acquire";
  acquire_request asked;
  std::int64_t fence_floor;
  clock::time_point sent = clock::now();

  static constexpr std::string_view step_in_bundle = "A";

  std::string_view name() const { return asked.name.str(); }
  void encode(command_writer& out, script_form form) const {
    encode_step(out, {lease_scripts().acquire, form}, asked.name,
                {asked.owner.str(), asked.ttl.count(), fence_floor});
  }
  /// Asked again by its own holder, the answer is the first grant with what is left of it.
  result<acquire_reply> parse(reply const& answer) const;
};

struct enter_message {
  using value_type = grant_or_held;
  static constexpr std::string_view verb = "acquire";
  acquire_request asked;
  std::shared_ptr<member_name> member;  // shared with the waiter
  std::shared_ptr<grant_subscriptions> subscriptions;
  std::int64_t fence_floor;
  std::shared_ptr<grant_subscription> at{};
  std::uint64_t form = 0;

  std::string_view name() const { return asked.name.str(); }
  /// Right before it is sent, each time: the name has to be heard where it is executed.
  void carried_by(connection& server);
  void encode(command_writer& out, script_form how) const;
  result<value_type> parse(reply const& answer) const;
};

struct leave_message {
  using value_type = std::optional<held>;
  // Its failure is what a waiter is told at the end: it wanted to acquire.
  static constexpr std::string_view verb = "acquire";
  acquire_request asked;
  std::shared_ptr<member_name> member;
  std::int64_t fence_floor;

  std::string_view name() const { return asked.name.str(); }
  void encode(command_writer& out, script_form form) const;
  result<value_type> parse(reply const& answer) const;
};

struct renew_message {
  using value_type = renew_reply;
  static constexpr std::string_view verb = "renew";
  resource what;
  owner_token owner;
  milliseconds ttl;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    encode_step(out, {lease_scripts().renew, form}, what, {owner.str(), ttl.count()});
  }
  result<renew_reply> parse(reply const& answer) const {
    return yes_or_no<renew_reply>(answer, name());
  }
};

struct pass_on_message {
  using value_type = release_reply;
  static constexpr std::string_view verb = "leave";
  leave_request asked;

  std::string_view name() const { return asked.name.str(); }
  void encode(command_writer& out, script_form form) const {
    encode_step(out, {lease_scripts().pass_on, form}, asked.name,
                {asked.owner.str(), asked.left_to.str(), asked.ttl.count()});
  }
  result<release_reply> parse(reply const& answer) const {
    return yes_or_no<release_reply>(answer, name());
  }
};

struct release_message {
  using value_type = release_reply;
  static constexpr std::string_view verb = "release";
  resource what;
  owner_token owner;
  std::int64_t fence_floor;

  static constexpr std::string_view step_in_bundle = "R";

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    encode_step(out, {lease_scripts().release, form}, what, {owner.str(), fence_floor});
  }
  result<release_reply> parse(reply const& answer) const {
    return yes_or_no<release_reply>(answer, name());
  }
};

struct force_release_message {
  using value_type = release_reply;
  static constexpr std::string_view verb = "force the release of";
  resource what;
  std::int64_t fence_floor;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    encode_step(out, {lease_scripts().force_release, form}, what, {fence_floor});
  }
  result<release_reply> parse(reply const& answer) const {
    return yes_or_no<release_reply>(answer, name());
  }
};

struct inspect_message {
  using value_type = std::optional<lease_info>;
  static constexpr std::string_view verb = "inspect";
  resource what;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    encode_step(out, {lease_scripts().inspect, form}, what, {});
  }
  result<value_type> parse(reply const& answer) const;
};

}  // namespace herdlock::redis
