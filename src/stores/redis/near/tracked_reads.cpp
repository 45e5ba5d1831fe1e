#include "stores/redis/near/tracked_reads.hpp"

#include <algorithm>

#include "stores/redis/cache/cache_messages.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/near/idle_ages.hpp"

namespace herdlock::redis {
namespace {

// What a read and the question for its time left have met. They go out together, in this order: a
// change between the two is pushed between their replies.
// Why: docs/decisions/near-cache.md#near-reads-share-the-connection
class tracked_get final : public std::enable_shared_from_this<tracked_get> {
 public:
  tracked_get(std::shared_ptr<router> home, std::shared_ptr<tracking> links, tracked_read what,
              handler<tracked_value> done)
      : home_(std::move(home)),
        links_(std::move(links)),
        what_(std::move(what)),
        done_(std::move(done)) {}

  void start();

  // Of the read, each time that it is sent.
  std::unique_ptr<command> in_front(connection const& to);
  void sent() {
    read_over_ = std::exchange(announced_, std::nullopt);
    time_of_.reset();  // what was asked before this read says nothing of it
  }
  // The server will not push, or not tell the time.
  void not_tracked(failure why) {
    auto const over = std::exchange(read_over_, std::nullopt);
    if (over && why == errc::access_denied) links_->refuse(*over, std::move(why));
  }

  failure explained(reply const& answer) const {
    return server_failure(answer.text(), home_->how().display_name);
  }

  // Of the question behind it.
  void asked_time(connection const& of) { time_of_ = links_->link_of(of); }

 private:
  void on_read(result<cache_lookup> found);
  void on_time(result<std::optional<milliseconds>> left);
  void complete(result<tracked_value> outcome) {
    if (done_) std::exchange(done_, {})(std::move(outcome));
  }

  std::shared_ptr<router> home_;
  std::shared_ptr<tracking> links_;
  tracked_read what_;
  handler<tracked_value> done_;

  std::optional<link_id> announced_;  // in front of the read that is sent next
  std::optional<link_id> read_over_;
  std::optional<link_id> time_of_;
  std::optional<cache_lookup> found_;
};

// In front of a read. An ACL may permit tracking and not this.
class caching_command final : public command {
 public:
  explicit caching_command(std::weak_ptr<tracked_get> of) : of_(std::move(of)) {}

  void encode(command_writer& out, script_form) const override {
    out.request({"CLIENT", "CACHING", "YES"});
  }
  void complete(reply const&) override {}
  void fail(failure const&, completion) override {}
  bool open() const override { return false; }
  void overhear(reply const& answer) override {
    auto const read = of_.lock();
    if (answer.is_error() && read) read->not_tracked(read->explained(answer));
  }

 private:
  std::weak_ptr<tracked_get> of_;
};

struct tracked_get_message {
  using value_type = cache_lookup;
  static constexpr std::string_view verb = get_message::verb;
  get_message read;
  std::shared_ptr<tracked_get> of;

  std::string_view name() const { return read.name(); }
  std::unique_ptr<command> in_front(connection const& to) const { return of->in_front(to); }
  void encode(command_writer& out, script_form form) const {
    of->sent();
    read.encode(out, form);
  }
  result<cache_lookup> parse(reply const& answer) const { return read.parse(answer); }
};

struct time_behind_message : time_left_message {
  std::shared_ptr<tracked_get> of;

  void carried_by(connection const& wire) const { of->asked_time(wire); }
};

struct touch_message {
  using value_type = void;
  static constexpr std::string_view verb = "touch";
  cache_key key;

  std::string_view name() const { return key.str(); }
  void encode(command_writer& out, script_form) const { out.request({"TOUCH", key.str()}); }
  result<void> parse(reply const&) const { return boost::system::in_place_value; }
};

// Some keys after the other, so that a large table does not fill the connection.
class touching final : public std::enable_shared_from_this<touching> {
 public:
  touching(std::shared_ptr<router> home, std::vector<cache_key> keys, handler<void> done)
      : home_(std::move(home)), keys_(std::move(keys)), done_(std::move(done)) {}

  void next() {
    constexpr std::size_t at_once = 128;
    if (next_ == keys_.size()) {
      return detail::post_result<void>(home_->executor(), std::move(done_),
                                       boost::system::in_place_value);
    }
    auto const end = std::min(keys_.size(), next_ + at_once);
    missing_ = end - next_;
    while (next_ < end) {
      operation<touch_message>::start(*home_, {keys_[next_++]},
                                      [self = shared_from_this()](result<void> const& said) {
                                        // A server that does not answer has no use for the rest.
                                        if (said.has_error()) self->next_ = self->keys_.size();
                                        if (--self->missing_ == 0) self->next();
                                      });
    }
  }

