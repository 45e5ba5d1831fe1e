#include "stores/redis/sentinel/sentinel_master.hpp"

#include "stores/redis/client/one_shot_client.hpp"
#include "stores/redis/sentinel/sentinel_query.hpp"

namespace herdlock::redis {

sentinel_answers ask_sentinels(settings const& how) {
  sentinel_answers told{master_vote(how.sentinels), 0, {}};
  for (std::size_t i = 0; i < how.sentinels.size(); ++i) {
    auto const& at = how.sentinels[i];
    auto one = sentinel_settings(how, at, how.timeout);
    one.display_name = how.display_name;  // what fails is told of the store
    auto const answers = ask_once(one, {{"SENTINEL", "CKQUORUM", how.master_name},
                                        {"SENTINEL", "GET-MASTER-ADDR-BY-NAME", how.master_name}});
    if (!answers) {
      told.last_error = answers.error().message;
      continue;
    }
    if (!answers->at(0).is_error()) {
      ++told.agree;
    } else {
      told.last_error = one.address() + ": " + std::string(answers->at(0).text());
    }
    auto const& address = answers->at(1);
    if (address.kind() == reply_kind::list && address.number(2)) {
      told.vote.names(
          i, {std::string(address.text(1)), static_cast<std::uint16_t>(*address.number(2))});
    }
  }
  return told;
}

}  // namespace herdlock::redis
