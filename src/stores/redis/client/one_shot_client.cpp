#include "stores/redis/client/one_shot_client.hpp"

#include <boost/asio/io_context.hpp>

#include "stores/redis/client/raw_command.hpp"
#include "stores/redis/client/transport.hpp"

namespace herdlock::redis {
namespace {

class one_shot_client final : public transport_listener {
 public:
  one_shot_client(asio::io_context& io, std::vector<command_words> const& commands)
      : io_(io), commands_(commands) {}

  void on_ready(transport& from) override {
    auto asked = make_batch();
    for (auto const& words : commands_) ask(*asked, words);
    from.send(std::move(asked));
  }
  void on_ended(transport&, failure why, failure_kind) override { end(std::move(why)); }
  void on_batch(transport&, batch_ptr done, failure const* why) override {
    if (why) return end(*why);
    done->replies.resize(commands_.size());
    outcome = std::move(done->replies);
    io_.stop();
  }

  std::optional<result<std::vector<reply>>> outcome;

 private:
  void end(failure why) {
    if (!outcome) outcome = std::move(why);
    io_.stop();
  }

  asio::io_context& io_;
  std::vector<command_words> const& commands_;
};

}  // namespace

result<std::vector<reply>> ask_once(settings const& how,
                                    std::vector<command_words> const& commands) {
  asio::io_context io;
  auto const asking = std::make_shared<one_shot_client>(io, commands);
  auto const line = transport::start(io.get_executor(), how, asking);
  io.run_for(how.timeout * 2);
  auto outcome = std::move(asking->outcome);
  line->stop();
  // What it has under way ends with the next turns.
  io.restart();
  io.run_for(milliseconds{200});
  if (outcome) return std::move(*outcome);
  return make_failure(errc::timed_out, how.address() + " does not answer");
}

}  // namespace herdlock::redis
