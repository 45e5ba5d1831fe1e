// One call for many keys: its loads are gathered, and its answers.
#include <herdlock/detail/cache_many.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

void load_gathering::add(load_context context, load_sink sink) {
  wanted_.push_back({std::move(context), std::move(sink)});
  if (undecided_ == 0) load_soon();
}

void load_gathering::decided() {
  if (--undecided_ == 0 && !wanted_.empty()) load_soon();
}

// In an event of its own: what was waited for tends to come together, too.
void load_gathering::load_soon() {
  if (std::exchange(posted_, true)) return;
  asio::post(executor_, [self = shared_from_this()] {
    self->posted_ = false;
    try {
      self->load(std::exchange(self->wanted_, {}));
    } catch (...) {
      // Out of memory or threads before it began: the sinks went with it and have said so.
    }
  });
}

void cache_part::complete(result<cache_answer> answer) {
  load_decided();
  std::exchange(part_.answers, nullptr)->answer(part_.at, std::move(answer));
}

void cache_part::start_load(load_context context, load_sink sink) {
  if (part_.loads) part_.loads->add(std::move(context), std::move(sink));
  load_decided();
}

void cache_part::drop_loader() {
  load_decided();
  part_.loads.reset();
}

void cache_part::load_decided() {
  if (part_.loads && !std::exchange(decided_, true)) part_.loads->decided();
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
