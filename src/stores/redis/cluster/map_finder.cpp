#include "stores/redis/cluster/map_finder.hpp"

#include <boost/asio/post.hpp>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/cluster/slot_query.hpp"
#include "stores/redis/jitter.hpp"

namespace herdlock::redis {

void map_finder::refresh() {
  if (!user_) return;
  // What a round that is under way finds may be older than the reason for this call.
  if (stage_ == stage::asking) again_ = true;
  if (stage_ == stage::idle) pause();
}

void map_finder::pause() {
  stage_ = stage::pausing;
  timer_.expires_at(begun_ + jittered(pause_));
  timer_.async_wait([weak = weak_from_this()](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (!ec && self && self->user_) self->begin();
  });
}

void map_finder::begin() {
  stage_ = stage::asking;
  again_ = false;
  begun_ = std::chrono::steady_clock::now();
  ++round_;
  probes_.clear();
  asked_ = open_ = 0;
  why_ = {};
  for (auto& node : user_->nodes_to_ask()) probes_.push_back({std::move(node)});
  ask_next();
}

// One more is asked; when it, too, is silent, the next one.
void map_finder::ask_next() {
  while (asked_ < probes_.size()) {
    auto const before = open_;
    ask(asked_++);
    if (open_ > before) break;
  }
  if (open_ == 0) {
    pause_ = std::min(2 * pause_, max_map_pause);
    pause();
    if (!why_.code) {
      why_ =
          make_failure(errc::unavailable, how_.display_name + ": no node of the cluster answers");
    }
    return user_->on_no_map(why_);
  }
  if (asked_ == probes_.size()) return;
  timer_.expires_after(std::min(how_.timeout / 4, max_map_patience));
  timer_.async_wait([weak = weak_from_this(), round = round_](boost::system::error_code ec) {
    auto const self = weak.lock();
    if (ec || !self || !self->user_ || self->round_ != round) return;
    if (self->stage_ == stage::asking) self->ask_next();
  });
}

void map_finder::ask(std::size_t index) {
  probe& one = probes_[index];
  auto const over = user_->connection_to(one.at);
  if (!over) return;
  auto on_reply = [weak = weak_from_this(), round = round_, index](result<cluster_map> answer) {
    if (auto const self = weak.lock()) self->on_answer(round, index, std::move(answer));
  };
  auto query =
      std::make_unique<slot_query>(executor_, how_.display_name, one.at, std::move(on_reply));
  one.open = true;
  ++open_;
  over->submit(std::move(query));
}

void map_finder::on_answer(std::uint64_t round, std::size_t index, result<cluster_map> answer) {
  if (!user_ || round != round_ || stage_ != stage::asking) return;
  probe& one = probes_[index];
  if (!std::exchange(one.open, false)) return;  // given up in on_down()
  --open_;
  if (answer.has_error()) {
    note(answer.error());
    return ask_next();
  }
  node_address const from = one.at;
  timer_.cancel();
  pause_ = min_map_pause;
  stage_ = stage::idle;
  user_->on_map(std::move(*answer), from);
  if (again_) refresh();
}

void map_finder::on_down(node_address const& node, failure const& why) {
  if (!user_ || stage_ != stage::asking) return;
  for (auto& one : probes_) {
    if (one.at != node || !std::exchange(one.open, false)) continue;
    --open_;
    note(why);
    return ask_next();
  }
}

// That a node refuses us, or is no cluster's, says more than that another one cannot be reached.
void map_finder::note(failure const& why) {
  bool const is_silence = why == errc::unavailable || why == errc::timed_out;
  if (!why_.code || !is_silence) why_ = why;
}

void map_finder::close() {
  user_ = nullptr;
  timer_.cancel();
}

}  // namespace herdlock::redis
