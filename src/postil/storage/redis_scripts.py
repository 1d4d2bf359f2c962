"""The scripts of moments shared over Redis: each one question, decided by Redis itself in one step, with its clock."""

from __future__ import annotations

# Neither logged nor replicated: what this writes is true for seconds only, and a log that is synced after every write
# would make each call wait for the disk. Where Redis restarts, it is forgotten, and whoever relied on it notices.
PASSING = "redis.set_repl(redis.REPL_NONE)\n"

_NOW = """
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
"""

# KEYS: the window, the calls in flight. ARGV: cost, limit, seconds, a name for these places, how many at once, lease in
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
  local aloft = redis.call('ZCARD', KEYS[2])
  if aloft > 0 and aloft + cost > most then busy = 1 end
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

# KEYS: the calls in flight. ARGV: lease in ms, the calls that still run.
RENEW = (
    PASSING
    + _NOW
    + """
for n = 2, #ARGV do redis.call('ZADD', KEYS[1], 'XX', now + ARGV[1], ARGV[n]) end
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
"""
)

# KEYS: the window. ARGV: cost, limit, seconds, a name for these places. granted, taken, oldest in ms.
TAKE = (
    PASSING
    + _NOW
    + """
local window = ARGV[3] * 1000
redis.call('ZREMRANGEBYSCORE', KEYS[1], '-inf', now - window)
local taken = redis.call('ZCARD', KEYS[1])
local granted = math.max(0, math.min(tonumber(ARGV[1]), tonumber(ARGV[2]) - taken))
for place = 1, granted do redis.call('ZADD', KEYS[1], now, ARGV[4] .. place) end
if granted > 0 then redis.call('PEXPIRE', KEYS[1], window) end
local oldest = redis.call('ZRANGE', KEYS[1], 0, 0, 'WITHSCORES')
return {granted, taken + granted, tonumber(oldest[2] or now)}
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
