#include "stores/redis/cache/cache_port.hpp"

#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/cancellation_signal.hpp>

#include "stores/common/pending.hpp"
#include "stores/redis/cache/entry_codec.hpp"
#include "stores/redis/client/operation.hpp"
#include "stores/redis/scripts/cache_scripts.hpp"
#include "stores/redis/wait_limits.hpp"

namespace herdlock::redis {
namespace {

// Field, content, field, … from node `first` on.
hash_fields read_fields(reply const& answer, std::size_t first) {
  hash_fields fields;
  fields.reserve((answer.nodes() - first) / 2);
  for (std::size_t i = first; i + 1 < answer.nodes(); i += 2) {
    fields.emplace_back(answer.text(i), answer.text(i + 1));
  }
  return fields;
}

void add_value(command_writer& out, cache_value const& value) {
  if (std::holds_alternative<absent>(value)) out.add(absent_marker);
  if (auto const* text = std::get_if<std::string>(&value)) out.add(*text);
  if (auto const* fields = std::get_if<hash_fields>(&value)) {
    for (auto const& [field, content] : *fields) {
      out.add(field);
      out.add(content);
    }
  }
}

// value, claim, error, fence: what a claim and the writing scripts touch.
void add_entry_keys(command_writer& out, cache_key const& key) {
  out.add(key.str());
  out.add_side_key(key.str(), claim_role);
  out.add_side_key(key.str(), error_role);
  out.add_side_key(key.str(), claim_fence_role);
}

result<fill_reply> parse_fill(reply const& answer, std::string_view name) {
  auto const stored = yes_or_no<bool>(answer, name);
  if (!stored) return stored.error();
  return *stored ? fill_reply::stored : fill_reply::superseded;
}

// The hit path: GET or HGETALL, nothing else. A negative entry is kept in the layout of the claim
// that made it, or as a string when a put did, and answers readers of both layouts: only when the
// server says WRONGTYPE a second command finds it.
struct get_message {
  using value_type = cache_lookup;
  static constexpr std::string_view verb = "read";
  cache_key key;
  layout asked;
  layout read;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form) const {
    out.begin(read == layout::hash ? "HGETALL" : "GET");
    out.add(key.str());
    out.end();
  }
  result<cache_lookup> parse(reply const& answer) const {
    cache_lookup found;
    if (read == layout::hash) {
      if (answer.kind() != reply_kind::list) return unexpected_reply(name());
      if (answer.nodes() > 1) found = hash_entry(read_fields(answer, 1));
    } else if (answer.kind() == reply_kind::text) {
      found = string_entry(answer.text());
    }
    if (found && read != asked) {
      if (auto const bad = check_layout(key, *found, asked); bad.code) return bad;
    }
    return found;
  }
  std::optional<get_message> after_error(reply const& answer) const {
    if (read != asked || !answer.text().starts_with("WRONGTYPE")) return std::nullopt;
    return get_message{key, asked, asked == layout::hash ? layout::string : layout::hash};
  }
};

struct claim_message {
  using value_type = claim_reply;
  static constexpr std::string_view verb = "claim";
  claim_request asked;

  std::string_view name() const { return asked.key.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(cache_scripts().claim, form);
    add_entry_keys(out, asked.key);
    out.add(asked.owner.str());
    out.add_number(asked.ttl.count());
    out.add(layout_letter(asked.form));
    out.end();
  }
  result<claim_reply> parse(reply const& answer) const {
    if (answer.kind() != reply_kind::list) {
      auto const fence = answer.number();
      if (!fence || *fence <= 0) return unexpected_reply(name());
      return claim_reply(claimed{{static_cast<std::uint64_t>(*fence)}});
    }
    std::string_view const what = answer.text(1);
    if (what == "s") return hit(string_entry(answer.text(2)));
    if (what == "h") return hit(hash_entry(read_fields(answer, 3)));
    auto const pttl = answer.number(what == "e" ? 3 : 2);
    if (!pttl) return unexpected_reply(name());
    if (what == "b") return claim_reply(claim_busy{remaining_of(*pttl)});
    return claim_reply(load_backing_off{std::string(answer.text(2)), remaining_of(*pttl)});
  }
  result<claim_reply> hit(cache_value value) const {
    if (auto const bad = check_layout(asked.key, value, asked.form); bad.code) return bad;
    return claim_reply(cache_hit{std::move(value)});
  }
};

struct extend_message {
  using value_type = renew_reply;
  static constexpr std::string_view verb = "extend the claim on";
  cache_key key;
  owner_token owner;
  milliseconds ttl;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(cache_scripts().extend, form);
    out.add_side_key(key.str(), claim_role);
    out.add(owner.str());
    out.add_number(ttl.count());
    out.end();
  }
  result<renew_reply> parse(reply const& answer) const {
    return yes_or_no<renew_reply>(answer, name());
  }
};

