#include "stores/etcd/watch_stream.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <deque>

namespace herdlock::etcd {
namespace {

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};
constexpr std::size_t most_left = 256;

}  // namespace

struct watch_stream::stream {
  stream(opened_stream opened, asio::any_io_executor const& executor)
      : connection(std::move(opened.connection)), member(opened.member), heartbeat(executor) {}

  void end() {
    ended = true;
    connection->close();
    heartbeat.cancel();
  }

  std::unique_ptr<etcd::connection> connection;
  std::size_t member;
  timer heartbeat;
  std::deque<watch_id> left;  ///< removed and not cancelled; they end with the stream
  std::string outbox;         ///< what the present write does not have
  bool writing = false;
  bool heard = true;   ///< since the last heartbeat
  bool stood = false;  ///< a watch was created on it
  bool ended = false;
};

watch_stream::watch_id watch_stream::add(watched_keys what, told tell) {
  watch_id const id = ++last_id_;
  if (stream_) send(stream_, watch_create_request(id, what));
  watches_.emplace(id, watch{std::move(what), std::move(tell)});
  start();
  return id;
}

void watch_stream::remove(watch_id id, rest left) {
  if (watches_.erase(id) == 0 || !stream_) return;
  if (left == rest::nothing) {
    stream_->left.push_back(id);
    if (stream_->left.size() <= most_left) return;
    id = stream_->left.front();
    stream_->left.pop_front();
  }
  send(stream_, watch_cancel_request(id));
}

void watch_stream::close() {
  closed_ = true;
  watches_.clear();
  if (stream_) stream_->end();
  if (pause_) pause_->cancel();
}

void watch_stream::start() {
  if (running_ || closed_) return;
  running_ = true;
  asio::co_spawn(connections_->executor(), run(), asio::detached);
}

asio::awaitable<void> watch_stream::run() {
  auto const self = shared_from_this();
  milliseconds pause = first_pause;
  while (!closed_ && !watches_.empty()) {
    auto opened =
        co_await connections_->open_stream(path::watch, clock::now() + connections_->how().timeout);
    bool stood = false;
    if (opened.connection && !closed_) {
      stream_ = std::make_shared<stream>(std::move(opened), connections_->executor());
      auto const mine = stream_;
      for (auto const& [id, one] : watches_) send(mine, watch_create_request(id, one.what));
      asio::co_spawn(connections_->executor(), guard(mine), asio::detached);
      co_await read(mine);
      mine->end();
      stream_ = nullptr;
      stood = mine->stood;
    }
    pause = stood ? first_pause : std::min(pause * 2, longest_pause);
    if (closed_ || watches_.empty()) break;
    pause_ = std::make_shared<timer>(connections_->executor(), clock::now() + pause);
    co_await pause_->async_wait(no_throw);
  }
  running_ = false;
}

asio::awaitable<void> watch_stream::read(std::shared_ptr<stream> on) {
  for (;;) {
    auto const line = co_await on->connection->read_line();
    if (!line) {
      if (!on->ended) connections_->suspect(on->member);
      co_return;
    }
    on->heard = true;
    if (!connections_->heard(on->member, *line)) co_return;
    auto const message = watch_in(*line);
    if (!message || !on_message(*on, *message)) co_return;
  }
}

// False: the stream is of no use any more.
bool watch_stream::on_message(stream& on, watch_message const& message) {
  using kind = watch_message::kind;
  switch (message.what) {
    case kind::progress:
      return true;
    case kind::failed:
      connections_->forget_token();
      connections_->suspect(on.member);
      return false;
    case kind::canceled:
      return on_canceled(on, message);
    case kind::created:
    case kind::events:
      break;
  }
  on.stood = true;
  auto const found = watches_.find(message.watch_id);
  if (found == watches_.end()) return true;
  auto const tell = found->second.tell;  // it may remove the watch, and add another
  tell(message);
  return true;
}

// Our own cancellation is of a watch that is not in the table any more. A watch that fell behind a
// compaction begins again from the present, and its first look finds what it missed. Any other end
// (the member lost the leader, the token is no good) is the stream's.
bool watch_stream::on_canceled(stream& on, watch_message const& message) {
  auto const found = watches_.find(message.watch_id);
  if (found != watches_.end() && message.compact_revision > 0) {
    send(stream_, watch_create_request(message.watch_id, found->second.what));
    return true;
  }
  if (found == watches_.end() && message.watch_id > 0) return true;
  connections_->forget_token();
  connections_->suspect(on.member);
  return false;
}

void watch_stream::send(std::shared_ptr<stream> const& on, std::string const& message) {
  on->outbox += message;
  on->outbox += '\n';
  if (on->writing || on->ended) return;
  on->writing = true;
  asio::co_spawn(connections_->executor(), write(on), asio::detached);
}

asio::awaitable<void> watch_stream::write(std::shared_ptr<stream> on) {
  auto const self = shared_from_this();
  while (!on->outbox.empty() && !on->ended) {
    std::string const now = std::exchange(on->outbox, {});
    auto const ec = co_await on->connection->send(now);
    if (ec) on->end();
  }
  on->writing = false;
}

// A member that hangs, or is cut off without a sign, sends nothing: not even the answer to this.
asio::awaitable<void> watch_stream::guard(std::shared_ptr<stream> on) {
  auto const self = shared_from_this();
  auto const beat = connections_->how().timeout;
  while (!on->ended) {
    on->heartbeat.expires_after(beat);
    auto const rang = co_await on->heartbeat.async_wait(no_throw);
    if (std::get<0>(rang) || on->ended) co_return;
    if (!on->heard) connections_->suspect(on->member);
    if (!on->heard || watches_.empty()) co_return on->end();
    on->heard = false;
    send(on, watch_progress_request());
  }
}

}  // namespace herdlock::etcd
