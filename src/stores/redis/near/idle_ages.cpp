#include "stores/redis/near/idle_ages.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "stores/redis/client/operation.hpp"
#include "stores/redis/client/server_facts.hpp"

namespace herdlock::redis {
namespace {

// "keys=12,expires=3,avg_ttl=0"
std::uint64_t keys_of(std::string_view database) {
  constexpr std::string_view begins = "keys=";
  if (!database.starts_with(begins)) return 0;
  auto const digits = database.substr(begins.size(), database.find(',') - begins.size());
  return whole_number<std::uint64_t>(digits).value_or(0);
}

struct eviction_message {
  using value_type = algo::eviction_figures;
  static constexpr std::string_view verb = "ask for the evictions, with";
  static constexpr bool for_this_server = true;

  std::string_view name() const { return "INFO"; }
  void encode(command_writer& out, script_form) const {
    out.request({"INFO", "stats", "keyspace"});
  }
  result<algo::eviction_figures> parse(reply const& answer) const {
    algo::eviction_figures found;
    for_each_fact(answer.text(), [&](std::string_view fact, std::string_view value) {
      if (fact == "evicted_keys") {
        found.evicted = whole_number<std::uint64_t>(value).value_or(0);
      } else if (fact.starts_with("db")) {
        found.keys += keys_of(value);
      }
    });
    return found;
  }
};

}  // namespace

// Over when each server has answered, or could not.
class idle_ages::sum_of_answers {
 public:
  sum_of_answers(std::size_t servers, handler<eviction_news> done)
      : missing_(servers), done_(std::move(done)) {}

  void take(eviction_news const& one) {
    sum_.evicted += one.evicted;
    auto const& age = one.idle_age;
    if (age) sum_.idle_age = std::min(*age, sum_.idle_age.value_or(*age));
    if (--missing_ == 0) std::move(done_)(sum_);
  }

 private:
  std::size_t missing_;
  handler<eviction_news> done_;
  eviction_news sum_;
};

void idle_ages::ask(asio::any_io_executor const& executor, handler<eviction_news> done) {
  std::erase_if(ages_, [this](auto const& one) { return !links_->wire_of(one.first); });
  std::vector<link_id> evicting;
  for (auto const which : links_->all()) {
    auto const wire = links_->wire_of(which);
    bool const may_evict = wire && (!wire->facts() || wire->facts()->policy != "noeviction");
    if (may_evict) evicting.push_back(which);
  }
  if (evicting.empty()) {
    return detail::post_result<eviction_news>(executor, std::move(done), eviction_news{});
  }
  auto const sum = std::make_shared<sum_of_answers>(evicting.size(), std::move(done));
  for (auto const which : evicting) {
    operation<eviction_message>::start(
        *links_->wire_of(which), {},
        [self = shared_from_this(), sum, which](result<algo::eviction_figures> said) {
          if (said.has_error()) return sum->take({});
          auto& age = self->ages_[which];
          auto const evicted = age.told(*said, clock::now());
          sum->take({.idle_age = age.of_idle(), .evicted = evicted});
        });
  }
}

}  // namespace herdlock::redis
