// A cache store that works, records what it is asked, and fails or hangs where the test says.
#pragma once

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <herdlock/backend.hpp>
#include <herdlock/open.hpp>

#include "cache/keys/frame.hpp"

namespace herdlock::scripted {

enum class fault {
  none,
  refuse,      ///< fails, nothing done
  lose_reply,  ///< done, but the answer is "timed out"
  hang,        ///< nothing happens until the test releases it, which then is a timeout
  delay,       ///< nothing happens until the test releases it, which then does it
};

/// Remembers of the latest request which key it is for. Claims do not expire by themselves: one
/// that is left behind stays visible.
class scripted_cache_store : public cache_store {
 public:
  struct entry {
    std::optional<cache_value> value;
    std::string claimant;
    std::string error;  // not empty: backing off
  };

  explicit scripted_cache_store(asio::any_io_executor executor) : executor_(std::move(executor)) {}

  /// Asked for each operation with its name and its number among all.
  std::function<fault(std::string const& verb, std::size_t number)> script;
  errc refusal = errc::unavailable;
  errc end_of_hanging = errc::timed_out;
  std::vector<std::string> log;
  std::string asked;  // the key of what `script` is asked for
  std::map<std::string, entry> entries;
  std::vector<std::function<void()>> hanging;
  std::uint64_t fencing = 0;
  milliseconds last_back_off{-1};
  milliseconds last_ttl{0};
  std::vector<std::string> claimed_keys;
  std::map<std::string, milliseconds> claim_ttls;  // as they were asked for last
  milliseconds busy_remaining{100};
  milliseconds ttl_left{60'000};  // of each entry
  milliseconds last_keep{-1};
  std::chrono::microseconds time{1'000'000'000};
  std::deque<handler<watch_reply>> watchers;
  bool watches = false;

  std::size_t count(std::string const& verb) const {
    return static_cast<std::size_t>(std::count(log.begin(), log.end(), verb));
  }
  void release_hanging() {
    for (auto const& go : std::exchange(hanging, {})) go();
  }

  void get(cache_key key, layout, handler<cache_lookup> done) override {
    asked = key.str();
    run<cache_lookup>("get", std::move(done),
                      [this, key] { return cache_lookup(entries[key.str()].value); });
  }

  void claim(claim_request request, handler<claim_reply> done) override {
    asked = request.key.str();
    claim_ttls[asked] = request.ttl;
    claimed_keys.push_back(asked);
    run<claim_reply>("claim", std::move(done), [this, request]() -> claim_reply {
      auto& e = entries[request.key.str()];
      if (e.value &&
          (request.refresh_below == milliseconds{0} || ttl_left >= request.refresh_below)) {
        return cache_hit{*e.value};
      }
      if (!e.error.empty()) return load_backing_off{e.error, milliseconds{1000}};
      if (!e.claimant.empty() && e.claimant != request.owner.str()) {
        return claim_busy{busy_remaining};
      }
      e.claimant = request.owner.str();
      return claimed{fencing_token{++fencing}};
    });
  }

  void extend(cache_key key, owner_token owner, milliseconds, handler<renew_reply> done) override {
    run<renew_reply>("extend", std::move(done), [this, key, owner] {
      return entries[key.str()].claimant == owner.str() ? renew_reply::renewed : renew_reply::lost;
    });
  }

  void fill(fill_request request, handler<fill_reply> done) override {
    asked = request.key.str();
    run<fill_reply>("fill", std::move(done), [this, request] {
      auto& e = entries[request.key.str()];
      if (e.claimant != request.owner.str()) return fill_reply::superseded;
      last_ttl = request.ttl;
      e = {request.value, "", ""};
      return fill_reply::stored;
    });
  }

  void fail(cache_key key, owner_token owner, std::string error, milliseconds back_off,
            handler<fill_reply> done) override {
    run<fill_reply>("fail", std::move(done), [this, key, owner, error, back_off] {
      auto& e = entries[key.str()];
      if (e.claimant != owner.str()) return fill_reply::superseded;
      last_back_off = back_off;
      e.claimant.clear();
      if (back_off > milliseconds{0}) e.error = error;
      return fill_reply::stored;
    });
  }

  void put(put_request request, handler<void> done) override {
    asked = request.key.str();
    run<void>("put", std::move(done), [this, request] {
      entries[request.key.str()] = {request.value, "", ""};
      return boost::system::in_place_value;
    });
  }

  void invalidate(cache_key key, handler<bool> done) override {
    asked = key.str();
    run<bool>("invalidate", std::move(done), [this, key] {
      bool const was = entries[key.str()].value.has_value();
      entries.erase(key.str());
      return was;
    });
  }

  /// Each entry is as one with a header.
  void expire(cache_key key, milliseconds keep, handler<bool> done) override {
    asked = key.str();
    run<bool>("expire", std::move(done), [this, key, keep] {
      auto& e = entries[key.str()];
      last_keep = keep;
      bool const was = e.value.has_value();
      if (keep == milliseconds{0}) e.value.reset();
      if (e.value) runtime::mark_stale(*e.value);
      e.claimant.clear();
      e.error.clear();
      return was;
    });
  }

  void time_left(cache_key key, handler<std::optional<milliseconds>> done) override {
    run<std::optional<milliseconds>>("time_left", std::move(done), [this, key] {
      return entries[key.str()].value ? std::optional(ttl_left) : std::nullopt;
    });
  }

  void now(handler<std::chrono::microseconds> done) override {
    run<std::chrono::microseconds>("now", std::move(done), [this] { return time; });
  }

  void watch(watch_request, handler<watch_reply> done) override {
    log.push_back("watch");
    if (watches) return watchers.push_back(std::move(done));
    detail::post_result<watch_reply>(executor_, std::move(done), watch_reply(look_again{}));
  }

 private:
  template <class Reply, class Work>
  void run(std::string const& verb, handler<Reply> done, Work work) {
    log.push_back(verb);
    fault const what = script ? script(verb, log.size()) : fault::none;
    auto timeout = make_failure(end_of_hanging, "scripted");
    if (what == fault::hang) {
      auto held = std::make_shared<handler<Reply>>(std::move(done));
      hanging.push_back([this, held, timeout] {
        detail::post_result<Reply>(executor_, std::move(*held), timeout);
      });
      return;
    }
    if (what == fault::delay) {
      auto held = std::make_shared<handler<Reply>>(std::move(done));
      hanging.push_back([this, held, work] {
        detail::post_result<Reply>(executor_, std::move(*held), result<Reply>(work()));
      });
      return;
    }
    asio::post(executor_,
               [this, what, timeout, work = std::move(work), done = std::move(done)]() mutable {
                 if (what == fault::refuse) {
                   return finish<Reply>(std::move(done), make_failure(refusal, "scripted"));
                 }
                 result<Reply> reply(work());
                 if (what == fault::lose_reply)
                   return finish<Reply>(std::move(done), std::move(timeout));
                 finish<Reply>(std::move(done), std::move(reply));
               });
  }

  template <class Reply>
  void finish(handler<Reply> done, result<Reply> reply) {
    detail::dispatch_result(executor_, std::move(done), std::move(reply));
  }

  asio::any_io_executor executor_;
};

}  // namespace herdlock::scripted
