#include "stores/etcd/watch_hub.hpp"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <deque>

#include "stores/etcd/quietly.hpp"

namespace herdlock::etcd {
namespace {

constexpr milliseconds first_pause{20};
constexpr milliseconds longest_pause{1000};
constexpr std::size_t most_left = 256;

}  // namespace

struct watch_hub::stream {
  stream(opened_stream opened, asio::any_io_executor const& executor)
      : link(std::move(opened.link)), member(opened.member), heartbeat(executor) {}

  void end() {
    ended = true;
    link->close();
    heartbeat.cancel();
  }

  std::unique_ptr<connection> link;
  std::size_t member;
  timer heartbeat;
  std::deque<watch_id> left;  ///< removed and not cancelled; they end with the stream
  std::string outbox;         ///< what the present write does not have
  bool writing = false;
  bool heard = true;   ///< since the last heartbeat
  bool stood = false;  ///< a watch was created on it
  bool ended = false;
};

watch_hub::watch_id watch_hub::add(watched_keys what, told tell) {
  watch_id const id = ++last_id_;
  if (stream_) send(stream_, watch_create_request(id, what));
  watches_.emplace(id, watch{std::move(what), std::move(tell)});
  start();
  return id;
}

void watch_hub::remove(watch_id id, rest left) {
  if (watches_.erase(id) == 0 || !stream_) return;
  if (left == rest::nothing) {
    stream_->left.push_back(id);
    if (stream_->left.size() <= most_left) return;
    id = stream_->left.front();
    stream_->left.pop_front();
  }
  send(stream_, watch_cancel_request(id));
}

void watch_hub::close() {
  closed_ = true;
  watches_.clear();
  if (stream_) stream_->end();
  if (pause_) pause_->cancel();
}

void watch_hub::start() {
  if (running_ || closed_) return;
  running_ = true;
  asio::co_spawn(gate_->executor(), run(), asio::detached);
}

asio::awaitable<void> watch_hub::run() {
  auto const self = shared_from_this();
  milliseconds pause = first_pause;
  while (!closed_ && !watches_.empty()) {
    auto opened = co_await gate_->open_stream(path::watch, clock::now() + gate_->how().timeout);
    bool stood = false;
    if (opened.link && !closed_) {
      stream_ = std::make_shared<stream>(std::move(opened), gate_->executor());
      auto const mine = stream_;
      for (auto const& [id, one] : watches_) send(mine, watch_create_request(id, one.what));
      asio::co_spawn(gate_->executor(), guard(mine), asio::detached);
      co_await read(mine);
      mine->end();
      stream_ = nullptr;
      stood = mine->stood;
    }
    pause = stood ? first_pause : std::min(pause * 2, longest_pause);
    if (closed_ || watches_.empty()) break;
    pause_ = std::make_shared<timer>(gate_->executor(), clock::now() + pause);
    co_await pause_->async_wait(quietly);
  }
  running_ = false;
}

asio::awaitable<void> watch_hub::read(std::shared_ptr<stream> on) {
  for (;;) {
    auto const line = co_await on->link->read_line();
    if (!line) {
      if (!on->ended) gate_->suspect(on->member);
      co_return;
    }
    on->heard = true;
    auto const message = watch_in(*line);
    if (!message || !on_message(*on, *message)) co_return;
  }
}

// False: the stream is of no use any more.
bool watch_hub::on_message(stream& on, watch_message const& message) {
  using kind = watch_message::kind;
  switch (message.what) {
    case kind::progress:
      return true;
    case kind::failed:
      gate_->forget_token();
      gate_->suspect(on.member);
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
bool watch_hub::on_canceled(stream& on, watch_message const& message) {
  auto const found = watches_.find(message.watch_id);
  if (found != watches_.end() && message.compact_revision > 0) {
    send(stream_, watch_create_request(message.watch_id, found->second.what));
    return true;
  }
  if (found == watches_.end() && message.watch_id > 0) return true;
  gate_->forget_token();
  gate_->suspect(on.member);
  return false;
}

void watch_hub::send(std::shared_ptr<stream> const& on, std::string const& message) {
  on->outbox += message;
  on->outbox += '\n';
  if (on->writing || on->ended) return;
  on->writing = true;
  asio::co_spawn(gate_->executor(), write(on), asio::detached);
}

asio::awaitable<void> watch_hub::write(std::shared_ptr<stream> on) {
  auto const self = shared_from_this();
  while (!on->outbox.empty() && !on->ended) {
    std::string const now = std::exchange(on->outbox, {});
    auto const ec = co_await on->link->send(now);
    if (ec) on->end();
  }
  on->writing = false;
}

// A member that hangs, or is cut off without a sign, sends nothing: not even the answer to this.
asio::awaitable<void> watch_hub::guard(std::shared_ptr<stream> on) {
  auto const self = shared_from_this();
  auto const beat = gate_->how().timeout;
  while (!on->ended) {
    on->heartbeat.expires_after(beat);
    auto const rang = co_await on->heartbeat.async_wait(quietly);
    if (std::get<0>(rang) || on->ended) co_return;
    if (!on->heard) gate_->suspect(on->member);
    if (!on->heard || watches_.empty()) co_return on->end();
    on->heard = false;
    send(on, watch_progress_request());
  }
}

}  // namespace herdlock::etcd
