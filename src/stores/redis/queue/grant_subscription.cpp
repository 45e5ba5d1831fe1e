#include "stores/redis/queue/grant_subscription.hpp"

#include "stores/redis/client/operation.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace herdlock::redis {
namespace {

constexpr std::string_view beat_word = "beat ";

struct beat_message {
  using value_type = std::int64_t;
  static constexpr std::string_view verb = "publish to";
  static constexpr bool for_this_server = true;
  std::string channel;
  std::string text;

  std::string_view name() const { return channel; }
  void encode(command_writer& out, script_form) const { out.request({"PUBLISH", channel, text}); }
  result<std::int64_t> parse(reply const& answer) const { return answer.number().value_or(0); }
};

// The secret of an owner token is as good a random source as any.
std::string random_name() {
  auto const token = owner_token::generate();
  return token.str().substr(token.str().rfind(':') + 1);
}

}  // namespace

std::optional<pushed_grant> parse_grant(std::string_view text) {
  auto const fence = take_number<std::uint64_t>(text, ' ');
  auto const ttl = fence ? take_number<std::uint64_t>(text, ' ') : std::nullopt;
  auto const length = ttl ? take_number<std::uint64_t>(text, ' ') : std::nullopt;
  if (!length || *length > limits::max_owner_bytes || text.size() <= *length ||
      text[*length] != ' ' || *ttl > static_cast<std::uint64_t>(limits::max_ttl.count())) {
    return std::nullopt;
  }
  return pushed_grant{{*fence},
                      milliseconds(static_cast<milliseconds::rep>(*ttl)),
                      text.substr(0, *length),
                      text.substr(*length + 1),
                      std::nullopt};
}

grant_subscription::grant_subscription(std::shared_ptr<connection> commands,
                                       std::shared_ptr<connection> pushes)
    : commands_(std::move(commands)),
      pushes_(std::move(pushes)),
      subscriber_(commands_->how().part == server_part::cluster_node ? "@" + random_name()
                                                                     : random_name()),
      name_(std::string(grant_channel_prefix) + subscriber_) {}

void grant_subscription::beat(milliseconds at_least_every) {
  if (!listening()) return;
  auto const now = clock::now();
  // Less a little, for a timer that is early.
  if (beaten_at_ && now - *beaten_at_ < at_least_every * 9 / 10) return;
  beaten_at_ = now;
  if (beats_.size() == max_beats_under_way) beats_.pop_front();
  beats_.push_back({++last_beat_, now});
  operation<beat_message>::start(
      *commands_, beat_message{name_, std::string(beat_word) + std::to_string(last_beat_)},
      [now = std::weak_ptr(subscriptions_), then = *subscriptions_, line = std::weak_ptr(pushes_),
       server = commands_->how().display_name](result<std::int64_t> const& heard) {
        auto const current = now.lock();
        auto const to = line.lock();
        bool const unheard = heard.has_value() && *heard == 0;
        if (!unheard || !to || !current || *current != then) return;
        // The commands' server does not push to this connection: they lead to different servers.
        to->leave(make_failure(errc::unavailable,
                               server + ": the pushing connection leads to another server"));
      });
}

void grant_subscription::open() {
  if (std::exchange(wanted_, true)) return;
  pushes_->open();
  if (pushes_->up()) subscribe();
}

void grant_subscription::close() {
  wanted_ = false;
  on_connection_down();
  pushes_->close();
}

void grant_subscription::subscribe() {
  state_ = state::asked;
  pushes_->subscription("SUBSCRIBE", name_);
}

void grant_subscription::on_connection_up() {
  if (wanted_) subscribe();
}

// What was proved by the old connection is not carried over to the next.
void grant_subscription::on_connection_down() {
  bool const listened = std::exchange(state_, state::down) == state::listening;
  beats_.clear();
  beaten_at_.reset();
  since_.reset();
  auto const to = listener_.lock();
  if (to && listened) to->on_silent(*this);
}

void grant_subscription::on_message(reply const& message) {
  if (message.is_error()) {
    if (state_ == state::asked) state_ = state::refused;
    return;
  }
  if (message.nodes() < 4 || message.text(2) != name_) return;
  auto const to = listener_.lock();
  // Also after a refusal, which may have been for somebody else's subscription.
  if (message.text(1) == "subscribe" && state_ != state::down) {
    state_ = state::listening;
    ++*subscriptions_;
    if (to) to->on_listening(*this);
    return;
  }
  if (message.text(1) != "message") return;
  std::string_view const text = message.text(3);
  if (text.starts_with(beat_word)) return on_beat(text.substr(beat_word.size()));
  auto heard = parse_grant(text);
  if (!heard || !to) return;
  heard->since = since_;
  to->on_grant(*this, *heard);
}

void grant_subscription::on_beat(std::string_view number) {
  auto const value = whole_number<std::uint64_t>(number).value_or(0);
  while (!beats_.empty() && beats_.front().number <= value) {
    if (beats_.front().number == value) since_ = beats_.front().at;
    beats_.pop_front();
  }
}

}  // namespace herdlock::redis
