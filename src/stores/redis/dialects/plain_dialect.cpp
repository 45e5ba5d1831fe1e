#include "stores/redis/dialects/plain_dialect.hpp"

#include "stores/redis/client/operation.hpp"
#include "stores/redis/lease_list.hpp"
#include "stores/redis/script_texts.hpp"
#include "stores/redis/wait_limits.hpp"

namespace herdlock::redis {
namespace {

struct plain_scripts {
  script acquire{lua::plain_acquire, "1"};
  script renew{lua::renew, "1"};
  script release{lua::plain_release, "1"};
  script inspect{lua::plain_inspect, "1"};
  script force_release{lua::plain_force_release, "1"};
};

plain_scripts const& scripts() {
  static plain_scripts const set;
  return set;
}

// What every step has: the resource for messages, the key for the server, and what stands behind
// it.
struct step {
  resource what;
  std::string key;
  std::string owner{};
  milliseconds ttl{0};

  std::string_view name() const { return what.str(); }
  void encode_as(script const& one, command_writer& out, script_form form) const {
    out.begin(one, form);
    out.add(key);
    if (!owner.empty()) out.add(owner);
    if (ttl > milliseconds{0}) out.add_number(ttl.count());
    out.end();
  }
};

struct acquire_message : step {
  using value_type = acquire_reply;
  static constexpr std::string_view verb = "acquire";
  clock::time_point asked = clock::now();

  void encode(command_writer& out, script_form form) const {
    encode_as(scripts().acquire, out, form);
  }
  result<acquire_reply> parse(reply const& answer) const {
    if (answer.kind() != reply_kind::list) {
      if (answer.number() != 1) return unexpected_reply(name());
      return acquire_reply(grant{});
    }
    auto const pttl = answer.number(1);
    if (!pttl || answer.nodes() != 3) return unexpected_reply(name());
    // Ours already: this answers a request whose reply was lost, and is not prolonged. PTTL was
    // read after `asked`, so the key lives at least so long from then. Without a ttl (somebody
    // made it PERSIST) it lives as long as was asked for. In its last millisecond it is over.
    if (answer.text(2) == owner && *pttl != 0) {
      return acquire_reply(grant{{}, grant_term{asked, *pttl > 0 ? milliseconds(*pttl) : ttl}});
    }
    return acquire_reply(busy{owner_label(answer.text(2)), remaining_of(*pttl)});
  }
};

struct renew_message : step {
  using value_type = renew_reply;
  static constexpr std::string_view verb = "renew";

  void encode(command_writer& out, script_form form) const {
    encode_as(scripts().renew, out, form);
  }
  result<renew_reply> parse(reply const& answer) const {
    return yes_or_no(answer, name(), renew_reply::renewed, renew_reply::lost);
  }
};

struct release_message : step {
  using value_type = release_reply;
  static constexpr std::string_view verb = "release";

  void encode(command_writer& out, script_form form) const {
    encode_as(scripts().release, out, form);
  }
  result<release_reply> parse(reply const& answer) const {
    return yes_or_no(answer, name(), release_reply::released, release_reply::lost);
  }
};

struct force_release_message : step {
  using value_type = release_reply;
  static constexpr std::string_view verb = "force the release of";

  void encode(command_writer& out, script_form form) const {
    encode_as(scripts().force_release, out, form);
  }
  result<release_reply> parse(reply const& answer) const {
    return yes_or_no(answer, name(), release_reply::released, release_reply::lost);
  }
};

struct inspect_message : step {
  using value_type = std::optional<lease_info>;
  static constexpr std::string_view verb = "inspect";

  void encode(command_writer& out, script_form form) const {
    encode_as(scripts().inspect, out, form);
  }
  result<value_type> parse(reply const& answer) const {
    if (answer.kind() == reply_kind::null) return value_type();
    auto const pttl = answer.number(1);
    if (!pttl || answer.nodes() != 3) return unexpected_reply(name());
    return value_type(lease_info{owner_label(answer.text(2)), {}, remaining_of(*pttl)});
  }
};

class plain_dialect final : public lease_store {
 public:
  explicit plain_dialect(std::shared_ptr<connection> commands)
      : connection_(std::move(commands)),
        list_(connection_->executor(), leases_of_dialect(connection_)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    start(acquire_message{on(std::move(request.name), request.owner.str(), request.ttl)},
          std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    start(renew_message{on(std::move(name), owner.str(), ttl)}, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    start(release_message{on(std::move(name), owner.str())}, std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start(inspect_message{on(std::move(name))}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start(force_release_message{on(std::move(name))}, std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    list_.part(std::move(request), std::move(done));
  }
  bool may_have_sent() const override { return connection_->may_have_sent(); }

 private:
  step on(resource name, std::string owner = {}, milliseconds ttl = {}) const {
    std::string key = connection_->how().prefix + name.str();
    return {std::move(name), std::move(key), std::move(owner), ttl};
  }
  template <class Message>
  void start(Message call, handler<typename Message::value_type> done) {
    operation<Message>::start(*connection_, std::move(call), std::move(done));
  }

  std::shared_ptr<connection> connection_;
  lease_list list_;
};

}  // namespace

std::shared_ptr<lease_store> make_plain_dialect(std::shared_ptr<connection> commands) {
  return std::make_shared<plain_dialect>(std::move(commands));
}

}  // namespace herdlock::redis