// What writes an entry, and tells those who watch it.
template <class Request>
struct entry_message {
  Request asked;
  std::string events;
  std::string event = value_event(asked.value);

  std::string_view name() const { return asked.key.str(); }
  void end_with_entry(command_writer& out) const {
    out.add_number(asked.ttl.count());
    out.add(kind_letter(asked.value));
    out.add_side_key(asked.key.str(), events);
    out.add(event);
    add_value(out, asked.value);
    out.end();
  }
};

struct fill_message : entry_message<fill_request> {
  using value_type = fill_reply;
  static constexpr std::string_view verb = "fill";

  void encode(command_writer& out, script_form form) const {
    out.begin(cache_scripts().fill, form);
    add_entry_keys(out, asked.key);
    out.add(asked.owner.str());
    end_with_entry(out);
  }
  result<fill_reply> parse(reply const& answer) const { return parse_fill(answer, name()); }
};

struct fail_message {
  using value_type = fill_reply;
  static constexpr std::string_view verb = "report the failed load of";
  cache_key key;
  owner_token owner;
  std::string error;
  milliseconds back_off;
  std::string events;
  std::string event = error_event(error, back_off);

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(cache_scripts().fail, form);
    out.add_side_key(key.str(), claim_role);
    out.add_side_key(key.str(), error_role);
    out.add_side_key(key.str(), claim_fence_role);
    out.add(owner.str());
    out.add_number(back_off.count());
    out.add_side_key(key.str(), events);
    out.add(event);
    out.add(error);
    out.end();
  }
  result<fill_reply> parse(reply const& answer) const { return parse_fill(answer, name()); }
};

struct put_message : entry_message<put_request> {
  using value_type = void;
  static constexpr std::string_view verb = "put";

  void encode(command_writer& out, script_form form) const {
    out.begin(cache_scripts().put, form);
    add_entry_keys(out, asked.key);
    end_with_entry(out);
  }
  result<void> parse(reply const& answer) const {
    if (answer.number() != 1) return unexpected_reply(name());
    return {};
  }
};

struct invalidate_message {
  using value_type = bool;
  static constexpr std::string_view verb = "invalidate";
  cache_key key;
  std::string events;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form form) const {
    out.begin(cache_scripts().invalidate, form);
    add_entry_keys(out, key);
    out.add_side_key(key.str(), events);
    out.add(".");  // look_event()
    out.end();
  }
  result<bool> parse(reply const& answer) const { return yes_or_no<bool>(answer, name()); }
};

// A value that came with a late event may have been replaced or removed since the caller asked:
// what is there now is read. (One that is not there any more: look again.) The caller's
// cancellation is for both steps, and counts between them, too.
class confirmed_watch final : public std::enable_shared_from_this<confirmed_watch> {
 public:
  confirmed_watch(std::shared_ptr<router> home, get_message get, handler<watch_reply> done)
      : home_(std::move(home)), get_(std::move(get)), caller_(std::move(done)) {}

  void start(cache_watches& watches, watch_request asked) {
    caller_.on_cancel([weak = weak_from_this()] {
      if (auto const self = weak.lock()) self->cancel();
    });
    auto on_event = [self = shared_from_this()](result<watch_reply> outcome) {
      self->on_event(std::move(outcome));
    };
    watches.watch(std::move(asked), asio::bind_cancellation_slot(step_.slot(), on_event));
  }

