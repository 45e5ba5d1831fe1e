/* herdlock for C, and for every language that can call C: open, acquire, valid, fencing, release.
 *
 *   herdlock_store *store;
 *   herdlock_lease *lease;
 *   herdlock_error why;
 *   if (herdlock_open("redis://127.0.0.1", &store, &why) != HERDLOCK_OK) return fail(why.message);
 *   switch (herdlock_acquire(store, "nightly", NULL, &lease, &why)) {
 *     case HERDLOCK_OK: work(herdlock_lease_fencing(lease)); herdlock_release(lease, &why); break;
 *     case HERDLOCK_BUSY: break;
 *     default: fail(why.message);
 *   }
 *   herdlock_close(store);
 *
 * Threads: every function may be called from any thread, on the same store from several at once.
 * On one lease, herdlock_release() must not overlap with another call. A handle must not be used
 * after herdlock_close() or herdlock_release(). A store may be closed before its leases: it goes
 * when the last of them does. Calls block; none may be made from a loss callback, except valid,
 * fencing and remaining. A handle belongs to the process that has made it: in a child of fork()
 * every call with it answers HERDLOCK_ERR_USAGE, valid and remaining say 0, and close does nothing.
 *
 * No C++ exception crosses: what cannot be answered is HERDLOCK_ERR_INTERNAL. A null pointer where
 * one is needed is HERDLOCK_ERR_USAGE. `why` may be null.
 */
#ifndef HERDLOCK_C_H
#define HERDLOCK_C_H

#include <stddef.h>
#include <stdint.h>

#if defined(__GNUC__)
#define HERDLOCK_API __attribute__((visibility("default")))
#else
#define HERDLOCK_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct herdlock_store herdlock_store;
typedef struct herdlock_lease herdlock_lease;

/* What the functions return. */
enum {
  HERDLOCK_OK = 0,
  HERDLOCK_BUSY = 1,             /* another held it until the wait was over: no error */
  HERDLOCK_LOST = 2,             /* the lease was not ours any more: others may have been at it */
  HERDLOCK_ERR_USAGE = -1,       /* a URL, a name, a time that makes no sense; a null pointer */
  HERDLOCK_ERR_UNAVAILABLE = -2, /* the store cannot answer, or not in time */
  HERDLOCK_ERR_DENIED = -3,      /* wrong password, missing right */
  HERDLOCK_ERR_INTERNAL = -4     /* no memory, a full store, and what else has no number */
};

/* The reason, for people: names the resource and the store, never its password. */
typedef struct herdlock_error {
  int code; /* what the function returned */
  char message[512];
} herdlock_error;

typedef struct herdlock_acquire_options {
  size_t size;            /* sizeof(herdlock_acquire_options): later versions may add members */
  int64_t ttl_ms;         /* how long it stays ours without a renewal; 0: 30 000 */
  int64_t wait_ms;        /* how long to wait while another holds it; 0: try once; < 0: for ever */
  int64_t loss_margin_ms; /* how long before its end the loss is told; less than half the ttl */
} herdlock_acquire_options;

/* The version of the library, such as "0.1.0". */
HERDLOCK_API char const *herdlock_version(void);

/* Does not wait for a server: one that cannot be reached shows at the first acquire. */
HERDLOCK_API int herdlock_open(char const *url, herdlock_store **store, herdlock_error *why);
/* Null is nothing. */
HERDLOCK_API void herdlock_close(herdlock_store *store);

/* HERDLOCK_OK: *lease is yours, renewed in the background until you release it. HERDLOCK_BUSY and
 * errors: *lease is null. Options may be null. */
HERDLOCK_API int herdlock_acquire(herdlock_store *store, char const *name,
                     herdlock_acquire_options const *options, herdlock_lease **lease,
                     herdlock_error *why);

/* 1 while the right is proved, else 0. Asks the clock itself: right also after a pause of the
 * process. Does not block. */
HERDLOCK_API int herdlock_lease_valid(herdlock_lease const *lease);
/* Strictly greater than that of every holder before; 0 in stores that do not fence. */
HERDLOCK_API uint64_t herdlock_lease_fencing(herdlock_lease const *lease);
/* Until the lease ends if no renewal gets through; 0 when it is over. Does not block. */
HERDLOCK_API int64_t herdlock_lease_remaining_ms(herdlock_lease const *lease);

/* Calls `told(context)` once when the lease is lost, never after herdlock_release() has returned;
 * at once, on this thread, when it is lost already. Otherwise on a thread of the store's, which it
 * must not block. One per lease: a second is HERDLOCK_ERR_USAGE. */
HERDLOCK_API int herdlock_lease_on_lost(herdlock_lease *lease, void (*told)(void *context), void *context,
                           herdlock_error *why);

/* Gives the resource back; the handle is gone in every case. HERDLOCK_LOST when it was not ours any
 * more. After an error the lease ends by its ttl at the latest. Null is nothing. */
HERDLOCK_API int herdlock_release(herdlock_lease *lease, herdlock_error *why);

#ifdef __cplusplus
}
#endif

#endif
