#include "stores/redis/client/awaited_replies.hpp"

#include <utility>

namespace herdlock::redis {
namespace {

reply_kind kind_of(resp::node_kind kind) {
  switch (kind) {
    case resp::node_kind::null:
      return reply_kind::null;
    case resp::node_kind::number:
      return reply_kind::number;
    case resp::node_kind::error:
      return reply_kind::error;
    default:
      return kind >= resp::node_kind::list ? reply_kind::list : reply_kind::text;
  }
}

}  // namespace

void awaited_replies::sent(batch_ptr what) {
  std::size_t const replies = what->prepare_replies();
  waiting_.push_back({asker::commands, std::move(what), replies});
}

void awaited_replies::sent(asker who, std::size_t replies) {
  waiting_.push_back({who, nullptr, replies});
}

void awaited_replies::begin(resp::node const& first) {
  begun_ = true;
  is_push_ = first.kind == resp::node_kind::push;
  // Another's reply shows that the subscriptions in front of it were not refused.
  bool const refusal = is_push_ || first.kind == resp::node_kind::error;
  while (!refusal && !waiting_.empty() && waiting_.front().who == asker::subscription) {
    waiting_.pop_front();
  }
  whose_ = is_push_ || waiting_.empty() ? asker::nobody : waiting_.front().who;
  if (whose_ == asker::commands) {
    growing_ = &asked().replies[number()];
    return;
  }
  other_.clear();
  other_.trim();
  growing_ = &other_;
}

resp::parser::step awaited_replies::read(std::string_view unread) {
  std::size_t consumed = 0;
  while (true) {
    auto one = parser_.next(unread.substr(consumed));
    consumed += one.consumed;
    if (one.is == resp::parser::outcome::node && !one.aside) {
      if (!begun_) begin(one.found);
      growing_->add(kind_of(one.found.kind), one.found.elements, one.found.text);
      complete_ = one.last;
    }
    if (one.is == resp::parser::outcome::node && !complete_) continue;
    one.consumed = consumed;
    return one;
  }
}

batch_ptr awaited_replies::told() {
  begun_ = complete_ = false;
  if (is_push_) on_subscribed();
  if (whose_ == asker::nobody) return nullptr;
  auto& first = waiting_.front();
  if (++first.answered < first.replies) return nullptr;
  auto done = std::move(first.what);
  waiting_.pop_front();
  return done;
}

void awaited_replies::on_subscribed() {
  auto const what = other_.text(1);
  bool const answers = what == "subscribe" || what == "unsubscribe";
  bool const asked = !waiting_.empty() && waiting_.front().who == asker::subscription;
  if (answers && asked) waiting_.pop_front();
}

batch_ptr awaited_replies::take_unanswered() {
  complete_ = false;
  while (!waiting_.empty()) {
    auto what = std::move(waiting_.front().what);
    waiting_.pop_front();
    if (what) return what;
  }
  return nullptr;
}

}  // namespace herdlock::redis
