-- The limits of a fleet: every process asks this script before a call of the critic's model, and reports its end to it.
-- All times are Redis's own, so that no process's clock matters. KEYS[1] is the prefix of all keys; its hash tag keeps
-- them in one slot of a cluster. ARGV[1] says what to do, ARGV[2] is a JSON object.
local prefix, action, request = KEYS[1], ARGV[1], cjson.decode(ARGV[2])
local clock = redis.call('TIME')
local now = tonumber(clock[1]) + tonumber(clock[2]) / 1e6

local function key(...) return prefix .. ':' .. table.concat({...}, ':') end

-- A sum over the last 60 slices: of a second each for a minute, of a minute each for an hour.
local function slice(width) return math.floor(now / width) end
local function add(name, width, amount)
  if amount ~= 0 then
    redis.call('HINCRBYFLOAT', name, slice(width), amount)
    redis.call('EXPIRE', name, width * 62)
  end
end
local function total(name, width)
  local oldest, sum, slices = slice(width) - 60, 0, redis.call('HGETALL', name)
  for at = 1, #slices, 2 do
    if tonumber(slices[at]) < oldest then
      redis.call('HDEL', name, slices[at])
    else
      sum = sum + tonumber(slices[at + 1])
    end
  end
  return sum
end

-- What is reserved for calls under way, by kind ('tokens' or 'usd') and SKU.
local function reserve(sku, calls, tokens, usd)
  local left = redis.call('HINCRBY', key('reserved', 'calls'), sku, calls)
  if left <= 0 then
    for _, kind in ipairs({'calls', 'tokens', 'usd'}) do redis.call('HDEL', key('reserved', kind), sku) end
  else
    redis.call('HINCRBYFLOAT', key('reserved', 'tokens'), sku, tokens)
    redis.call('HINCRBYFLOAT', key('reserved', 'usd'), sku, usd)
  end
end
local function allows(kind, sku, limit, estimate)
  if not limit then return true end
  local reserved = tonumber(redis.call('HGET', key('reserved', kind), sku) or '0')
  local so_far = reserved + total(key('spent', kind, sku), 60)
  return so_far == 0 or (so_far < limit and so_far + estimate <= limit)
end

local function count_id(id, held, calls, tokens, usd)
  add(key('id', id, 'minute'), 1, calls)
  add(key('id', id, 'hour'), 60, calls)
  for _, each in ipairs(held.skus) do
    add(key('id', id, 'tokens', each.sku), 60, tokens)
    add(key('id', id, 'usd', each.sku), 60, usd)
  end
end
local function is_fair(id)
  local share = request.share
  if request.rate and total(key('id', id, 'minute'), 1) >= math.max(request.least, math.floor(share * request.rate)) then
    return false
  end
  if total(key('id', id, 'hour'), 60) < request.least then return true end
  for _, each in ipairs(request.skus) do
    for _, kind in ipairs({'tokens', 'usd'}) do
      local limit = each[kind .. '_limit']
      if limit and total(key('id', id, kind, each.sku), 60) + request[kind] > share * limit then return false end
    end
  end
  return true
end

-- End a reservation, and book what the call has spent; a second end does nothing.
local function settle(ticket, sku, tokens, usd, made)
  local found = redis.call('HGET', key('held'), ticket)
  if not found then return end
  local held = cjson.decode(found)
  redis.call('HDEL', key('held'), ticket)
  redis.call('ZREM', key('until'), ticket)
  for _, each in ipairs(held.skus) do reserve(each.sku, -1, -held.tokens, -held.usd) end
  add(key('spent', 'tokens', sku), 60, tokens)
  add(key('spent', 'usd', sku), 60, usd)
  for _, id in ipairs(held.ids) do count_id(id, held, made and 0 or -1, tokens - held.tokens, usd - held.usd) end
  if not made then add(key('calls'), 1, -held.calls) end
end

-- A process that was killed settles nothing: its provider goes on and bills, so the estimate is booked.
for _, ticket in ipairs(redis.call('ZRANGEBYSCORE', key('until'), '-inf', now, 'LIMIT', 0, 100)) do
  local found = redis.call('HGET', key('held'), ticket)
  if found then
    local held = cjson.decode(found)
    settle(ticket, held.skus[#held.skus].sku, held.tokens, held.usd, true)
  else
    redis.call('ZREM', key('until'), ticket)
  end
end

if action == 'settle' then
  settle(request.ticket, request.sku, request.tokens, request.usd, request.made)
  return {'', 0}
end

redis.call('ZADD', key('processes'), now, request.process)
redis.call('ZREMRANGEBYSCORE', key('processes'), '-inf', now - 60)
local processes = redis.call('ZCARD', key('processes'))

local circuit = key('circuit', request.skus[1].sku)
local opener = redis.call('GET', circuit)
if opener == request.process then
  redis.call('EXPIRE', circuit, request.circuit_ttl)
elseif opener then
  return {'circuit_open', processes}
end
if request.rate and total(key('calls'), 1) + request.calls > request.rate then return {'budget', processes} end
for _, each in ipairs(request.skus) do
  for _, kind in ipairs({'tokens', 'usd'}) do
    if not allows(kind, each.sku, each[kind .. '_limit'], request[kind]) then return {'budget', processes} end
  end
end
local ids = {}
if request.share < 1 then ids = request.ids end
for _, id in ipairs(ids) do
  if not is_fair(id) then return {'fair_share', processes} end
end

local skus = {}
for at, each in ipairs(request.skus) do
  skus[at] = {sku = each.sku}
  reserve(each.sku, 1, request.tokens, request.usd)
end
local held = {skus = skus, ids = ids, tokens = request.tokens, usd = request.usd, calls = request.calls}
redis.call('HSET', key('held'), request.ticket, cjson.encode(held))
redis.call('ZADD', key('until'), now + request.lasts, request.ticket)
add(key('calls'), 1, request.calls)
for _, id in ipairs(ids) do count_id(id, held, request.calls, request.tokens, request.usd) end
return {'', processes}
