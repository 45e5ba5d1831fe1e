#include "stores/redis/redlock/redlock_scripts.hpp"

#include "stores/redis/script_texts.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace herdlock::redis {
namespace {

struct node_step {
  script text;
  std::string_view told;  // in messages
};

// In the order of node_verb.
node_step const& step_of(node_verb verb) {
  static node_step const all[] = {{{lua::redlock_acquire, "2"}, "acquire"},
                                  {{lua::redlock_raise, "2"}, "acquire"},
                                  {{lua::redlock_undo, "2"}, "release"},
                                  {{lua::renew, "1"}, "renew"},
                                  {{lua::redlock_release, "2"}, "release"},
                                  {{lua::redlock_inspect, "2"}, "inspect"},
                                  {{lua::plain_force_release, "1"}, "force the release of"}};
  static_assert(std::size(all) == std::size(all_node_verbs));
  return all[static_cast<std::size_t>(verb)];
}

}  // namespace

void encode_request(node_verb verb, lease_request const& what, command_writer& out,
                    script_form form) {
  script const& one = step_of(verb).text;
  out.begin(one, form);
  out.add(what.name.str());
  if (one.key_count == "2") {
    out.add_side_key(what.name.str(), verb == node_verb::release ? last_role : quorum_role);
  }
  if (verb != node_verb::inspect && verb != node_verb::force_release) out.add(what.owner);
  if (verb == node_verb::acquire || verb == node_verb::renew) out.add_number(what.ttl.count());
  if (verb == node_verb::acquire || verb == node_verb::undo) out.add_number(what.attempt);
  if (verb == node_verb::raise) out.add_number(static_cast<std::int64_t>(what.token));
  out.end();
}

void encode_load(node_verb verb, command_writer& out) {
  out.request({"SCRIPT", "LOAD", step_of(verb).text.source});
}

std::string_view verb_text(node_verb verb) { return step_of(verb).told; }

}  // namespace herdlock::redis
