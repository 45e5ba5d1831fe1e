#include "stores/redis/dialects/getset_dialect.hpp"

#include <openssl/evp.h>

#include <array>
#include <boost/asio/bind_cancellation_slot.hpp>

#include "algo/getset_machine.hpp"
#include "stores/redis/client/operation.hpp"
#include "stores/redis/lease_list.hpp"

namespace herdlock::redis {
namespace {

using algo::getset_action;
using algo::getset_outcome;
using algo::getset_verb;

algo::unix_time wall_now() {
  auto const since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<algo::unix_time>(since);
}

// 64 bits of a hash as blanks and tabs: the same owner makes the same mark, so a retry knows its
// own value without any memory here, and nobody finds the owner's secret in it.
std::string mark_of(owner_token const& owner, std::string_view use) {
  std::string const text = owner.str() + "/" + std::string(use);
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha256(), nullptr);
  std::string mark;
  for (std::size_t bit = 0; bit < 64; ++bit) {
    mark += (digest[bit / 8] >> (bit % 8) & 1) != 0 ? '\t' : ' ';
  }
  return mark;
}

algo::getset_marks marks_of(owner_token const& owner) {
  return {mark_of(owner, "held"), mark_of(owner, "bid")};
}

using algo::getset_machine;
using time_point = clock::time_point;

acquire_reply acquired(getset_machine const& m, time_point asked) {
  if (m.outcome() == getset_outcome::granted) return grant{};
  // What is left was counted at the reply, after `asked`.
  if (m.outcome() == getset_outcome::held_already) {
    return grant{{}, grant_validity{asked, m.remaining()}};
  }
  return busy{owner_label({}), m.remaining()};
}
renew_reply renewed(getset_machine const& m, time_point) {
  return m.outcome() == getset_outcome::renewed ? renew_reply::renewed : renew_reply::lost;
}
release_reply released(getset_machine const& m, time_point) {
  return m.outcome() == getset_outcome::released ? release_reply::released : release_reply::lost;
}
std::optional<lease_info> seen(getset_machine const& m, time_point) {
  if (m.outcome() != getset_outcome::held) return std::nullopt;
  return lease_info{owner_label({}), {}, m.remaining()};
}

// What is asked of the machine, how messages call it, and what its outcome means.
template <class Reply>
struct asked_verb {
  getset_verb what;
  std::string_view verb;
  Reply (*answer)(getset_machine const& m, time_point asked);
};
constexpr asked_verb<acquire_reply> to_acquire{getset_verb::acquire, "acquire", acquired};
constexpr asked_verb<renew_reply> to_renew{getset_verb::renew, "renew", renewed};
constexpr asked_verb<release_reply> to_release{getset_verb::release, "release", released};
constexpr asked_verb<release_reply> to_force{getset_verb::force_release, "force the release of",
                                             released};
constexpr asked_verb<std::optional<lease_info>> to_inspect{getset_verb::inspect, "inspect", seen};

// One command of an operation.
struct step_message {
  using value_type = algo::getset_reply;
  using kind = getset_action::kind;
  std::string_view verb;
  resource what;
  std::string key;
  getset_action action;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form) const {
    constexpr std::string_view commands[] = {"SETNX", "GET", "GETSET", "DEL"};  // by kind
    out.begin(commands[static_cast<std::size_t>(action.what)]);
    out.add(key);
    if (!action.value.empty()) out.add(action.value);
    out.end();
  }
  result<value_type> parse(reply const& answer) const {
    if (action.what == kind::get || action.what == kind::get_and_set) {
      if (answer.kind() == reply_kind::null) return value_type{};
      if (answer.kind() != reply_kind::text) return unexpected_reply(name());
      return value_type{.value = std::string(answer.text())};
    }
    auto const done = answer.number();
    if (!done) return unexpected_reply(name());
    return value_type{.done = *done == 1};
  }
};

struct lease_asked {
  resource name;
  algo::getset_marks marks{};
  milliseconds ttl{0};
};

