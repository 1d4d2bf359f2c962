"""The scripts that run in Redis: each answers one question in one step, with Redis's own clock. No Python here."""

from __future__ import annotations

from postil.storage.redis_store.redis_connection import PREFIX

CHANNEL = PREFIX + "changed"
_WANTED_MS = 250
# Neither logged nor replicated: what such a script writes is true for seconds only, and a log that is synced after
# every write would make each call wait for the disk. Redis forgets it when it restarts.
PASSING = "redis.set_repl(redis.REPL_NONE)\n"

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

# KEYS: the window, the calls running. ARGV: cost, limit, seconds, a name for these places, how many at once, lease in
# ms, and those that have ended. granted, taken, oldest in ms, busy.
ENTER = (
    PASSING
    + _NOW
    + """
local cost, limit, window = tonumber(ARGV[1]), tonumber(ARGV[2]), ARGV[3] * 1000
local most, lease = tonumber(ARGV[5]), tonumber(ARGV[6])
for n = 7, #ARGV do redis.call('ZREM', KEYS[2], ARGV[n]) end
local busy, granted, taken, oldest = 0, cost, 0, now
if most > 0 and cost > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
  local running = redis.call('ZCARD', KEYS[2])
  if running > 0 and running + cost > most then busy = 1 end
end
if busy == 1 then granted = 0 end
if limit > 0 then
  redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
  taken = redis.call('ZCARD', KEYS[1])
  granted = math.max(0, math.min(granted, limit - taken))
  for place = 1, granted do redis.call('ZADD', KEYS[1], now, ARGV[4] .. place) end
  if granted > 0 then redis.call('PEXPIRE', KEYS[1], window) end
  oldest = tonumber(redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2] or now)
end
if most > 0 and granted > 0 then
  for place = 1, granted do redis.call('ZADD', KEYS[2], now + lease, ARGV[4] .. place) end
  redis.call('PEXPIRE', KEYS[2], lease)
end
return {granted, taken + granted, oldest, busy}
"""
)

# KEYS: the members of whom to take out. ARGV: these members.
LEAVE = PASSING + "return redis.call('ZREM', KEYS[1], unpack(ARGV))"

# KEYS: the calls running. ARGV: lease in ms, the calls that still run.
RENEW = (
    PASSING
    + _NOW
    + """
for n = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[n]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
"""
)

# KEYS: what is kept by its end, the sizes, the sum of them, and the names to keep. ARGV: ms, the most bytes, values.
# What has ended is counted no more; beyond the most, what would end first makes room.
KEEP = (
    _NOW
    + """
local size = tonumber(redis.call('GET', KEYS[3]) or 0)
local function drop(name)
  size = size - tonumber(redis.call('HGET', KEYS[2], name) or 0)
  redis.call('HDEL', KEYS[2], name)
  redis.call('ZREM', KEYS[1], name)
end
for _, name in ipairs(redis.call('ZRANGEBYSCORE', KEYS[1], '-inf', now, 'LIMIT', 0, 100)) do drop(name) end
for n = 4, #KEYS do
  local value = ARGV[n - 1]
  drop(KEYS[n])
  redis.call('SET', KEYS[n], value, 'PX', ARGV[1])
  redis.call('ZADD', KEYS[1], now + ARGV[1], KEYS[n])
  redis.call('HSET', KEYS[2], KEYS[n], #value)
  size = size + #value
end
while size > tonumber(ARGV[2]) do
  local first = redis.call('ZRANGE', KEYS[1], 0, 0)[1]
  if not first then break end
  redis.call('DEL', first)
  drop(first)
end
redis.call('SET', KEYS[3], size)
return size
"""
)

# -- the state: locks and commits --

# KEYS: lock, readers, wanted. ARGV: token, lease in ms. 1 when the lock is ours. A writer that finds readers asks new
# ones to hold back for a moment, or an unbroken row of them would keep it out; not longer, for a reader may begin
# another look inside its own.
ENTER_WRITE = (
    PASSING
    + _NOW
    + """
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local holder = redis.call('GET', KEYS[1])
if holder == ARGV[1] then return 1 end
if holder then return 0 end
if redis.call('ZCARD', KEYS[2]) > 0 then
  redis.call('SET', KEYS[3], ARGV[1], 'NX', 'PX', '%w')
  return 0
end
redis.call('DEL', KEYS[3])
redis.call('SET', KEYS[1], ARGV[1], 'PX', ARGV[2])
return 1
""".replace("%w", str(_WANTED_MS))
)
# KEYS: lock, readers, wanted. ARGV: token, lease in ms. 1 when we may read.
ENTER_READ = (
    PASSING
    + _NOW
    + """
if redis.call('EXISTS', KEYS[1], KEYS[3]) > 0 then return 0 end
redis.call('ZADD', KEYS[2], now + ARGV[2], ARGV[1])
return 1
"""
)
# KEYS: lock, version, counters, committed, expiring. ARGV: token, changes as JSON, values…
# The new version; -1 when the lock was lost. Expired records are cleared away a few at a time.
COMMIT = """
local known = redis.call('GET', KEYS[4])
if known then return tonumber(known) end
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return -1 end
local changes = cjson.decode(ARGV[2])
for _, change in ipairs(changes) do
  local names, values = change[2], change[3]
  if change[1] == 'put' then
    redis.call('ZADD', names, 0, change[4])
    redis.call('HSET', values, change[4], ARGV[change[5]])
    if change[6] > 0 then
      redis.call('ZADD', KEYS[5], change[6], change[7])
    else
      redis.call('ZREM', KEYS[5], change[7])
    end
  elseif change[1] == 'delete' then
    redis.call('ZREM', names, change[4])
    redis.call('HDEL', values, change[4])
    redis.call('ZREM', KEYS[5], change[5])
  else
    redis.call('HSET', KEYS[3], names, values)
  end
end
for _, member in ipairs(redis.call('ZRANGEBYSCORE', KEYS[5], '-inf', redis.call('TIME')[1], 'LIMIT', 0, 100)) do
  local cut = string.find(member, string.char(10), 1, true)
  local space, key = string.sub(member, 1, cut - 1), string.sub(member, cut + 1)
  redis.call('ZREM', '%pnames:' .. space, key)
  redis.call('HDEL', '%pvalues:' .. space, key)
  redis.call('ZREM', KEYS[5], member)
end
local version = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[4], version, 'EX', 60)
redis.call('DEL', KEYS[1])
redis.call('PUBLISH', '%s', version)
return version
""".replace("%s", CHANNEL).replace("%p", PREFIX)
UNLOCK = PASSING + "if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0"