 private:
  std::shared_ptr<router> home_;
  std::vector<cache_key> keys_;
  handler<void> done_;
  std::size_t next_ = 0;
  std::size_t missing_ = 0;
};

// A node of a cluster that has lost its slots answers a PING, and refuses to read a key of them.
struct ping_message {
  using value_type = void;
  static constexpr std::string_view verb = "ask for an answer, with";
  static constexpr bool for_this_server = true;
  std::string key;  // one that it had; empty: none, or not of a cluster

  std::string_view name() const { return key.empty() ? "PING" : "EXISTS"; }
  void encode(command_writer& out, script_form) const {
    out.begin(name());
    if (!key.empty()) out.add(key);
    out.end();
  }
  result<void> parse(reply const&) const { return boost::system::in_place_value; }
};

void tracked_get::start() {
  auto const self = shared_from_this();
  operation<tracked_get_message>::start(
      *home_, {{what_.key, what_.form, what_.form}, self},
      [self](result<cache_lookup> found) { self->on_read(std::move(found)); });
  operation<time_behind_message>::start(
      *home_, {{what_.key}, self},
      [self](result<std::optional<milliseconds>> left) { self->on_time(std::move(left)); });
}

std::unique_ptr<command> tracked_get::in_front(connection const& to) {
  announced_ = links_->link_of(to);
  if (!announced_) return nullptr;
  if (!what_.sending(*announced_)) return nullptr;
  return std::make_unique<caching_command>(weak_from_this());
}

void tracked_get::on_read(result<cache_lookup> found) {
  // The other layout: the plain read knows what that means.
  if (found.has_error() && found.error() == errc::wrong_type) {
    auto plain = [self = shared_from_this()](result<cache_lookup> seen) {
      if (seen.has_error()) return self->complete(std::move(seen).error());
      self->complete(tracked_value{*std::move(seen), std::nullopt, std::nullopt});
    };
    return operation<get_message>::start(*home_, {what_.key, what_.form, what_.form},
                                         std::move(plain));
  }
  if (found.has_error()) return complete(std::move(found).error());
  found_ = *std::move(found);
  if (read_over_) links_->note_key(*read_over_, what_.key.str());
  // Whoever may not keep it has his answer. Else the question is under way behind it.
  bool const may_be_kept = found_->has_value() && read_over_ && read_over_ == time_of_;
  if (!may_be_kept) complete(tracked_value{*std::move(found_), std::nullopt, std::nullopt});
}

void tracked_get::on_time(result<std::optional<milliseconds>> left) {
  if (!done_) return;
  if (!found_) return time_of_.reset();  // in front of the read, whose time it is not
  if (left.has_error()) {
    if (left.error() == errc::access_denied) not_tracked(left.error());
    return complete(tracked_value{*std::move(found_), std::nullopt, std::nullopt});
  }
  bool const there = left->has_value();
  complete(tracked_value{*std::move(found_), there ? read_over_ : std::nullopt, *left});
}

class tracked_reads final : public tracking_store {
 public:
  tracked_reads(std::shared_ptr<router> commands, std::shared_ptr<tracking> links,
                slot_function slots)
      : commands_(std::move(commands)),
        links_(std::move(links)),
        ages_(std::make_shared<idle_ages>(links_)),
        slots_(slots) {}

  void listen(std::weak_ptr<tracking_listener> to) override { links_->listen(std::move(to)); }

  void get(tracked_read request, handler<tracked_value> done) override {
    std::make_shared<tracked_get>(commands_, links_, std::move(request), std::move(done))->start();
  }

  void ping(link_id over, handler<void> done) override {
    if (auto const wire = links_->wire_of(over)) {
      ping_message question{slots_ ? links_->key_of(over) : std::string()};
      return operation<ping_message>::start(*wire, std::move(question), std::move(done));
    }
    detail::post_result<void>(
        commands_->executor(), std::move(done),
        commands_->how().failed(errc::unavailable, "the connection was lost"));
  }

  void touch(std::vector<cache_key> keys, handler<void> done) override {
    std::make_shared<touching>(commands_, std::move(keys), std::move(done))->next();
  }
  void ask_again() override { links_->ask_again(); }
  void evictions(handler<eviction_news> done) override {
    ages_->ask(commands_->executor(), std::move(done));
  }

  slot_function slot_of() const override { return slots_; }

 private:
  std::shared_ptr<router> commands_;
  std::shared_ptr<tracking> links_;
  std::shared_ptr<idle_ages> ages_;
  slot_function slots_;
};

}  // namespace

std::shared_ptr<tracking_store> make_tracked_reads(std::shared_ptr<router> commands,
                                                   std::shared_ptr<tracking> links,
                                                   tracking_store::slot_function slots) {
  return std::make_shared<tracked_reads>(std::move(commands), std::move(links), slots);
}

}  // namespace herdlock::redis
