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

// What a verb answers with, and how messages call it.
template <getset_verb Verb>
struct answer_to;

template <>
struct answer_to<getset_verb::acquire> {
  using value_type = acquire_reply;
  static constexpr std::string_view verb = "acquire";
  static acquire_reply of(algo::getset_machine const& m, clock::time_point asked) {
    if (m.outcome() == getset_outcome::granted) return grant{};
    // What is left was counted at the reply, after `asked`.
    if (m.outcome() == getset_outcome::held_already) {
      return grant{{}, grant_term{asked, m.remaining()}};
    }
    return busy{owner_label({}), m.remaining()};
  }
};

template <>
struct answer_to<getset_verb::renew> {
  using value_type = renew_reply;
  static constexpr std::string_view verb = "renew";
  static renew_reply of(algo::getset_machine const& m, clock::time_point) {
    return m.outcome() == getset_outcome::renewed ? renew_reply::renewed : renew_reply::lost;
  }
};

struct release_answer {
  using value_type = release_reply;
  static release_reply of(algo::getset_machine const& m, clock::time_point) {
    return m.outcome() == getset_outcome::released ? release_reply::released : release_reply::lost;
  }
};
template <>
struct answer_to<getset_verb::release> : release_answer {
  static constexpr std::string_view verb = "release";
};
template <>
struct answer_to<getset_verb::force_release> : release_answer {
  static constexpr std::string_view verb = "force the release of";
};

template <>
struct answer_to<getset_verb::inspect> {
  using value_type = std::optional<lease_info>;
  static constexpr std::string_view verb = "inspect";
  static value_type of(algo::getset_machine const& m, clock::time_point) {
    if (m.outcome() != getset_outcome::held) return std::nullopt;
    return lease_info{owner_label({}), {}, m.remaining()};
  }
};

// One command of an operation.
template <getset_verb Verb>
struct step_message {
  using value_type = algo::getset_reply;
  static constexpr std::string_view verb = answer_to<Verb>::verb;
  resource what;
  std::string key;
  getset_action action;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form) const {
    using kind = getset_action::kind;
    switch (action.what) {
      case kind::set_if_absent:
        out.begin("SETNX");
        break;
      case kind::get:
        out.begin("GET");
        break;
      case kind::get_and_set:
        out.begin("GETSET");
        break;
      default:
        out.begin("DEL");
        break;
    }
    out.add(key);
    if (!action.value.empty()) out.add(action.value);
    out.end();
  }
  result<value_type> parse(reply const& answer) const {
    using kind = getset_action::kind;
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

// Does what the machine said, one command after the other. Kept alive by the command under way.
template <getset_verb Verb>
class getset_operation final : public std::enable_shared_from_this<getset_operation<Verb>> {
 public:
  using value_type = typename answer_to<Verb>::value_type;

  getset_operation(std::shared_ptr<connection> home, resource what, algo::getset_machine machine,
                   handler<value_type> done)
      : home_(std::move(home)),
        what_(std::move(what)),
        key_(home_->how().prefix + what_.str()),
        machine_(std::move(machine)),
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
    operation<step_message<Verb>>::start(
        *home_, step_message<Verb>{what_, key_, std::move(action)},
        handler<algo::getset_reply>(asio::bind_cancellation_slot(slot, std::move(on_reply))));
  }

  void resume(result<algo::getset_reply> answer) {
    if (answer.has_error()) return complete(answer.error());
    auto action = machine_.resume(*answer, wall_now());
    if (action.what == getset_action::kind::finish) {
      return complete(answer_to<Verb>::of(machine_, asked_));
    }
    // Each command has the store's timeout; begun before the first one's end, the last ends by two.
    if (clock::now() >= deadline_) return complete(too_slow());
    send(std::move(action));
  }

  failure too_slow() const {
    return make_failure(errc::timed_out, "cannot " + std::string(answer_to<Verb>::verb) + " " +
                                             in_quotes(what_.str()) + " at " +
                                             home_->how().display_name +
                                             ": the server answers too slowly for the several "
                                             "steps of dialect=getset; raise the timeout");
  }

  void complete(result<value_type> outcome) {
    detail::dispatch_result(home_->executor(), std::move(done_), std::move(outcome));
  }

  std::shared_ptr<connection> home_;
  resource what_;
  std::string key_;
  algo::getset_machine machine_;
  handler<value_type> done_;
  clock::time_point asked_ = clock::now();
  clock::time_point deadline_;
};

class getset_dialect final : public lease_store {
 public:
  explicit getset_dialect(std::shared_ptr<connection> commands)
      : connection_(std::move(commands)), list_(connection_->executor(), listed(connection_)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    start<getset_verb::acquire>(std::move(request.name), marks_of(request.owner), request.ttl,
                                std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    start<getset_verb::renew>(std::move(name), marks_of(owner), ttl, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    start<getset_verb::release>(std::move(name), marks_of(owner), {}, std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start<getset_verb::inspect>(std::move(name), {}, {}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start<getset_verb::force_release>(std::move(name), {}, {}, std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    list_.part(std::move(request), std::move(done));
  }
  bool may_have_sent() const override { return connection_->may_have_sent(); }

 private:
  // A key stays when its time is over.
  static lease_source listed(std::shared_ptr<connection> const& at) {
    auto from = leases_of_dialect(at);
    from.inspected = true;
    from.inspect = [at](resource name, handler<std::optional<lease_info>> done) {
      start_at<getset_verb::inspect>(at, std::move(name), {}, {}, std::move(done));
    };
    return from;
  }

  template <getset_verb Verb>
  static void start_at(std::shared_ptr<connection> const& at, resource name,
                       algo::getset_marks marks, milliseconds ttl,
                       handler<typename answer_to<Verb>::value_type> done) {
    algo::getset_machine machine(Verb, std::move(marks), {ttl, at->how().skew});
    std::make_shared<getset_operation<Verb>>(at, std::move(name), std::move(machine),
                                             std::move(done))
        ->start();
  }
  template <getset_verb Verb>
  void start(resource name, algo::getset_marks marks, milliseconds ttl,
             handler<typename answer_to<Verb>::value_type> done) {
    start_at<Verb>(connection_, std::move(name), std::move(marks), ttl, std::move(done));
  }
  std::shared_ptr<connection> connection_;
  lease_list list_;
};

}  // namespace

std::shared_ptr<lease_store> make_getset_dialect(std::shared_ptr<connection> commands) {
  return std::make_shared<getset_dialect>(std::move(commands));
}

}  // namespace herdlock::redis
