// Asks the members of a URL of which cluster they are, before one of them is believed.
#pragma once

#include <boost/asio/awaitable.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <memory>
#include <string>
#include <vector>

#include "stores/etcd/dialing.hpp"
#include "stores/etcd/member_clusters.hpp"
#include "stores/etcd/messages.hpp"
#include "stores/etcd/settings.hpp"

namespace herdlock::etcd {

using timer = asio::basic_waitable_timer<clock>;

/// All members are called on the executor. Coroutines keep it alive while they run. It sends no
/// token, and the password only to a member that tells nothing without one.
class member_survey : public std::enable_shared_from_this<member_survey> {
 public:
  member_survey(asio::any_io_executor executor, settings how);

  /// Asks all members at the same time, and again, until they agree: success. Or why nobody is
  /// believed, at the deadline.
  asio::awaitable<failure> agree(clock::time_point deadline);

  /// Success when the member may be sent a request: what has not named our cluster is asked first.
  asio::awaitable<failure> admit(std::size_t member, clock::time_point deadline);
  /// The same, asked in any case.
  asio::awaitable<failure> ask_again(std::size_t member, clock::time_point deadline);

  /// What a member told. False: it is a stranger.
  bool heard(std::size_t member, std::string const& answer);
  bool known(std::size_t member) const { return clusters_.known(member); }
  bool has_named_one(std::size_t member) const { return !clusters_.of(member).empty(); }
  failure stranger(std::size_t member) const;

 private:
  void start();
  asio::awaitable<void> answers(clock::time_point deadline);
  asio::awaitable<void> next_answer(clock::time_point until);
  asio::awaitable<void> ask_one(std::size_t member, std::shared_ptr<dialed> at,
                                std::shared_ptr<void> end);
  asio::awaitable<failure> ask(std::size_t member, dialed& at, clock::time_point deadline);
  asio::awaitable<http_answer> question(connection& at, clock::time_point until);
  bool usable() const { return clusters_.agreed() != agreement::none; }
  bool asking() const;
  void over(std::size_t member);
  failure why_not() const;

  asio::any_io_executor executor_;
  settings how_;
  member_clusters clusters_;
  std::vector<failure> whys_;                    ///< why there was no answer to the last question
  std::vector<connection*> asked_;               ///< for start(): what is asked now; null: none
  std::vector<std::shared_ptr<timer>> waiting_;  ///< for the next answer
  clock::time_point started_{};
  bool settled_ = false;  ///< all had time to answer, and what they told was usable
};

}  // namespace herdlock::etcd
