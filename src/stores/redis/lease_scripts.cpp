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
// Whose hub had the last grant and let it expire (`alive` is given, and is another one's), without
// a look of that hub since the grant, hangs, and those who wait by it are skipped on the way to the
// heir. The mark of that, `!HUB`, is in front of the queue while it has others: its score is the
// grant's token, below zero. A look of that hub takes it away, and so does a release that finds no
// heir: what was given back did not expire. A hub that is not pushed to gets none. (`head` is the
// first three members, if the caller has asked: scores cost the server three times as much.)
//
// In a cluster's slot that is being moved a key that is not here is somewhere else: a script that
// names what it has removed is cut there, with all that it has done. So the resource is
// overwritten, not removed and made again, and the queue is not named any more once it may be gone.
// PEXPIRE comes first since it is never refused for want of memory, and nothing behind a write is.
//
// The message: `fence ttl length-of-owner owner resource`.
#define HERDLOCK_HAND_OVER                                                                 \
  HERDLOCK_NEXT_FENCE                                                                      \
  "local function listens(hub)\n"                                                          \
  "  if hub == '-' then return true, true end\n"                                           \
  "  local count = redis.pcall('PUBSUB', 'NUMSUB', 'herdlock:grants:' .. hub)\n"           \
  "  if count.err then return true, string.sub(hub, 1, 1) == '@' end\n"                    \
  "  return tonumber(count[2]) > 0, false\n"                                               \
  "end\n"                                                                                  \
  "local function give(owner, ttl, floor)\n"                                               \
  "  redis.call('PEXPIRE', KEYS[3], 600000)\n"                                             \
  "  local fence = next_fence(floor)\n"                                                    \
  "  if type(fence) ~= 'number' then return false end\n"                                   \
  "  local set = redis.pcall('SET', KEYS[1], owner, 'PX', ttl)\n"                          \
  "  return not set.err and fence\n"                                                       \
  "end\n"                                                                                  \
  "local function take_out(member, new, mark, fence)\n"                                    \
  "  if mark and mark ~= new then\n"                                                       \
  "    redis.call('ZREM', KEYS[3], member, mark)\n"                                        \
  "  else\n"                                                                               \
  "    redis.call('ZREM', KEYS[3], member)\n"                                              \
  "  end\n"                                                                                \
  "  if new then redis.call('ZADD', KEYS[3], string.format('-%.0f', fence), new) end\n"    \
  "end\n"                                                                                  \
  "local function hand_over(floor, alive, head)\n"                                         \
  "  head = head or redis.call('ZRANGE', KEYS[3], 0, 2)\n"                                 \
  "  if not head[1] then return false end\n"                                               \
  "  local left, counted = #head, #head < 3\n"                                             \
  "  local mark, at, hung, failed = nil, 0, nil, false\n"                                  \
  "  local first = head[1]\n"                                                              \
  "  if string.sub(first, 1, 1) == '!' then\n"                                             \
  "    mark, at, left, first = first, 1, left - 1, head[2]\n"                              \
  "    local expired = alive and mark ~= '!' .. alive and\n"                               \
  "                    -redis.call('ZSCORE', KEYS[3], mark) ==\n"                          \
  "                      tonumber(redis.call('GET', KEYS[2]) or 0)\n"                      \
  "    if expired then hung = string.sub(mark, 2) end\n"                                   \
  "    if left == 0 then redis.call('DEL', KEYS[3]) end\n"                                 \
  "  end\n"                                                                                \
  "  for _ = 1, 1000 do\n"                                                                 \
  "    if left == 0 then break end\n"                                                      \
  "    first = first or redis.call('ZRANGE', KEYS[3], at, at)[1]\n"                        \
  "    local hub, ttl, owner = string.match(first, '^(%S+) (%d+) (.+)$')\n"                \
  "    local lives, mute\n"                                                                \
  "    if hub and hub ~= hung then lives, mute = listens(hub) end\n"                       \
  "    local fence = lives and give(owner, ttl, floor)\n"                                  \
  "    if lives and not fence then\n"                                                      \
  "      failed = true\n"                                                                  \
  "      break\n"                                                                          \
  "    end\n"                                                                              \
  "    if not lives and not counted then\n"                                                \
  "      left, counted = redis.call('ZCARD', KEYS[3]) - at, true\n"                        \
  "    end\n"                                                                              \
  "    left = left - 1\n"                                                                  \
  "    if left == 0 then\n"                                                                \
  "      redis.call('DEL', KEYS[3])\n"                                                     \
  "    elseif lives then\n"                                                                \
  "      take_out(first, not mute and '!' .. hub, mark, fence)\n"                          \
  "    else\n"                                                                             \
  "      redis.call('ZREM', KEYS[3], first)\n"                                             \
  "    end\n"                                                                              \
  "    if lives and not mute then\n"                                                       \
  "      redis.pcall('PUBLISH', 'herdlock:grants:' .. hub, string.format('%.0f', fence)\n" \
  "        .. ' ' .. ttl .. ' ' .. #owner .. ' ' .. owner .. ' ' .. KEYS[1])\n"            \
  "    end\n"                                                                              \
  "    if lives then return owner end\n"                                                   \
  "    first = nil\n"                                                                      \
  "  end\n"                                                                                \
  "  if mark and left > 0 and not alive then redis.call('ZREM', KEYS[3], mark) end\n"      \
  "  return left > 0 and not failed and ''\n"                                              \
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
#define HERDLOCK_ACQUIRE_OTHERWISE                                      \
  "if taken then return grant(ARGV[1], ARGV[2], floor) end\n"           \
  "local holder = redis.call('GET', KEYS[1]) or hand_over(floor, '')\n" \
  "if not holder then return grant(ARGV[1], ARGV[2], floor) end\n"      \
  "return state(holder, floor)\n"