// Does what the machine said, one command after the other. Kept alive by the command under way.
template <class Reply>
class getset_operation final : public std::enable_shared_from_this<getset_operation<Reply>> {
 public:
  getset_operation(std::shared_ptr<connection> home, asked_verb<Reply> const& asks, lease_asked of,
                   handler<Reply> done)
      : home_(std::move(home)),
        asks_(asks),
        what_(std::move(of.name)),
        key_(home_->how().prefix + what_.str()),
        machine_(asks.what, std::move(of.marks), {of.ttl, home_->how().skew}),
        done_(std::move(done)),
        deadline_(asked_ + home_->how().timeout) {}

  void start() { send(machine_.begin(wall_now())); }

 private:
  // The caller's slot leads to the command under way: a command takes it when it starts and clears
  // it when it ends, and the next one starts inside that end, so no cancellation falls between.
  void send(getset_action action) {
    auto slot = asio::get_associated_cancellation_slot(done_);
    auto on_reply = [self = this->shared_from_this()](result<algo::getset_reply> answer) {
      self->resume(std::move(answer));
    };
    operation<step_message>::start(
        *home_, step_message{asks_.verb, what_, key_, std::move(action)},
        handler<algo::getset_reply>(asio::bind_cancellation_slot(slot, std::move(on_reply))));
  }

  void resume(result<algo::getset_reply> answer) {
    if (answer.has_error()) return complete(answer.error());
    auto action = machine_.resume(*answer, wall_now());
    if (action.what == getset_action::kind::finish) {
      return complete(asks_.answer(machine_, asked_));
    }
    // Each command has the store's timeout; begun before the first one's end, the last ends by two.
    if (clock::now() >= deadline_) return complete(too_slow());
    send(std::move(action));
  }

  failure too_slow() const {
    auto const why = home_->how().failed(errc::timed_out,
                                         "the server answers too slowly for the several steps of "
                                         "dialect=getset; raise the timeout");
    return cannot(asks_.verb, what_.str(), why);
  }

  void complete(result<Reply> outcome) {
    detail::dispatch_result(home_->executor(), std::move(done_), std::move(outcome));
  }

  std::shared_ptr<connection> home_;
  asked_verb<Reply> const asks_;
  resource what_;
  std::string key_;
  getset_machine machine_;
  handler<Reply> done_;
  time_point asked_ = clock::now();
  time_point deadline_;
};

class getset_dialect final : public lease_store {
 public:
  explicit getset_dialect(std::shared_ptr<connection> commands)
      : connection_(std::move(commands)), list_(connection_->executor(), listed(connection_)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    lease_asked of{std::move(request.name), marks_of(request.owner), request.ttl};
    start(connection_, to_acquire, std::move(of), std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    start(connection_, to_renew, {std::move(name), marks_of(owner), ttl}, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    start(connection_, to_release, {std::move(name), marks_of(owner)}, std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start(connection_, to_inspect, {std::move(name)}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start(connection_, to_force, {std::move(name)}, std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    list_.part(std::move(request), std::move(done));
  }
  void on_new_connection(std::function<void()> told) override {
    if (auto const& news = connection_->how().news) news->listen(std::move(told));
  }
  bool may_have_sent() const override { return connection_->may_have_sent(); }

 private:
  // A key stays when its time is over.
  static lease_source listed(std::shared_ptr<connection> const& at) {
    auto from = leases_of_dialect(at);
    from.inspected = true;
    from.inspect = [at](resource name, handler<std::optional<lease_info>> done) {
      start(at, to_inspect, {std::move(name)}, std::move(done));
    };
    return from;
  }

  template <class Reply>
  static void start(std::shared_ptr<connection> const& at, asked_verb<Reply> const& asks,
                    lease_asked of, handler<Reply> done) {
    std::make_shared<getset_operation<Reply>>(at, asks, std::move(of), std::move(done))->start();
  }

  std::shared_ptr<connection> connection_;
  lease_list list_;
};

}  // namespace

std::shared_ptr<lease_store> make_getset_dialect(std::shared_ptr<connection> commands) {
  return std::make_shared<getset_dialect>(std::move(commands));
}

}  // namespace herdlock::redis
