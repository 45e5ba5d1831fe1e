#include "stores/redis/cluster/map_finder.hpp"

#include <boost/asio/post.hpp>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/server_errors.hpp"
#include "stores/redis/jitter.hpp"

namespace herdlock::redis {
namespace {

// CLUSTER SLOTS, which every version knows (CLUSTER SHARDS came with 7.0). `done` is called exactly
// once, never from inside submit(); its failure names the store and the node.
class slot_query final : public command {
 public:
  using callback = std::function<void(result<cluster_map>)>;

  slot_query(connection const& at, node_address asked, callback done)
      : executor_(at.executor()),
        store_(at.how().display_name),
        asked_(std::move(asked)),
        done_(std::move(done)) {}

  void encode(command_writer& out, script_form) const override {
    out.request({"CLUSTER", "SLOTS"});
  }
  void complete(reply const& answer) override {
    if (answer.is_error()) return fail(refusal(answer.text()), completion::now);
    auto map = cluster_map::parse(answer, asked_);
    if (map.has_error()) {
      failure const why = map.error();
      map = failure{why.code,
                    store_ + ": the cluster as " + asked_.text() + " sees it: " + why.message};
    }
    complete(std::move(map), completion::now);
  }
  void fail(failure const& why, completion when) override { complete(why, when); }
  bool open() const override { return static_cast<bool>(done_); }

 private:
  failure refusal(std::string_view line) const {
    if (line.find("cluster support disabled") == line.npos) return server_failure(line, store_);
    return make_failure(errc::not_supported,
                        store_ + ": the server at " + asked_.text() +
                            " is not part of a cluster; open it with redis:// (or rediss://) "
                            "instead of redis+cluster://");
  }
  void complete(result<cluster_map> outcome, completion when) {
    unlink();
    auto done = std::exchange(done_, nullptr);
    if (when == completion::now) return done(std::move(outcome));
    asio::post(executor_, [done = std::move(done), outcome = std::move(outcome)]() mutable {
      done(std::move(outcome));
    });
  }

  asio::any_io_executor executor_;
  std::string store_;
  node_address asked_;
  callback done_;
};

}  // namespace

void map_finder::refresh() {
  if (!user_) return;
  // What a round that is under way finds may be older than the reason for this call.
  if (stage_ == stage::asking) again_ = true;
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
      why_ = how_.failed(errc::unavailable, "no node of the cluster answers");
    }
    return user_->on_no_map(why_);
  }
  if (asked_ == probes_.size()) return;
  run_after(timer_, std::min(how_.timeout / 4, max_map_patience), weak_from_this(),
            [round = round_](map_finder& self) {
              if (!self.user_ || self.round_ != round) return;
              if (self.stage_ == stage::asking) self.ask_next();
            });
}

void map_finder::ask(std::size_t index) {
  probe& one = probes_[index];
  auto const over = user_->connection_to(one.at);
  if (!over) return;
  auto on_reply = [weak = weak_from_this(), round = round_, index](result<cluster_map> answer) {
    if (auto const self = weak.lock()) self->on_answer(round, index, std::move(answer));
  };
  auto query = std::make_unique<slot_query>(*over, one.at, std::move(on_reply));
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
