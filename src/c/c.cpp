#include <herdlock/c.h>

#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string_view>

#include <herdlock/lock.hpp>
#include <herdlock/open.hpp>
#include <herdlock/version.hpp>

struct herdlock_store {
  herdlock::store opened;
  pid_t opened_in = ::getpid();
};

struct herdlock_lease {
  herdlock::lease held;
  std::mutex guard;
  bool told_once = false;  // under guard
  pid_t taken_in = ::getpid();
  std::optional<std::stop_callback<std::function<void()>>> on_lost{};

  explicit herdlock_lease(herdlock::lease taken) : held(std::move(taken)) {}
};

namespace {

using namespace herdlock;

int tell(herdlock_error* why, int code, char const* message) noexcept {
  if (!why) return code;
  why->code = code;
  auto const length = std::min(std::strlen(message), sizeof(why->message) - 1);
  std::memcpy(why->message, message, length);
  why->message[length] = '\0';
  return code;
}

// The threads behind a handle are the parent's: in a child of fork() a call would wait for ever.
int tell_forked(herdlock_error* why) noexcept {
  return tell(
      why, HERDLOCK_ERR_USAGE,
      "the handle belongs to the process that has made it; a child of fork() opens its own");
}

int code_of(std::error_code const& code) {
  if (code == errc::lost) return HERDLOCK_LOST;
  if (code == errc::access_denied) return HERDLOCK_ERR_DENIED;
  for (errc const passing : {errc::unavailable, errc::timed_out, errc::canceled, errc::moving}) {
    if (code == passing) return HERDLOCK_ERR_UNAVAILABLE;
  }
  for (errc const theirs :
       {errc::invalid_url, errc::unknown_scheme, errc::not_built, errc::invalid_name,
        errc::invalid_ttl, errc::invalid_owner, errc::forked}) {
    if (code == theirs) return HERDLOCK_ERR_USAGE;
  }
  return HERDLOCK_ERR_INTERNAL;
}

// No exception leaves.
template <class Call>
int guarded(herdlock_error* why, Call&& call) noexcept {
  try {
    tell(why, HERDLOCK_OK, "");
    return call();
  } catch (error const& e) {
    return tell(why, code_of(e.code()), e.what());
  } catch (std::exception const& e) {
    return tell(why, HERDLOCK_ERR_INTERNAL, e.what());
  } catch (...) {
    return tell(why, HERDLOCK_ERR_INTERNAL, "something unknown was thrown");
  }
}

acquire_options options_of(herdlock_acquire_options const& given) {
  acquire_options options;
  if (given.ttl_ms != 0) options.ttl = milliseconds(given.ttl_ms);
  options.wait = given.wait_ms < 0 ? wait_forever : milliseconds(given.wait_ms);
  options.loss_margin = milliseconds(given.loss_margin_ms);
  return options;
}

}  // namespace

static_assert(herdlock::version == std::string_view(HERDLOCK_LIBRARY_VERSION));

char const* herdlock_version(void) { return HERDLOCK_LIBRARY_VERSION; }

int herdlock_open(char const* url, herdlock_store** store, herdlock_error* why) {
  if (store) *store = nullptr;
  if (!url || !store) return tell(why, HERDLOCK_ERR_USAGE, "herdlock_open: a null pointer");
  return guarded(why, [&] {
    *store = new herdlock_store{open_store(url)};
    return HERDLOCK_OK;
  });
}

void herdlock_close(herdlock_store* store) {
  // In a child of fork() it is left alone: closing would wait for a thread of the parent's.
  if (store && store->opened_in == ::getpid()) delete store;
}

int herdlock_acquire(herdlock_store* store, char const* name,
                     herdlock_acquire_options const* options, herdlock_lease** lease,
                     herdlock_error* why) {
  if (lease) *lease = nullptr;
  if (!store || !name || !lease) {
    return tell(why, HERDLOCK_ERR_USAGE, "herdlock_acquire: a null pointer");
  }
  if (store->opened_in != ::getpid()) return tell_forked(why);
  if (options && options->size != sizeof(herdlock_acquire_options)) {
    return tell(why, HERDLOCK_ERR_USAGE,
                "herdlock_acquire: options->size must be sizeof(herdlock_acquire_options)");
  }
  return guarded(why, [&]() -> int {
    auto const asked = options_of(options ? *options : herdlock_acquire_options{});
    auto held = lock(store->opened, name).acquire(asked);
    if (!held) return tell(why, HERDLOCK_BUSY, "another holds it");
    *lease = new herdlock_lease(std::move(*held));
    return HERDLOCK_OK;
  });
}

int herdlock_lease_valid(herdlock_lease const* lease) {
  return lease && lease->taken_in == ::getpid() && lease->held.valid() ? 1 : 0;
}

uint64_t herdlock_lease_fencing(herdlock_lease const* lease) {
  return lease ? lease->held.fencing().value : 0;
}

int64_t herdlock_lease_remaining_ms(herdlock_lease const* lease) {
  if (!herdlock_lease_valid(lease)) return 0;
  auto const left = lease->held.valid_until() - herdlock::clock::now();
  auto const ms = std::chrono::duration_cast<milliseconds>(left);
  return std::max<int64_t>(0, ms.count());
}

int herdlock_lease_on_lost(herdlock_lease* lease, void (*told)(void* context), void* context,
                           herdlock_error* why) {
  if (!lease || !told) {
    return tell(why, HERDLOCK_ERR_USAGE, "herdlock_lease_on_lost: a null pointer");
  }
  if (lease->taken_in != ::getpid()) return tell_forked(why);
  return guarded(why, [&]() -> int {
    {
      std::lock_guard const guard(lease->guard);
      if (std::exchange(lease->told_once, true)) {
        return tell(why, HERDLOCK_ERR_USAGE, "herdlock_lease_on_lost: the lease has a callback");
      }
    }
    lease->on_lost.emplace(lease->held.lost_token(),
                           std::function<void()>([told, context] { told(context); }));
    return HERDLOCK_OK;
  });
}

int herdlock_release(herdlock_lease* lease, herdlock_error* why) {
  if (!lease) return tell(why, HERDLOCK_OK, "");
  if (lease->taken_in != ::getpid()) return tell_forked(why);
  int const code = guarded(why, [&]() -> int {
    auto const reply = lease->held.release();
    // Returns when no callback runs any more.
    lease->on_lost.reset();
    if (reply == release_reply::released) return HERDLOCK_OK;
    return tell(why, HERDLOCK_LOST, "the lease was lost before it was released");
  });
  delete lease;
  return code;
}
