// The keys of one call for many on their way to one run of its loader, and their answers back.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <list>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include <herdlock/detail/cache_call.hpp>

namespace herdlock {
inline namespace v0 {
namespace detail {

using key_list = std::vector<std::string>;

/// The keys of a call for many with the prefix, or why one cannot be asked for; and its options.
struct asked_keys {
  std::vector<result<cache_key>> full;
  call_options how;
};

inline asked_keys keys_of_call(cache_core const& core, key_list const& keys, loader_from whose,
                               call_options const& how) {
  asked_keys all{{}, how};
  failure const refused = core.check_call(whose, caller_wish::load, how);
  for (auto const& key : keys) {
    all.full.push_back(refused.code ? result<cache_key>(refused) : core.full_key(key));
  }
  return all;
}

/// The same for a call that blocks: a key that this thread loads would wait for itself.
inline asked_keys keys_of_blocking_call(cache_core const& core, key_list const& keys,
                                        loader_from whose, call_options const& how) {
  auto all = keys_of_call(core, keys, whose, how);
  for (std::size_t i = 0; i < keys.size(); ++i) {
    if (failure why = core.why_own_key(keys[i]); why.code) all.full[i] = std::move(why);
  }
  return all;
}

/// The loads of one run of a loader for many keys.
class load_run;
class answer_gathering;

/// Collects the loads of one call for many keys, so that they run as one, and not beside another
/// run of this call. All members on the store's executor.
class load_gathering : public std::enable_shared_from_this<load_gathering> {
 public:
  struct wanted {
    load_context context;
    load_sink sink;
  };

  /// `keys`: of which it is to be known, before a run begins, whether it has them.
  load_gathering(std::shared_ptr<runtime::posting_gate> back, std::size_t keys);
  virtual ~load_gathering();

  /// The key is to be loaded. False when the loader will not run any more.
  bool add(load_context context, load_sink sink);
  bool running() const noexcept;
  /// Whether a key may be claimed for this call now; else `later` is called behind the run that is
  /// under way.
  bool may_claim(std::function<void()> const& later);
  /// It is known whether the key is loaded now; or, as it is claimed anew, not known any more.
  void decided();
  void undecided();
  /// The key waits for a slot, or does not any more.
  void queued();
  void left_queue();
  /// The call has no use for one of its keys any more. Any thread; behind the last of them nothing
  /// of the loader is left.
  void part_ended();
  /// The answers of the call come together in `answers`.
  void answered_by(std::weak_ptr<answer_gathering> answers) { answers_ = std::move(answers); }
  void abandon();

 protected:
  /// Begins a run of the loader. False, and it does not run, when the call has gone.
  virtual bool load(std::shared_ptr<load_run> run) = 0;
  /// Nobody will ask for a run any more.
  virtual void drop_loader() {}

 private:
  friend class load_run;
  struct parts;
  void load_soon();
  void begin();
  void wake();
  void run_ended();
  void drop_loads();
  void key_asked_to_stop();

  std::unique_ptr<parts> parts_;
  std::weak_ptr<answer_gathering> answers_;
  std::atomic<std::size_t> users_;
};

/// The answers of one call for many keys come together here: on the store's executor, and, once the
/// cache has gone, where its loader ends.
class answer_gathering {
 public:
  virtual ~answer_gathering() = default;
  virtual void answer(std::size_t at, result<cache_answer> what) = 0;
  /// See cache_caller::abandon().
  virtual void abandon() = 0;
};

/// One key of a call for many. Without a gathering its cache's own loader gives it.
class cache_part final : public cache_caller {
 public:
  struct part_of_call {
    std::shared_ptr<answer_gathering> answers;
    std::shared_ptr<load_gathering> loads;
    std::size_t at;
  };
  cache_part(cache_key full_key, part_of_call part)
      : cache_caller(std::move(full_key), caller_wish::load,
                     part.loads ? loader_from::call : loader_from::cache),
        part_(std::move(part)) {}

  void complete(result<cache_answer> answer) override;
  bool start_load(load_context context, load_sink sink) override;
  void abandon() override;
  void drop_loader() override;
  bool may_claim(std::function<void()> const& later) override;
  void load_decided() override;
  void load_queued() override;

 private:
  void leave_queue();

  part_of_call part_;
  bool decided_ = false;
  bool queued_ = false;
};

// ------------------------------------------------------------- what a loader gives for one key

template <class T, class Codec>
load_outcome given_outcome(std::optional<T> value) {
  return loaded_outcome<T, Codec>(std::move(value));
}

template <class T, class Codec, class Value>
load_outcome given_outcome(result<Value> given) {
  if (given.has_error()) return {.answer = {}, .error = std::move(given).error().message};
  return given_outcome<T, Codec>(std::optional<T>(*std::move(given)));
}

/// The keys of one run of a loader, and where their outcomes go. A key without one by the end of
/// this is told that the load was unfinished. It may be asked to stop: when none of its keys has a
/// use for it any more.
class load_run {
 public:
  load_run(std::shared_ptr<load_gathering> home, std::shared_ptr<runtime::posting_gate> back,
           std::vector<load_gathering::wanted> loads);
  load_run(load_run const&) = delete;
  load_run& operator=(load_run const&) = delete;
  ~load_run();

  key_list const& keys() const noexcept { return keys_; }
  /// In the order of the keys.
  template <class T>
  std::vector<load_context_of<T>> contexts() const {
    return std::vector<load_context_of<T>>(contexts_.begin(), contexts_.end());
  }
  std::stop_token stop() const noexcept { return stop_.get_token(); }
  void ask_to_stop() { stop_.request_stop(); }

  template <class T, class Codec, class Values>
  void deliver(Values values);
  /// For those that have nothing yet.
  void fail(std::exception_ptr const& thrown);
  void end(load_outcome const& all);

 private:
  std::shared_ptr<load_gathering> home_;
  std::shared_ptr<runtime::posting_gate> back_;
  key_list keys_;
  std::vector<load_context> contexts_;
  std::vector<load_sink> sinks_;
  std::stop_source stop_;
  std::list<std::stop_callback<std::function<void()>>> watches_;
};

template <class T, class Codec, class Values>
void load_run::deliver(Values values) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    auto const found = values.find(keys_[i]);
    auto made = found == values.end() ? loaded_outcome<T, Codec>(std::nullopt)
                                      : given_outcome<T, Codec>(std::move(found->second));
    sinks_[i](decided_outcome<T, Codec>(std::move(made), *contexts_[i].state()));
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace herdlock
