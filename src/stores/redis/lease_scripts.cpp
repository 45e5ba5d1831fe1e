#include "stores/redis/lease_scripts.hpp"

namespace herdlock::redis {
namespace {

// Fencing counters. INCR is the common path. Its answer is below the floor only when there was no
// counter (first use, FLUSHALL, eviction, or its ttl of 7 days is over) or when it is older than
// this server's time of office (a replica that lagged was promoted). Then it is seeded with the
// server's time in microseconds, which is larger than any token given before: an older seed was an
// earlier time, and a resource is not granted once per microsecond. A clock that was set back
// seeds with the floor; a server that does not tell the time gets no counter. The ttl is set with
// the seed only, so that resources that are used no more leave nothing behind. Below 2^53, so exact
// in Lua's numbers.
#define HERDLOCK_NEXT_FENCE                                          \
  "local function next_fence(floor)\n"                               \
  "  local fence = redis.pcall('INCR', KEYS[2])\n"                   \
  "  if type(fence) ~= 'number' or fence >= floor then\n"            \
  "    return fence\n"                                               \
  "  end\n"                                                          \
  "  local now = redis.pcall('TIME')\n"                              \
  "  if now.err then\n"                                              \
  "    redis.pcall('DEL', KEYS[2])\n"                                \
  "    return now\n"                                                 \
  "  end\n"                                                          \
  "  local seed = math.max(now[1] * 1000000 + now[2], floor)\n"      \
  "  redis.call('SET', KEYS[2], string.format('%.0f', seed), 'EX', " \
  "604800)\n"                                                        \
  "  return seed\n"                                                  \
  "end\n"

// Makes the first live waiter the owner and pushes the grant to it, in this same step: the resource
// is never free while somebody waits. Answers who has it now; false when nobody waits; '' when a
// thousand dead were skipped and more are in front: the next look goes on.
//
// Whose process does not listen at this server has died (or its connection has), and is skipped. It
// is not published to: a subscriber at a replica, which is not counted, would hear what was not
// meant. Where the count or the push is refused (by an ACL) the waiter finds its grant by looking,
// as one of hub `-` does; to a cluster's hub (`@…`), which would hear it over the bus, too, nothing
// is published uncounted. The grant is for the time that the waiter has asked for, a heartbeat, so
// that one that hangs does not keep the others waiting for longer. Nothing is pushed that was not
// set: a server out of memory refuses INCR and SET, and then the resource is just free.
//
// The message: `fence ttl length-of-owner owner resource`.
#define HERDLOCK_HAND_OVER                                                                   \
  HERDLOCK_NEXT_FENCE                                                                        \
  "local function listens(hub)\n"                                                            \
  "  if hub == '-' then return true, true end\n"                                             \
  "  local count = redis.pcall('PUBSUB', 'NUMSUB', 'herdlock:grants:' .. hub)\n"             \
  "  if count.err then return true, string.sub(hub, 1, 1) == '@' end\n"                      \
  "  return tonumber(count[2]) > 0, false\n"                                                 \
  "end\n"                                                                                    \
  "local function hand_over(floor)\n"                                                        \
  "  for _ = 1, 1000 do\n"                                                                   \
  "    local first = redis.call('ZPOPMIN', KEYS[3])[1]\n"                                    \
  "    if not first then return false end\n"                                                 \
  "    local hub, ttl, owner = string.match(first, '^(%S+) (%d+) (.+)$')\n"                  \
  "    local lives, mute\n"                                                                  \
  "    if hub then lives, mute = listens(hub) end\n"                                         \
  "    if lives then\n"                                                                      \
  "      local fence = next_fence(floor)\n"                                                  \
  "      if type(fence) ~= 'number' then return false end\n"                                 \
  "      local set = redis.pcall('SET', KEYS[1], owner, 'PX', ttl)\n"                        \
  "      if set.err then return false end\n"                                                 \
  "      if not mute then\n"                                                                 \
  "        redis.pcall('PUBLISH', 'herdlock:grants:' .. hub, string.format('%.0f', fence)\n" \
  "          .. ' ' .. ttl .. ' ' .. #owner .. ' ' .. owner .. ' ' .. KEYS[1])\n"            \
  "      end\n"                                                                              \
  "      return owner\n"                                                                     \
  "    end\n"                                                                                \
  "  end\n"                                                                                  \
  "  return redis.call('EXISTS', KEYS[3]) == 1 and '' or false\n"                            \
  "end\n"

// How things stand with a resource that is held: {pttl, holder, fence}.
#define HERDLOCK_STATE                                      \
  "local function state(holder, floor)\n"                   \
  "  local fence = redis.call('GET', KEYS[2])\n"            \
  "  if not fence then fence = next_fence(floor) end\n"     \
  "  if type(fence) == 'table' then return fence end\n"     \
  "  return {redis.call('PTTL', KEYS[1]), holder, fence}\n" \
  "end\n"

// A counter key that holds something else makes INCR fail; what was taken is given back then.
#define HERDLOCK_GRANT                                                 \
  "local function grant(owner, ttl, floor)\n"                          \
  "  redis.call('SET', KEYS[1], owner, 'PX', ttl)\n"                   \
  "  local fence = next_fence(floor)\n"                                \
  "  if type(fence) ~= 'number' then redis.call('DEL', KEYS[1]) end\n" \
  "  return fence\n"                                                   \
  "end\n"

// KEYS: resource, fence, queue. ARGV: owner, ttl, fence floor.
// Number: granted. {pttl, holder, fence}: held, perhaps by the one who asks.
// A resource that expired while others wait is theirs. What is usual comes first: what follows
// costs the server time even where it is only defined.
#define HERDLOCK_ACQUIRE_FREE                                                \
  "local floor = tonumber(ARGV[3])\n"                                        \
  "local taken = redis.call('EXISTS', KEYS[3]) == 0 and\n"                   \
  "              redis.call('SET', KEYS[1], ARGV[1], 'NX', 'PX', ARGV[2])\n" \
  "if taken then\n"                                                          \
  "  local fence = redis.pcall('INCR', KEYS[2])\n"                           \
  "  if type(fence) == 'number' and fence >= floor then return fence end\n"  \
  "end\n"
#define HERDLOCK_ACQUIRE_OTHERWISE                                  \
  "if taken then return grant(ARGV[1], ARGV[2], floor) end\n"       \
  "local holder = redis.call('GET', KEYS[1]) or hand_over(floor)\n" \
  "if not holder then return grant(ARGV[1], ARGV[2], floor) end\n"  \
  "return state(holder, floor)\n"

constexpr std::string_view acquire = HERDLOCK_ACQUIRE_FREE HERDLOCK_HAND_OVER HERDLOCK_STATE
    HERDLOCK_GRANT HERDLOCK_ACQUIRE_OTHERWISE;

// KEYS: resource, fence, queue. ARGV: owner, ttl, fence floor, member, the member's other forms.
// Number: granted. {pttl, holder, fence, added}: the owner now waits, if it does not hold it;
// `added` is 1 when it did not wait before. The place in the queue is kept when the form changes.
// A queue that nobody looks at for ten minutes is forgotten.
constexpr std::string_view enter = HERDLOCK_HAND_OVER HERDLOCK_STATE HERDLOCK_GRANT R"lua(
local floor = tonumber(ARGV[3])
local holder = redis.call('GET', KEYS[1])
local added = 0
if holder ~= ARGV[1] then
  local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
  if not holder and not last[1] then return grant(ARGV[1], ARGV[2], floor) end
  if not redis.call('ZSCORE', KEYS[3], ARGV[4]) then
    local place
    for form = 5, #ARGV do
      local old = redis.call('ZSCORE', KEYS[3], ARGV[form])
      if old then
        redis.call('ZREM', KEYS[3], ARGV[form])
        place = place or old
      end
    end
    if not place then
      if redis.call('ZCARD', KEYS[3]) >= 100000 then
        return redis.error_reply('QUEUEFULL 100000 wait already')
      end
      place = (last[2] or 0) + 1
      added = 1
    end
    redis.call('ZADD', KEYS[3], place, ARGV[4])
  end
  redis.call('PEXPIRE', KEYS[3], 600000)
  holder = holder or hand_over(floor)
  if not holder then
    redis.call('ZREM', KEYS[3], ARGV[4])
    return grant(ARGV[1], ARGV[2], floor)
  end
end
local now = state(holder, floor)
if now[2] then now[4] = added end
return now
)lua";

// KEYS: resource. ARGV: owner, ttl.
constexpr std::string_view renew = R"lua(
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('PEXPIRE', KEYS[1], ARGV[2])
)lua";