 private:
  void cancel() {
    cancelled_ = true;
    step_.emit(asio::cancellation_type::all);
  }

  void on_event(result<watch_reply> outcome) {
    if (!outcome || !std::holds_alternative<cache_hit>(*outcome)) return complete(outcome);
    if (cancelled_) {
      return complete(make_failure(
          errc::canceled, home_->how().display_name + ": the watch was cancelled by the caller"));
    }
    auto on_value = [self = shared_from_this()](result<cache_lookup> found) {
      self->on_value(std::move(found));
    };
    operation<get_message>::start(*home_, get_,
                                  asio::bind_cancellation_slot(step_.slot(), on_value));
  }

  void on_value(result<cache_lookup> found) {
    if (found.has_error()) return complete(found.error());
    if (!*found) return complete(watch_reply(look_again{}));
    complete(watch_reply(cache_hit{std::move(**found)}));
  }

  void complete(result<watch_reply> outcome) {
    caller_.dispatch(home_->executor(), std::move(outcome));
  }

  std::shared_ptr<router> home_;
  get_message get_;
  stores::pending<watch_reply> caller_;
  asio::cancellation_signal step_;  // of the step that is under way
  bool cancelled_ = false;
};

class cache_port final : public cache_store {
 public:
  cache_port(std::shared_ptr<router> commands, std::shared_ptr<cache_watches> watches)
      : router_(std::move(commands)),
        watches_(std::move(watches)),
        events_(events_role(router_->how().database)) {}

  void get(cache_key key, layout form, handler<cache_lookup> done) override {
    start(get_message{std::move(key), form, form}, std::move(done));
  }

  void claim(claim_request request, handler<claim_reply> done) override {
    start(claim_message{std::move(request)}, std::move(done));
  }

  void extend(cache_key key, owner_token owner, milliseconds ttl,
              handler<renew_reply> done) override {
    start(extend_message{std::move(key), std::move(owner), ttl}, std::move(done));
  }

  void fill(fill_request request, handler<fill_reply> done) override {
    if (auto const bad = check_entry(request.key, request.value); bad.code)
      return detail::post_result<fill_reply>(router_->executor(), std::move(done), bad);
    start(fill_message{{std::move(request), events_}}, std::move(done));
  }

  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override {
    if (error.size() > max_error_bytes) error.resize(max_error_bytes);
    start(fail_message{std::move(key), std::move(owner), std::move(error), back_off, events_},
          std::move(done));
  }

  void put(put_request request, handler<void> done) override {
    if (auto const bad = check_entry(request.key, request.value); bad.code)
      return detail::post_result<void>(router_->executor(), std::move(done), bad);
    start(put_message{{std::move(request), events_}}, std::move(done));
  }

  void invalidate(cache_key key, handler<bool> done) override {
    start(invalidate_message{std::move(key), events_}, std::move(done));
  }

  void watch(watch_request request, handler<watch_reply> done) override {
    if (auto const bad = router_->check_key(request.key.str()); bad.code) {
      return detail::post_result<watch_reply>(
          router_->executor(), std::move(done),
          make_failure(errc::invalid_name,
                       "cannot watch " + in_quotes(request.key.str()) + " at " + bad.message));
    }
    if (!router_->events_may_be_late()) return watches_->watch(std::move(request), std::move(done));
    auto get = get_message{request.key, request.form, request.form};
    auto const one = std::make_shared<confirmed_watch>(router_, std::move(get), std::move(done));
    one->start(*watches_, std::move(request));
  }

 private:
  template <class Message>
  void start(Message call, handler<typename Message::value_type> done) {
    operation<Message>::start(*router_, std::move(call), std::move(done));
  }

  std::shared_ptr<router> router_;
  std::shared_ptr<cache_watches> watches_;
  std::string events_;
};

}  // namespace

std::shared_ptr<cache_store> make_cache_port(std::shared_ptr<router> commands,
                                             std::shared_ptr<cache_watches> watches) {
  return std::make_shared<cache_port>(std::move(commands), std::move(watches));
}

}  // namespace herdlock::redis
