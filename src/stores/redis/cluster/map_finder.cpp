#include "stores/redis/cluster/map_finder.hpp"

#include "stores/redis/client/connection.hpp"
#include "stores/redis/jitter.hpp"

namespace herdlock::redis {
void map_finder::refresh() {
  if (!user_) return;
  // What a search that is under way finds may be older than the reason for this call.
  if (stage_ == stage::asking || !search_.is_new()) again_ = true;
  if (stage_ == stage::idle) pause();
}

void map_finder::pause() {
  stage_ = stage::pausing;
  run_at(timer_, begun_ + jittered(pause_), weak_from_this(), [](map_finder& self) {
    if (self.user_) self.begin();
  });
}

void map_finder::begin() {
  stage_ = stage::asking;
  begun_ = std::chrono::steady_clock::now();
  ++round_;
  probes_.clear();
  asked_ = open_ = 0;
  auto const nodes = user_->nodes_to_ask();
  if (search_.is_new()) {
    again_ = false;
    ranking_.begin_search(nodes);
  }
  for (auto& node : search_.next_round(nodes)) probes_.push_back({std::move(node)});
  ask_next();
}

// One more is asked; when it, too, is silent, the next one.
void map_finder::ask_next() {
  while (asked_ < probes_.size()) {
    auto const before = open_;
    ask(asked_++);
    if (open_ > before) break;
  }
  if (open_ == 0) return end_round();
  if (asked_ == probes_.size() && search_.ends_with_round() && !search_.best()) return;
  run_after(timer_, std::min(how_.timeout / 4, max_map_patience), weak_from_this(),
            [round = round_](map_finder& self) {
              if (!self.user_ || self.round_ != round) return;
              if (self.stage_ == stage::asking) self.on_silence();
            });
}

// The last one that was asked has its time, too; then others are asked, or a doubtful map is better
// than none.
void map_finder::on_silence() {
  for (auto const& one : probes_) {
    if (one.open) ranking_.suspect(one.at);
  }
  if (asked_ == probes_.size() && (search_.best() || !search_.ends_with_round()))
    return end_round();
  ask_next();
}

void map_finder::end_round() {
  bool const others_are_left = !search_.ends_with_round();
  bool const soon = others_are_left || search_.best();
  pause_ = std::min(2 * pause_, soon ? max_doubtful_pause : max_map_pause);
  if (others_are_left) return pause();
  auto over = std::exchange(search_, {});
  if (over.best()) return take(std::move(*over.best()), map_worth::best);
  pause();
  user_->on_no_map(over.why().code
                       ? over.why()
                       : how_.failed(errc::unavailable, "no node of the cluster answers"));
}

void map_finder::ask(std::size_t index) {
  probe& one = probes_[index];
  auto const over = user_->connection_to(one.at);
  if (!over) return;
  auto on_reply = [weak = weak_from_this(), round = round_, index](result<map_answer> answer) {
    if (auto const self = weak.lock()) self->on_answer(round, index, std::move(answer));
  };
  auto question = make_map_question(*over, one.at, std::move(on_reply));
  one.open = true;
  ++open_;
  over->submit(std::move(question));
}

void map_finder::on_answer(std::uint64_t round, std::size_t index, result<map_answer> answer) {
  if (!user_ || round != round_ || stage_ != stage::asking) return;
  probe& one = probes_[index];
  if (!std::exchange(one.open, false)) return;  // given up in on_down()
  --open_;
  if (answer.has_error()) {
    ranking_.suspect(one.at);
    search_.note(answer.error());
    return ask_next();
  }
  node_address const from = one.at;
  if (!answer->hidden.empty()) members_->warn_of_hidden_state(answer->hidden, from.text());
  if (auto const why = members_->check(answer->map, from.text()); why.code) {
    return leave(from, why);
  }
  auto const worth = ranking_.rank(from, answer->view);
  if (worth == map_worth::counts) {
    pause_ = min_map_pause;
    search_ = {};
    return take(std::move(*answer), worth);
  }
  if (worth == map_worth::best) search_.keep(std::move(*answer));
  ask_next();
}

void map_finder::take(map_answer answer, map_worth worth) {
  timer_.cancel();
  stage_ = stage::idle;
  ranking_.now_in_use(answer.view);
  members_->now_in_use(answer.map);
  user_->on_map(std::move(answer.map), worth);
  // A doubtful map is used until there is a sound one, which is looked for.
  if (again_ || worth != map_worth::counts) refresh();
}

// The connection is older than what the node has become, and would be used for commands.
void map_finder::leave(node_address const& stranger, failure const& why) {
  ranking_.suspect(stranger);
  search_.note(why);
  auto const round = round_;
  if (auto const over = user_->connection_to(stranger)) over->leave(why);
  if (user_ && round == round_ && stage_ == stage::asking) ask_next();
}

void map_finder::on_down(node_address const& node, failure const& why) {
  ranking_.suspect(node);
  if (!user_ || stage_ != stage::asking) return;
  for (auto& one : probes_) {
    if (one.at != node || !std::exchange(one.open, false)) continue;
    --open_;
    search_.note(why);
    return ask_next();
  }
}

void map_finder::close() {
  user_ = nullptr;
  timer_.cancel();
}

}  // namespace herdlock::redis