// KEYS: resource, fence, queue, last. ARGV: owner, fence floor.
// RENAME takes the resource away and leaves the mark of who released it, with the rest of its ttl.
#define HERDLOCK_RELEASE_UNAWAITED                              \
  "if redis.call('GET', KEYS[1]) ~= ARGV[1] then\n"             \
  "  return redis.call('GET', KEYS[4]) == ARGV[1] and 1 or 0\n" \
  "end\n"                                                       \
  "redis.call('RENAME', KEYS[1], KEYS[4])\n"                    \
  "if redis.call('EXISTS', KEYS[3]) == 0 then return 1 end\n"
#define HERDLOCK_RELEASE_AWAITED   \
  "hand_over(tonumber(ARGV[2]))\n" \
  "return 1\n"

constexpr std::string_view release =
    HERDLOCK_RELEASE_UNAWAITED HERDLOCK_HAND_OVER HERDLOCK_RELEASE_AWAITED;

// Many of the two in one step, which costs the server less than each in one of its own: entering a
// script is a third of what it takes. KEYS: theirs, one after the other. ARGV: for each `A`, owner,
// ttl, floor or `R`, owner, floor. Their answers in a list; of one that failed, nothing or its
// error: asked again alone, which they allow, it gets the whole of it.
constexpr std::string_view many =
    R"lua(