constexpr std::string_view acquire = HERDLOCK_ACQUIRE_FREE HERDLOCK_HAND_OVER HERDLOCK_STATE
    HERDLOCK_GRANT HERDLOCK_ACQUIRE_OTHERWISE;

// KEYS: resource, fence, queue. ARGV: owner, ttl, fence floor, member, the member's other forms.
// Number: granted. {pttl, holder, fence, added}: the owner now waits, if it does not hold it;
// `added` is 1 when it did not wait before. The place in the queue is kept when the form changes.
// Whose hub asks does not hang: the mark of it goes.
// A queue that nobody looks at for ten minutes is forgotten.
constexpr std::string_view enter = HERDLOCK_HAND_OVER HERDLOCK_STATE HERDLOCK_GRANT R"lua(
local floor = tonumber(ARGV[3])
local holder = redis.call('GET', KEYS[1])
local added = 0
local hub = string.match(ARGV[4], '^%S+')
local function take_mark_away()
  if hub ~= '-' then redis.call('ZREM', KEYS[3], '!' .. hub) end
end
if holder == ARGV[1] then
  take_mark_away()
else
  local last = redis.call('ZRANGE', KEYS[3], -1, -1, 'WITHSCORES')
  if not holder and not last[1] then return grant(ARGV[1], ARGV[2], floor) end
  if not redis.call('ZSCORE', KEYS[3], ARGV[4]) then
    local place
    local old = {}
    for form = 5, #ARGV do
      local score = redis.call('ZSCORE', KEYS[3], ARGV[form])
      place = place or score
      if score then old[#old + 1] = ARGV[form] end
    end
    if not place then
      if redis.call('ZCARD', KEYS[3]) >= 100000 then
        return redis.error_reply('QUEUEFULL 100000 wait already')
      end
      place = math.max(last[2] or 0, 0) + 1
      added = 1
    end
    redis.call('ZADD', KEYS[3], place, ARGV[4])
    if old[1] then redis.call('ZREM', KEYS[3], unpack(old)) end
  end
  redis.call('PEXPIRE', KEYS[3], 600000)
  take_mark_away()
  holder = holder or hand_over(floor, hub)
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
// RENAME takes the resource away and leaves the mark of who released it, with the rest of its ttl;
// where a waiter has got the resource in its place, SET leaves it, for as long as a release that
// had no answer is asked again.
#define HERDLOCK_RELEASE_UNAWAITED                              \
  "if redis.call('GET', KEYS[1]) ~= ARGV[1] then\n"             \
  "  return redis.call('GET', KEYS[4]) == ARGV[1] and 1 or 0\n" \
  "end\n"                                                       \
  "local head = redis.call('ZRANGE', KEYS[3], 0, 2)\n"          \
  "if not head[1] then\n"                                       \
  "  redis.call('RENAME', KEYS[1], KEYS[4])\n"                  \
  "  return 1\n"                                                \
  "end\n"
#define HERDLOCK_RELEASE_AWAITED                           \
  "local heir = hand_over(tonumber(ARGV[2]), nil, head)\n" \
  "if heir and heir ~= '' then\n"                          \
  "  redis.call('SET', KEYS[4], ARGV[1], 'PX', 10000)\n"   \
  "else\n"                                                 \
  "  redis.call('RENAME', KEYS[1], KEYS[4])\n"             \
  "end\n"                                                  \
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
// The state if the grant crossed this and the owner has it, else 0: it does not wait any more. A
// resource that somebody made a key of another type is not ours; the place in the queue goes.
constexpr std::string_view leave = HERDLOCK_NEXT_FENCE HERDLOCK_STATE R"lua(
local holder = redis.pcall('GET', KEYS[1])
local left = redis.call('ZCARD', KEYS[3])
left = left - redis.call('ZREM', KEYS[3], unpack(ARGV, 3))
if left == 1 and string.sub(redis.call('ZRANGE', KEYS[3], 0, 0)[1], 1, 1) == '!' then
  redis.call('DEL', KEYS[3])
end
if holder ~= ARGV[1] then return 0 end
return state(holder, tonumber(ARGV[2]))
)lua";

// KEYS: resource, fence, queue. {pttl, holder, fence or 0, waiting, member…}, or nothing.
constexpr std::string_view inspect = R"lua(
local holder = redis.call('GET', KEYS[1])
if not holder then return false end
local first = redis.call('ZRANGE', KEYS[3], 0, 100)
local marks = first[1] and string.sub(first[1], 1, 1) == '!' and 1 or 0
local info = {redis.call('PTTL', KEYS[1]), holder, redis.call('GET', KEYS[2]) or '0',
              redis.call('ZCARD', KEYS[3]) - marks}
for i = 1 + marks, math.min(#first, 100 + marks) do info[#info + 1] = first[i] end
return info
)lua";

// KEYS: resource, fence, queue. ARGV: fence floor.
// GET refuses a key of another type: that one is not ours to delete.
constexpr std::string_view force_release = HERDLOCK_HAND_OVER R"lua(
if not redis.call('GET', KEYS[1]) then return 0 end
local heir = hand_over(tonumber(ARGV[1]))
if not heir or heir == '' then redis.call('DEL', KEYS[1]) end
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
