// One call for many keys: its loads are gathered, and its answers.
#include <herdlock/detail/cache_many.hpp>

#include <deque>

#include "algo/load_callers.hpp"
#include "cache/engine/posting_gate.hpp"

namespace herdlock {
inline namespace v0 {
namespace detail {

namespace {

load_outcome not_begun() {
  return failed_outcome(std::make_exception_ptr(stopped_before_it_began()));
}

}  // namespace

struct load_gathering::parts {
  parts(std::shared_ptr<runtime::posting_gate> gate, std::size_t keys)
      : back(std::move(gate)), bundle(keys) {}

  std::shared_ptr<runtime::posting_gate> back;
  algo::load_bundle bundle;
  bool posted = false;
  std::atomic<bool> abandoned = false;
  std::vector<wanted> loads = {};
  std::deque<std::function<void()>> behind_run = {};
  std::weak_ptr<load_run> run = {};
};

load_gathering::load_gathering(std::shared_ptr<runtime::posting_gate> back, std::size_t keys)
    : parts_(std::make_unique<parts>(std::move(back), keys)), users_(keys) {}

load_gathering::~load_gathering() = default;

bool load_gathering::add(load_context context, load_sink sink) {
  if (parts_->abandoned) return false;
  parts_->loads.push_back({std::move(context), std::move(sink)});
  parts_->bundle.wanted();
  load_soon();
  return true;
}

bool load_gathering::running() const noexcept { return parts_->bundle.running(); }

bool load_gathering::may_claim(std::function<void()> const& later) {
  if (!parts_->bundle.running()) return true;
  parts_->behind_run.push_back(later);
  return false;
}

void load_gathering::decided() {
  parts_->bundle.decided();
  load_soon();
}

void load_gathering::abandon() {
  parts_->abandoned = true;
  if (auto const answers = answers_.lock()) answers->abandon();
}

void load_gathering::undecided() { parts_->bundle.undecided(); }

void load_gathering::queued() { parts_->bundle.queued(); }

void load_gathering::left_queue() {
  parts_->bundle.left_queue();
  load_soon();
}

void load_gathering::part_ended() {
  if (--users_ == 0) drop_loader();
}

// The run begins in an event of its own: what was waited for tends to come together, too.
void load_gathering::load_soon() {
  bool const wakes = !parts_->behind_run.empty() && parts_->bundle.turns() > 0;
  if (!(wakes || parts_->bundle.is_due()) || std::exchange(parts_->posted, true)) return;
  auto next = [self = shared_from_this()] {
    self->parts_->posted = false;
    if (self->parts_->bundle.is_due()) return self->begin();
    self->wake();
  };
  if (!parts_->back->post(next)) drop_loads();
}

void load_gathering::begin() {
  parts_->bundle.begin();
  try {
    auto run = std::make_shared<load_run>(shared_from_this(), parts_->back,
                                          std::exchange(parts_->loads, {}));
    parts_->run = run;
    // Nothing begins for a call that is over.
    if (parts_->bundle.is_useless()) return run->end(not_begun());
    load(std::move(run));
  } catch (...) {
    // Out of memory before it began: the sinks went with it and have said so.
    run_ended();
  }
}

void load_gathering::run_ended() {
  parts_->bundle.ended();
  load_soon();
}

void load_gathering::wake() {
  auto& waiting = parts_->behind_run;
  while (!waiting.empty() && parts_->bundle.turns() > 0) {
    for (auto left = parts_->bundle.turns(); left > 0 && !waiting.empty(); --left) {
      auto const claim = std::move(waiting.front());
      waiting.pop_front();
      claim();
    }
  }
}

// The cache has gone: what waited for the next run is told here.
void load_gathering::drop_loads() {
  for (auto& one : std::exchange(parts_->loads, {})) one.sink(not_begun());
}

void load_gathering::key_asked_to_stop() {
  if (!parts_->bundle.running() || !parts_->bundle.asked_to_stop()) return;
  if (auto const run = parts_->run.lock()) run->ask_to_stop();
}

load_run::load_run(std::shared_ptr<load_gathering> home,
                   std::shared_ptr<runtime::posting_gate> back,
                   std::vector<load_gathering::wanted> loads)
    : home_(std::move(home)), back_(std::move(back)) {
  for (auto& one : loads) {
    keys_.push_back(one.context.key().str());
    contexts_.push_back(one.context);
    sinks_.push_back(std::move(one.sink));
    watches_.emplace_back(one.context.stop(), [weak = std::weak_ptr(home_)] {
      // On the store's executor, as all of the gathering.
      if (auto const gathering = weak.lock()) gathering->key_asked_to_stop();
    });
  }
}

// The gate may be shut when the cache is gone: then nobody claims anything any more.
load_run::~load_run() {
  watches_.clear();
  auto ended = [home = home_] { home->run_ended(); };
  if (!back_->post(ended)) home_->drop_loads();
}

void load_run::fail(std::exception_ptr const& thrown) { end(failed_outcome(thrown)); }

void load_run::end(load_outcome const& all) {
  for (auto& sink : sinks_) sink(all);
}

void cache_part::complete(result<cache_answer> answer) {
  load_decided();
  std::exchange(part_.answers, nullptr)->answer(part_.at, std::move(answer));
}

bool cache_part::start_load(load_context context, load_sink sink) {
  bool const begins = part_.loads && part_.loads->add(std::move(context), std::move(sink));
  load_decided();
  return begins;
}

void cache_part::abandon() {
  if (part_.answers) part_.answers->abandon();
}

void cache_part::drop_loader() {
  load_decided();
  if (auto const gathering = std::exchange(part_.loads, nullptr)) gathering->part_ended();
}

bool cache_part::may_claim(std::function<void()> const& later) {
  if (!part_.loads) return true;
  leave_queue();
  if (!part_.loads->may_claim(later)) return false;
  if (std::exchange(decided_, false)) part_.loads->undecided();
  return true;
}

void cache_part::load_queued() {
  load_decided();
  if (part_.loads && !std::exchange(queued_, true)) part_.loads->queued();
}

void cache_part::leave_queue() {
  if (part_.loads && std::exchange(queued_, false)) part_.loads->left_queue();
}

void cache_part::load_decided() {
  leave_queue();
  if (part_.loads && !std::exchange(decided_, true)) part_.loads->decided();
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
