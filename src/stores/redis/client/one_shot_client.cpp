#include "stores/redis/client/one_shot_client.hpp"

#include <boost/asio/io_context.hpp>

#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/transport.hpp"

namespace herdlock::redis {
namespace {

constexpr std::uint16_t sentinel_port = 26379;

class visitor final : public transport_owner {
 public:
  visitor(asio::io_context& io, std::vector<question_words> const& questions)
      : io_(io), questions_(questions) {}

  void on_ready(transport& from) override {
    auto asked = make_batch();
    asked->reset();
    for (auto const& words : questions_) {
      asked->begin(words.front());
      for (std::size_t i = 1; i < words.size(); ++i) asked->add(words[i]);
      asked->end();
      asked->commands.push_back(std::make_unique<question>());
    }
    from.send(std::move(asked));
  }
  void on_ended(transport&, failure why, outlook) override { end(std::move(why)); }
  void on_batch(transport&, batch_ptr done, failure const* why) override {
    if (why) return end(*why);
    done->replies.resize(questions_.size());
    outcome = std::move(done->replies);
    io_.stop();
  }
  void on_push(transport&, reply const&) override {}

  std::optional<result<std::vector<reply>>> outcome;

 private:
  void end(failure why) {
    if (!outcome) outcome = std::move(why);
    io_.stop();
  }

  asio::io_context& io_;
  std::vector<question_words> const& questions_;
};

}  // namespace

result<std::vector<reply>> visit(settings const& how,
                                 std::vector<question_words> const& questions) {
  asio::io_context io;
  auto const asking = std::make_shared<visitor>(io, questions);
  auto const line = transport::start(io.get_executor(), how, asking);
  io.run_for(how.timeout * 2);
  auto outcome = std::move(asking->outcome);
  line->stop();
  // What it has under way ends with the next turns.
  io.restart();
  io.run_for(milliseconds{200});
  if (outcome) return std::move(*outcome);
  return make_failure(errc::timed_out, how.place() + " does not answer");
}

settings sentinel_at(settings const& how, host_and_port const& at) {
  settings one = how;
  one.guide = nullptr;
  one.sentinels.clear();
  one.host = at.host;
  one.port = at.port.value_or(sentinel_port);
  one.user = how.sentinel_user;
  one.password = how.sentinel_password;
  one.database = 0;
  return one;
}

}  // namespace herdlock::redis
