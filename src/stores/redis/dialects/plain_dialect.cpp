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
  script pass_on{lua::pass_on, "1"};
  script inspect{lua::plain_inspect, "1"};
  script force_release{lua::plain_force_release, "1"};
};

plain_scripts const& scripts() {
  static plain_scripts const set;
  return set;
}

// A step that answers with a Value: the resource for messages, the key for the server, and what
// stands behind it.
template <class Value>
struct step {
  using value_type = Value;
  std::string_view verb;
  script const& text;
  resource what;
  std::string owner{};
  milliseconds ttl{0};
  std::string key{};  // with the prefix; set when it starts

  std::string_view name() const { return what.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(text, form);
    out.add(key);
    if (!owner.empty()) out.add(owner);
    if (ttl > milliseconds{0}) out.add_number(ttl.count());
    out.end();
  }
};

// Of a renewal and the releases.
template <class Reply>
struct yes_or_no_step : step<Reply> {
  result<Reply> parse(reply const& answer) const { return yes_or_no<Reply>(answer, this->name()); }
};

struct leave_step : yes_or_no_step<release_reply> {
  std::string left_to;

  void encode(command_writer& out, script_form form) const {
    out.begin(text, form);
    out.add(key);
    out.add(owner);
    out.add(left_to);
    out.add_number(ttl.count());
    out.end();
  }
};

struct acquire_step : step<acquire_reply> {
  clock::time_point asked = clock::now();

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
      return acquire_reply(grant{{}, grant_validity{asked, *pttl > 0 ? milliseconds(*pttl) : ttl}});
    }
    return acquire_reply(busy{owner_label(answer.text(2)), remaining_of(*pttl)});
  }
};

struct inspect_step : step<std::optional<lease_info>> {
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
    start(acquire_step{{"acquire", scripts().acquire, std::move(request.name), request.owner.str(),
                        request.ttl}},
          std::move(done));
  }
  void renew(resource name, owner_token owner, milliseconds ttl,
             handler<renew_reply> done) override {
    start(
        yes_or_no_step<renew_reply>{{"renew", scripts().renew, std::move(name), owner.str(), ttl}},
        std::move(done));
  }
  void release(resource name, owner_token owner, handler<release_reply> done) override {
    start(
        yes_or_no_step<release_reply>{{"release", scripts().release, std::move(name), owner.str()}},
        std::move(done));
  }
  void leave(leave_request request, handler<release_reply> done) override {
    start(leave_step{{{"leave", scripts().pass_on, std::move(request.name), request.owner.str(),
                       request.ttl}},
                     request.left_to.str()},
          std::move(done));
  }
  void inspect(resource name, handler<std::optional<lease_info>> done) override {
    start(inspect_step{{"inspect", scripts().inspect, std::move(name)}}, std::move(done));
  }
  void force_release(resource name, handler<release_reply> done) override {
    start(yes_or_no_step<release_reply>{{"force the release of", scripts().force_release,
                                         std::move(name)}},
          std::move(done));
  }
  void list(list_request request, handler<lease_page> done) override {
    list_.part(std::move(request), std::move(done));
  }
  void on_new_connection(std::function<void()> told) override {
    if (auto const& news = connection_->how().news) news->listen(std::move(told));
  }
  bool may_have_sent() const override { return connection_->may_have_sent(); }

 private:
  template <class Step>
  void start(Step one, handler<typename Step::value_type> done) {
    one.key = connection_->how().prefix + one.what.str();
    operation<Step>::start(*connection_, std::move(one), std::move(done));
  }

  std::shared_ptr<connection> connection_;
  lease_list list_;
};

}  // namespace

std::shared_ptr<lease_store> make_plain_dialect(std::shared_ptr<connection> commands) {
  return std::make_shared<plain_dialect>(std::move(commands));
}

}  // namespace herdlock::redis
