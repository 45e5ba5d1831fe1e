/* The C API: one holder at a time, its number, and what happens when it is busy.
 * Needs no server: `memory:` lives in this process. */
#include <herdlock/c.h>
#include <inttypes.h>
#include <stdio.h>

static int fail(herdlock_error const *why) {
  fprintf(stderr, "%d: %s\n", why->code, why->message);
  return 1;
}

int main(void) {
  herdlock_store *store;
  herdlock_lease *mine;
  herdlock_lease *theirs;
  herdlock_error why;
  herdlock_acquire_options options = {sizeof options, 10000, 0, 0};

  printf("herdlock %s\n", herdlock_version());
  if (herdlock_open("memory:", &store, &why) != HERDLOCK_OK) return fail(&why);

  if (herdlock_acquire(store, "nightly", &options, &mine, &why) != HERDLOCK_OK) return fail(&why);
  printf("held: valid %d, fencing %" PRIu64 ", %d s left\n", herdlock_lease_valid(mine),
         herdlock_lease_fencing(mine), (int)(herdlock_lease_remaining_ms(mine) / 1000));

  /* Another one, in this process or elsewhere. */
  if (herdlock_acquire(store, "nightly", &options, &theirs, &why) != HERDLOCK_BUSY) return 1;
  printf("the second one: %s\n", why.message);

  if (herdlock_release(mine, &why) != HERDLOCK_OK) return fail(&why);
  if (herdlock_acquire(store, "nightly", NULL, &theirs, &why) != HERDLOCK_OK) return fail(&why);
  printf("the next one's fencing: %" PRIu64 "\n", herdlock_lease_fencing(theirs));
  herdlock_release(theirs, NULL);

  /* Errors are values, with a sentence that names what is wrong. */
  if (herdlock_acquire(store, "", NULL, &theirs, &why) != HERDLOCK_ERR_USAGE) return 1;
  printf("an empty name: %s\n", why.message);
  herdlock_close(store);
  return 0;
}
