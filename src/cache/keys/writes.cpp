#include "cache/keys/writes.hpp"

#include <memory>
#include <utility>

#include "cache/keys/frame.hpp"
#include "cache/keys/loads.hpp"

namespace herdlock::runtime {

void key_writes::ages_voided(cache_key const& key, voiding how) {
  if (how == voiding::keeps_copies) return of_.ages.expired(key.str());
  of_.ages.invalidated(key.str());
}

void key_writes::voided(cache_key const& key, voiding how) {
  ages_voided(key, how);
  if (of_.plain_times) of_.plain_times->forget(key);
  of_.unstored.erase(key);
}

// The key is being written until the store has answered.
template <class Reply>
handler<Reply> key_writes::begin(cache_key const& key, handler<Reply> done) {
  return [write = of_.local.write(key, of_.home->own(key)),
          done = std::move(done)](result<Reply> reply) mutable {
    write = nullptr;
    std::move(done)(std::move(reply));
  };
}

failure key_writes::admit(put_request const& request, handler<void>& done) {
  if (!of_.lasting || closed_) return {};
  auto mine = of_.lasting->admit(request.key, request.value);
  if (mine.why.code) return std::move(mine.why);
  done = [this, keep = of_.home->keep(), key = request.key, mine = std::move(mine),
          done = std::move(done)](result<void> reply) mutable {
    auto const how = reply.has_value() ? store_end::stored : store_end::refused;
    of_.lasting->store_ended(key, mine, how);
    std::move(done)(std::move(reply));
  };
  return {};
}

void key_writes::put(put_request request, handler<void> done) {
  done = begin(request.key, std::move(done));
  if (of_.tags) return put_framed(std::move(request), std::move(done));
  send(std::move(request), std::move(done));
}

void key_writes::put_framed(put_request request, handler<void> done) {
  auto const& values = of_.home->store->values();
  if (values && of_.clock_of_store.is_needed()) {
    // The question has the put, and takes it along when the store goes.
    return of_.clock_of_store.ask(*values, [this, request = std::move(request),
                                            done = std::move(done)](result<void> const&) mutable {
      put_framed(std::move(request), std::move(done));
    });
  }
  auto const names = of_.tags->names_of(request.key);
  if (names.has_error()) {
    return detail::post_result<void>(of_.home->store->executor(), std::move(done), names.error());
  }
  auto put = [this, keep = of_.home->keep(), request = std::move(request),
              done = std::move(done)](result<std::string> tags) mutable {
    if (tags.has_error()) return std::move(done)(std::move(tags).error());
    auto const form = of_.home->form;
    auto const added = frame_bytes(form, cache_format::framed, *tags);
    failure why = check_storable(request.value, form, added);
    if (why.code) return std::move(done)(std::move(why));
    frame_entry(of_, request.value, request.ttl, {}, *std::move(tags));
    send(std::move(request), std::move(done));
  };
  if (names->empty()) return put(std::string());
  // The callback is one that can be copied.
  of_.tags->prepare(*names, [put = std::make_shared<decltype(put)>(std::move(put))](
                                result<std::string> tags) { (*put)(std::move(tags)); });
}

void key_writes::send(put_request request, handler<void> done) {
  auto const& values = of_.home->store->values();
  if (values) return values->put(std::move(request), std::move(done));
  detail::post_result<void>(of_.home->store->executor(), std::move(done),
                            of_.home->store->closed_failure());
}

void key_writes::invalidate(cache_key const& key, handler<bool> done) {
  if (of_.lasting) of_.lasting->gone(key);
  done = begin(key, std::move(done));
  auto const& values = of_.home->store->values();
  if (values) return values->invalidate(key, std::move(done));
  detail::post_result<bool>(of_.home->store->executor(), std::move(done),
                            of_.home->store->closed_failure());
}

void key_writes::expire(cache_key const& key, handler<bool> done) {
  auto const grace = of_.home->options.freshness.grace;
  if (of_.lasting && grace == milliseconds{0}) of_.lasting->gone(key);
  done = begin(key, std::move(done));
  auto const& values = of_.home->store->values();
  if (values) return values->expire(key, grace, std::move(done));
  detail::post_result<bool>(of_.home->store->executor(), std::move(done),
                            of_.home->store->closed_failure());
}

void key_writes::tag_changed(std::string const& tag, detail::tag_ending how) {
  of_.tags->changed(tag, how);
  of_.unstored.erase_if(
      [&](std::string_view key) { return of_.tags->may_have(cache_key(key), tag); });
}

void key_writes::fence() {
  of_.unstored.fence();
  if (of_.tags) of_.tags->fence();
}

}  // namespace herdlock::runtime
