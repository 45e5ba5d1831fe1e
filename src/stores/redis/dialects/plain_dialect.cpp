#include "stores/redis/dialects/plain_dialect.hpp"

#include "stores/redis/client/typed_command.hpp"
#include "stores/redis/lease_list.hpp"
#include "stores/redis/script_texts.hpp"

namespace herdlock::redis {
namespace {

script const& acquire_script() {
  static script const one(lua::plain_acquire, "1");
  return one;
}

script const& renew_script() {
  static script const one(lua::renew, "1");
  return one;
}

script const& release_script() {
  static script const one(lua::plain_release, "1");
  return one;
}

script const& inspect_script() {
  static script const one(lua::plain_inspect, "1");
  return one;
}

script const& force_release_script() {
  static script const one(lua::plain_force_release, "1");
  return one;
}

// What every step has: the resource for messages, the key for the server.
struct subject {
  resource what;
  std::string key;

  std::string_view name() const { return what.str(); }
};

milliseconds remaining_of(std::int64_t pttl) { return milliseconds(pttl > 0 ? pttl : 0); }

struct acquire_call {
  using value_type = acquire_reply;
  static constexpr std::string_view verb = "acquire";
  subject on;
  owner_token owner;
  milliseconds ttl;
  clock::time_point asked = clock::now();

  std::string_view name() const { return on.name(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(acquire_script(), form);
    out.add(on.key);
    out.add(owner.str());
    out.add_number(ttl.count());
    out.end();
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
    if (answer.text(2) == owner.str() && *pttl != 0) {
      return acquire_reply(grant{{}, grant_term{asked, *pttl > 0 ? milliseconds(*pttl) : ttl}});
    }
    return acquire_reply(busy{owner_label(answer.text(2)), remaining_of(*pttl)});
  }
};

struct renew_call {
  using value_type = renew_reply;
  static constexpr std::string_view verb = "renew";
  subject on;
  owner_token owner;
  milliseconds ttl;

  std::string_view name() const { return on.name(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(renew_script(), form);
    out.add(on.key);
    out.add(owner.str());
    out.add_number(ttl.count());
    out.end();
  }
  result<renew_reply> parse(reply const& answer) const {
    auto const done = answer.number();
    if (!done) return unexpected_reply(name());
    return *done == 1 ? renew_reply::renewed : renew_reply::lost;
  }
};

result<release_reply> parse_release(reply const& answer, std::string_view name) {
  auto const done = answer.number();
  if (!done) return unexpected_reply(name);
  return *done == 1 ? release_reply::released : release_reply::lost;
}

struct release_call {
  using value_type = release_reply;
  static constexpr std::string_view verb = "release";
  subject on;
  owner_token owner;

  std::string_view name() const { return on.name(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(release_script(), form);
    out.add(on.key);
    out.add(owner.str());
    out.end();
  }
  result<release_reply> parse(reply const& answer) const { return parse_release(answer, name()); }
};

struct force_release_call {
  using value_type = release_reply;
  static constexpr std::string_view verb = "force the release of";
  subject on;

  std::string_view name() const { return on.name(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(force_release_script(), form);
    out.add(on.key);
    out.end();
  }
  result<release_reply> parse(reply const& answer) const { return parse_release(answer, name()); }
};

struct inspect_call {
  using value_type = std::optional<lease_info>;
  static constexpr std::string_view verb = "inspect";
  subject on;

  std::string_view name() const { return on.name(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(inspect_script(), form);
    out.add(on.key);
    out.end();
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
    start(acquire_call{on(std::move(request.name)), std::move(request.owner), request.ttl},
          std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    start(renew_call{on(std::move(name)), std::move(owner), ttl}, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    start(release_call{on(std::move(name)), std::move(owner)}, std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start(inspect_call{on(std::move(name))}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start(force_release_call{on(std::move(name))}, std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    list_.part(std::move(request), std::move(done));
  }
  bool may_have_sent() const override { return connection_->may_have_sent(); }

 private:
  subject on(resource name) const {
    std::string key = connection_->how().prefix + name.str();
    return {std::move(name), std::move(key)};
  }
  template <class Call>
  void start(Call call, handler<typename Call::value_type> done) {
    typed_command<Call>::start(*connection_, std::move(call), std::move(done));
  }
  std::shared_ptr<connection> connection_;
  lease_list list_;
};

}  // namespace

std::shared_ptr<lease_store> make_plain_dialect(std::shared_ptr<connection> commands) {
  return std::make_shared<plain_dialect>(std::move(commands));
}

}  // namespace herdlock::redis
