#include "stores/redis/lease_port.hpp"

#include "stores/redis/typed_command.hpp"

namespace herdlock::redis {
namespace {

// PTTL is -1 for a key without a ttl: a plain client's lock for ever. 0 is "unknown".
milliseconds remaining_of(std::int64_t pttl) { return milliseconds(pttl > 0 ? pttl : 0); }

struct acquire_call {
  using value_type = acquire_reply;
  static constexpr std::string_view verb = "acquire";
  acquire_request asked;

  std::string_view name() const { return asked.name.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(scripts().acquire, form);
    out.add(asked.name.str());
    out.add_side_key(asked.name.str(), fence_role);
    out.add(asked.owner.str());
    out.add_number(asked.ttl.count());
    out.end();
  }
  result<acquire_reply> parse(reply const& answer) const {
    if (answer.kind() == reply_kind::list) {
      auto const pttl = answer.number(1);
      if (!pttl || answer.nodes() != 3) return unexpected_reply(name());
      return acquire_reply(busy{owner_label(answer.text(2)), remaining_of(*pttl)});
    }
    auto const fence = answer.number();
    if (!fence || *fence <= 0) return unexpected_reply(name());
    return acquire_reply(grant{{static_cast<std::uint64_t>(*fence)}});
  }
};

struct renew_call {
  using value_type = renew_reply;
  static constexpr std::string_view verb = "renew";
  resource what;
  owner_token owner;
  milliseconds ttl;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(scripts().renew, form);
    out.add(what.str());
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
  resource what;
  owner_token owner;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(scripts().release, form);
    out.add(what.str());
    out.add(owner.str());
    out.end();
  }
  result<release_reply> parse(reply const& answer) const { return parse_release(answer, name()); }
};

struct force_release_call {
  using value_type = release_reply;
  static constexpr std::string_view verb = "force the release of";
  resource what;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(scripts().force_release, form);
    out.add(what.str());
    out.end();
  }
  result<release_reply> parse(reply const& answer) const { return parse_release(answer, name()); }
};

struct inspect_call {
  using value_type = std::optional<lease_info>;
  static constexpr std::string_view verb = "inspect";
  resource what;

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(scripts().inspect, form);
    out.add(what.str());
    out.add_side_key(what.str(), fence_role);
    out.end();
  }
  result<value_type> parse(reply const& answer) const {
    if (answer.kind() == reply_kind::null) return value_type();
    auto const pttl = answer.number(1);
    auto const fence = answer.number(3);
    if (!pttl || !fence || answer.nodes() != 4) return unexpected_reply(name());
    return value_type(lease_info{
        owner_label(answer.text(2)), {static_cast<std::uint64_t>(*fence)}, remaining_of(*pttl)});
  }
};

class lease_port final : public lease_store {
 public:
  explicit lease_port(std::shared_ptr<router> commands) : link_(std::move(commands)) {}

  void acquire(acquire_request request, handler<acquire_reply> done) override {
    if (auto const bad = check_ttl(request.ttl); bad.code) return refuse(bad, std::move(done));
    start(acquire_call{std::move(request)}, std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    if (auto const bad = check_ttl(ttl); bad.code) return refuse(bad, std::move(done));
    start(renew_call{std::move(name), std::move(owner), ttl}, std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    start(release_call{std::move(name), std::move(owner)}, std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start(inspect_call{std::move(name)}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start(force_release_call{std::move(name)}, std::move(done));
  }

 private:
  template <class Call>
  void start(Call call, handler<typename Call::value_type> done) {
    typed_command<Call>::start(*link_, std::move(call), std::move(done));
  }
  template <class T>
  void refuse(failure const& why, handler<T> done) {
    detail::post_result(link_->executor(), std::move(done), result<T>(why));
  }

  std::shared_ptr<router> link_;
};

}  // namespace

std::shared_ptr<lease_store> make_lease_port(std::shared_ptr<router> commands) {
  return std::make_shared<lease_port>(std::move(commands));
}

}  // namespace herdlock::redis
