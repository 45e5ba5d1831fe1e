// Asks all sentinels at once where the master is.
#pragma once

#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "stores/redis/client/transport.hpp"
#include "stores/redis/sentinel/master_vote.hpp"
#include "stores/redis/settings.hpp"

namespace herdlock::redis {

/// The longest that sentinels may take for their answer; less with many of them.
inline constexpr milliseconds max_sentinel_time{500};
inline constexpr milliseconds min_sentinel_time{50};
/// The same for those that were silent when they were asked last, once all others have answered.
inline constexpr milliseconds silent_sentinel_time{50};

/// For one sentinel: the same TLS as the data servers, but an account of its own.
settings sentinel_settings(settings const& how, stores::server_address const& at,
                           milliseconds limit);

/// A connection to each of them, for one question. Ends as soon as the vote is decided, or when the
/// time is up. Let go before that, it asks no further and tells nobody. All members on the
/// executor.
class sentinel_query final : public transport_listener,
                             public std::enable_shared_from_this<sentinel_query> {
 public:
  /// Called once, later. `silent`: sentinels that did not answer or refused us.
  struct outcome {
    master_vote vote;
    std::vector<stores::server_address> silent;
    failure why;  ///< when nobody has named a master
    failure_kind kind = failure_kind::temporary;
  };
  using answer = std::function<void(outcome)>;

  /// `how` has the name of the master, and no resolver. `were_silent`: when they were asked last.
  sentinel_query(asio::any_io_executor executor, settings const& how, master_vote vote,
                 std::vector<stores::server_address> were_silent);
  ~sentinel_query() override;
  sentinel_query(sentinel_query const&) = delete;
  sentinel_query& operator=(sentinel_query const&) = delete;

  void start(answer done);

 private:
  struct probe {
    std::shared_ptr<transport> over;  // null when it has answered, or cannot
    std::string name;
  };

  void begin();
  void on_ready(transport& from) override;
  void on_batch(transport& from, batch_ptr done, failure const* why) override;
  void on_ended(transport& from, failure why, failure_kind) override;
  void on_answer(std::size_t index, reply const& said, std::int64_t epoch);
  void failed(std::size_t index, failure const& why);
  void on_time_up();
  void go_on();
  bool only_the_silent_are_missing() const;
  void complete();
  void stop();
  std::size_t index_of(transport const& which) const;
  failure nobody_knows() const;

  asio::any_io_executor executor_;
  settings how_;
  master_vote vote_;
  std::vector<stores::server_address> were_silent_;
  answer done_;
  asio::steady_timer timer_;
  std::vector<probe> probes_;  // one for each sentinel of the vote
  std::vector<stores::server_address> silent_;
  bool is_short_ = false;
  std::string reasons_;
  // What those that knew no master had to say: one refused us, one knew no such name, one did
  // neither.
  bool denied_ = false;
  bool unknown_ = false;
  bool may_recover_ = false;
};

}  // namespace herdlock::redis
