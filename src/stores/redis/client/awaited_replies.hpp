// What was sent over one connection and has no reply yet, in the order of the wire; and the value
// that is coming in, which is the reply to the first of them or a push.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "resp/parser.hpp"
#include "stores/redis/client/command.hpp"

namespace herdlock::redis {

/// Pure: no socket, no clock.
class awaited_replies {
 public:
  /// Whose reply a value is.
  enum class asker {
    commands,      ///< a batch's
    greeting,      ///< HELLO's, SELECT's
    health_check,  ///< PING's
    subscription,  ///< the refusal of SUBSCRIBE or UNSUBSCRIBE, which a push answers otherwise
    nobody,        ///< a push, or a server's last word
  };

  void sent(batch_ptr what);
  void sent(asker who, std::size_t replies);

  /// Takes nodes until a value is complete; that one is to be told before the next is read.
  resp::parser::step read(std::string_view unread);
  bool complete() const { return complete_; }
  std::string const& problem() const { return parser_.problem(); }

  /// Of the value that is complete.
  asker whose() const { return whose_; }
  batch& asked() const { return *waiting_.front().what; }
  std::size_t number() const { return waiting_.front().answered; }
  /// Valid until the next read().
  reply const& value() const { return *growing_; }
  bool is_push() const { return is_push_; }

  /// The value is dealt with. Gives a batch back with its last reply.
  batch_ptr told();
  /// Null when there is none left.
  batch_ptr take_unanswered();

 private:
  struct entry {
    asker who;
    batch_ptr what;
    std::size_t replies;
    std::size_t answered = 0;
  };

  void begin(resp::node const& first);
  void on_subscribed();

  std::deque<entry> waiting_;
  resp::parser parser_;
  reply other_;               // what is no batch's
  reply* growing_ = nullptr;  // where the nodes go
  asker whose_ = asker::nobody;
  bool is_push_ = false;
  bool begun_ = false;
  bool complete_ = false;
};

}  // namespace herdlock::redis
