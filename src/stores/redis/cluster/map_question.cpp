#include "stores/redis/cluster/map_question.hpp"

#include <boost/asio/post.hpp>

#include "stores/redis/client/connection.hpp"
#include "stores/redis/client/server_errors.hpp"

namespace herdlock::redis {
namespace {

// Goes out right in front of the question for the map, and is answered before it.
class view_question final : public command {
 public:
  explicit view_question(std::shared_ptr<map_answer> into) : into_(std::move(into)) {}

  void encode(command_writer& out, script_form) const override { out.request({"CLUSTER", "INFO"}); }
  void overhear(reply const& answer) override {
    if (!answer.is_error()) {
      into_->view = read_cluster_info(answer.text());
    } else if (answer.text().starts_with("NOPERM")) {
      into_->hidden = answer.text();
    }
  }
  void complete(reply const&) override {}
  void fail(failure const&, completion) override {}
  bool open() const override { return false; }

 private:
  std::shared_ptr<map_answer> into_;
};

// CLUSTER SLOTS, which every version knows (CLUSTER SHARDS came with 7.0).
class map_question final : public command {
 public:
  using callback = std::function<void(result<map_answer>)>;

  map_question(connection const& at, node_address asked, callback done)
      : executor_(at.executor()),
        store_(at.how().display_name),
        asked_(std::move(asked)),
        done_(std::move(done)) {}

  void encode(command_writer& out, script_form) const override {
    out.request({"CLUSTER", "SLOTS"});
  }
  std::unique_ptr<command> in_front() const override {
    *heard_ = {};
    return std::make_unique<view_question>(heard_);
  }
  void complete(reply const& answer) override {
    if (answer.is_error()) return fail(refusal(answer.text()), completion::now);
    auto map = cluster_map::parse(answer, asked_);
    if (map.has_error()) {
      failure const why = map.error();
      return fail(
          {why.code, store_ + ": the cluster as " + asked_.text() + " sees it: " + why.message},
          completion::now);
    }
    heard_->map = std::move(*map);
    complete(std::move(*heard_), completion::now);
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
  void complete(result<map_answer> outcome, completion when) {
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
  std::shared_ptr<map_answer> heard_ = std::make_shared<map_answer>();
};

}  // namespace

command_ptr make_map_question(connection const& at, node_address asked,
                              std::function<void(result<map_answer>)> done) {
  return std::make_unique<map_question>(at, std::move(asked), std::move(done));
}

}  // namespace herdlock::redis
