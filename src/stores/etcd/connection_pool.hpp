// Exchanges with the cluster: a pool of connections, the next member when one fails, the token.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "stores/common/connection_news.hpp"
#include "stores/etcd/connection.hpp"
#include "stores/etcd/member_survey.hpp"
#include "stores/etcd/messages.hpp"
#include "stores/etcd/settings.hpp"

namespace herdlock::etcd {

/// What came of a call: an answer (body), a refusal of the server, or a failure to get either.
struct call_outcome {
  failure why;      ///< no answer by the deadline; its message is of the cluster alone
  failure told;     ///< why the last try had none that had time for one
  refusal refused;  ///< the server said no
  std::string body;
  /// More than one: an earlier one may have been carried out. Those do not count that were refused
  /// for their token.
  int attempts = 0;

  bool ok() const { return !why.code && refused.code == status::ok; }
};

/// An exchange whose answer is understood, or why it is not.
template <class Reply>
struct answer {
  std::optional<Reply> reply;
  failure why;  ///< without a reply
  refusal refused;
  int attempts = 0;
  bool ok = false;  ///< the server did it, understood or not
};

/// For a port's answer: what a refusal means to the caller.
failure failure_of(refusal const& refused);
/// Either kind; success when the outcome is ok.
failure failure_of(call_outcome const& outcome);
failure not_understood();

/// A stream to a member, and which member it is.
struct opened_stream {
  std::unique_ptr<etcd::connection> connection;  ///< null: it could not be opened
  std::size_t member = 0;
};

/// All members are called on the executor. Coroutines keep it alive while they run.
class connection_pool : public std::enable_shared_from_this<connection_pool> {
 public:
  connection_pool(asio::any_io_executor executor, settings how);

  asio::any_io_executor const& executor() const { return executor_; }
  settings const& how() const { return how_; }
  /// A little before the deadline of what a step is for: its answer tells more than the timer's.
  clock::time_point step_deadline() const {
    return clock::now() + how_.timeout - how_.timeout / 20;
  }

  /// Sends the message until it is answered or the deadline has passed: to the next member when one
  /// does not answer or has no leader, with a new token when it has expired. The message must be
  /// one that can be carried out twice.
  asio::awaitable<call_outcome> call(char const* path, std::string const& body,
                                     clock::time_point deadline);

  /// The same, with its answer read.
  template <class Reply>
  asio::awaitable<answer<Reply>> ask(exchange_kind<Reply> kind, std::string const& body,
                                     clock::time_point deadline) {
    auto outcome = co_await call(kind.path, body, deadline);
    answer<Reply> made;
    made.ok = outcome.ok();
    if (made.ok) made.reply = kind.read(outcome.body);
    made.why = failure_of(outcome);
    if (made.ok && !made.reply) made.why = not_understood();
    made.refused = std::move(outcome.refused);
    made.attempts = outcome.attempts;
    co_return made;
  }
  template <class Reply>
  asio::awaitable<answer<Reply>> ask(exchange_kind<Reply> kind, std::string const& body) {
    return ask(kind, body, step_deadline());
  }

  /// A stream to the member that calls go to at present.
  asio::awaitable<opened_stream> open_stream(char const* path, clock::time_point deadline);
  /// What a stream told. False: the member is of another cluster, and the next calls go elsewhere.
  bool heard(std::size_t member, std::string const& line);
  /// The member does not answer: the next calls go to another.
  void suspect(std::size_t member);
  /// Told when a member answers over a new connection behind one that was lost. Once, before any
  /// call.
  void on_new_connection(std::function<void()> told) { news_.listen(std::move(told)); }
  /// The server did not accept the token.
  void forget_token() { token_.clear(); }

 private:
  struct idle_connection {
    std::size_t member;
    std::unique_ptr<etcd::connection> connection;
  };

  asio::awaitable<failure> survey(clock::time_point deadline);
  asio::awaitable<bool> wait_for_slot(clock::time_point deadline);
  void give_slot_back();
  asio::awaitable<bool> attempt(char const* path, std::string const& body,
                                clock::time_point deadline, call_outcome& outcome);
  asio::awaitable<http_answer> exchange(std::size_t member, http_request const& request,
                                        clock::time_point deadline);
  asio::awaitable<refusal> authenticate(std::size_t member, clock::time_point deadline);
  asio::awaitable<failure> weigh(std::size_t member, http_answer const& answer,
                                 refusal const& refused);
  bool wants_log_in() const { return !how_.user.empty() && token_.empty() && !open_to_all_; }
  std::unique_ptr<connection> take_idle(std::size_t member);
  clock::time_point attempt_deadline(clock::time_point deadline) const;

  asio::any_io_executor executor_;
  settings how_;
  std::size_t current_ = 0;  ///< the member that is asked
  std::shared_ptr<member_survey> survey_;
  std::vector<idle_connection> idle_;
  std::size_t in_use_ = 0;
  std::deque<std::shared_ptr<timer>> queue_;  ///< for a connection; bounded by max_pending
  stores::connection_news news_;
  bool lost_one_ = false;  ///< and nobody has answered over a new one since
  std::string token_;
  bool open_to_all_ = false;  ///< the server has no authentication
};

}  // namespace herdlock::etcd
