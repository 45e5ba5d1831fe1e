#include "cache/engine/warming.hpp"

namespace herdlock::runtime {
namespace {

using told = std::function<void(failure)>;

class warming_call final : public detail::cache_caller {
 public:
  warming_call(cache_key full_key, detail::caller_wish what, told done)
      : cache_caller(std::move(full_key), what, detail::loader_from::cache),
        done_(std::move(done)) {}
  void complete(result<detail::cache_answer> answer) override {
    done_(answer.has_error() ? std::move(answer).error() : failure{});
  }
  bool start_load(load_context, detail::load_sink) override { return false; }
  void abandon() override {}

 private:
  told done_;
};

void ask(cache_engine& home, cache_key const& key, detail::caller_wish wish, told done) {
  detail::caller_ptr call = std::make_shared<warming_call>(key, wish, std::move(done));
  home.submit({&call, 1});
}

}  // namespace

void warm_by_rules(std::shared_ptr<cache_engine> const& engine) {
  engine->local().warm_by([weak = std::weak_ptr(engine)](std::string const& key, told done) {
    auto const home = weak.lock();
    if (!home) return;
    auto const full = cache_key::parse(home->common().options.prefix + key);
    if (full.has_error()) return done(full.error());
    // A loaded value is kept from its next read on.
    auto on_loaded = [weak, key = *full, done = std::move(done)](failure const& why) {
      done(why);
      if (auto const still = weak.lock()) {
        ask(*still, key, detail::caller_wish::look, [](failure const&) {});
      }
    };
    ask(*home, *full, detail::caller_wish::load, std::move(on_loaded));
  });
}

}  // namespace herdlock::runtime