local all_keys, all_arguments = KEYS, ARGV
local KEYS, ARGV = {}, {}
)lua" HERDLOCK_HAND_OVER HERDLOCK_STATE HERDLOCK_GRANT
    "local function acquire()\n" HERDLOCK_ACQUIRE_FREE HERDLOCK_ACQUIRE_OTHERWISE
    "end\n"
    "local function release()\n" HERDLOCK_RELEASE_UNAWAITED HERDLOCK_RELEASE_AWAITED
    R"lua(end
local answers, k, a = {}, 1, 1
while all_arguments[a] do
  KEYS[1], KEYS[2], KEYS[3] = all_keys[k], all_keys[k + 1], all_keys[k + 2]
  ARGV[1], ARGV[2] = all_arguments[a + 1], all_arguments[a + 2]
  local step
  if all_arguments[a] == 'A' then
    step, ARGV[3], k, a = acquire, all_arguments[a + 3], k + 3, a + 4
  else
    step, KEYS[4], k, a = release, all_keys[k + 3], k + 4, a + 3
  end
  local fine, answer = pcall(step)
  answers[#answers + 1] = fine and answer or false
end
return answers
)lua";

// KEYS: resource, fence, queue. ARGV: owner, fence floor, all forms of the member.
// The state if the grant crossed this and the owner has it, else 0: it does not wait any more.
constexpr std::string_view leave = HERDLOCK_NEXT_FENCE HERDLOCK_STATE R"lua(
redis.call('ZREM', KEYS[3], unpack(ARGV, 3))
local holder = redis.call('GET', KEYS[1])
if holder ~= ARGV[1] then return 0 end
return state(holder, tonumber(ARGV[2]))
)lua";

// KEYS: resource, fence, queue. {pttl, holder, fence or 0, waiting, member…}, or nothing.
constexpr std::string_view inspect = R"lua(
local holder = redis.call('GET', KEYS[1])
if not holder then return false end
local info = {redis.call('PTTL', KEYS[1]), holder, redis.call('GET', KEYS[2]) or '0',
              redis.call('ZCARD', KEYS[3])}
for i, member in ipairs(redis.call('ZRANGE', KEYS[3], 0, 99)) do info[4 + i] = member end
return info
)lua";

// KEYS: resource, fence, queue. ARGV: fence floor.
// GET refuses a key of another type: that one is not ours to delete.
constexpr std::string_view force_release = HERDLOCK_HAND_OVER R"lua(
if not redis.call('GET', KEYS[1]) then return 0 end
redis.call('DEL', KEYS[1])
hand_over(tonumber(ARGV[1]))
return 1
)lua";

#undef HERDLOCK_RELEASE_AWAITED
#undef HERDLOCK_RELEASE_UNAWAITED
#undef HERDLOCK_ACQUIRE_OTHERWISE
#undef HERDLOCK_ACQUIRE_FREE
#undef HERDLOCK_GRANT
#undef HERDLOCK_STATE
#undef HERDLOCK_HAND_OVER
#undef HERDLOCK_NEXT_FENCE

}  // namespace

lease_script_set const& lease_scripts() {
  static lease_script_set const set{{acquire, "3"},       {enter, "3"}, {renew, "1"},
                                    {release, "4"},       {leave, "3"}, {inspect, "3"},
                                    {force_release, "3"}, {many, ""}};
  return set;
}

}  // namespace herdlock::redis
