-- Charges, corrects or peeks at counters, each a hash in KEYS. Redis runs the
-- whole script without another command in between.
--
-- A hash has the field life, a random mark of the counter's generation,
-- and for each limit a field a to h:
--   slots   "slot:units slot:units …"      ascending; the last is the newest
--                                          slot ever charged
--   log     "seconds.nanoseconds:units …"  the same, with times as slots
--   bucket  "seconds.nanoseconds"          when it is full again
-- The reply is {1 if charged, seconds and nanoseconds of the time that decided,
-- then each key's generation and fields}. Go's internal/limit computes the
-- units left and retry-after from these. The script only decides and writes.
--
-- A Lua number is exact up to 2^53, which Unix nanoseconds exceed. So a time is
-- a pair of seconds and nanoseconds, a slot is a whole number of microseconds
-- wide, and products are computed digit by digit. All checks come before the
-- first write.

local floor, ceil, max, min, abs = math.floor, math.ceil, math.max, math.min, math.abs
local format, gmatch, gsub, sub = string.format, string.gmatch, string.gsub, string.sub

local MOST = 2 ^ 53 - 1   -- the most units in one slot
local ERA = 9223372035    -- Unix nanoseconds in 64 bits cover so many seconds before and after 1970
local WINDOWS = 110000    -- more than the days of a calendar in an era
local RECORDS = 1001      -- the most slots or stamps of one limit
local AHEAD = 3           -- seconds, besides one slot, by which a counter may be ahead of the server's clock
local SLACK = 3600        -- seconds by which a counter outlives its window, for clocks that are behind

local argument = 0
local function word()
  argument = argument + 1
  return ARGV[argument]
end
local function number() return tonumber(word()) end

local function carry(seconds, nanos)
  if nanos < 0 then return seconds - 1, nanos + 1e9 end
  if nanos >= 1e9 then return seconds + 1, nanos - 1e9 end
  return seconds, nanos
end

local function after(s, n, s2, n2) return s > s2 or s == s2 and n > n2 end

-- product returns units times a time below 2^63 ns, exactly: four digits in
-- base 10^9, the lowest first. It multiplies by 18 bits of the units at a time,
-- so that no term exceeds 2^50.
local function product(units, seconds, nanos)
  local time = {nanos, seconds % 1e9, floor(seconds / 1e9), 0}
  local digits = {0, 0, 0, 0}
  for shift = 36, 0, -18 do
    local part, over = floor(units / 2 ^ shift) % 2 ^ 18, 0
    for i = 1, 4 do
      local d = digits[i] * 2 ^ 18 + part * time[i] + over
      digits[i] = d % 1e9
      over = floor(d / 1e9)
    end
  end
  return digits
end

local function exceeds(a, b)
  for i = 4, 1, -1 do
    if a[i] ~= b[i] then return a[i] > b[i] end
  end
  return false
end

local mode = word()
local now_s, now_n = number(), number()
local own_clock = not now_s
if own_clock then
  local time = redis.call('TIME')
  now_s, now_n = tonumber(time[1]), time[2] * 1000
end
local now_us = now_s * 1e6 + floor(now_n / 1000)

local SLOT = '()(%-?%d+)():(%d+)()'
local STAMP = '()(%-?%d+)%.(%d%d%d%d%d%d%d%d%d):(%d+)()'

-- read parses the records of a limit, and returns false if they are malformed.
-- It takes most of a decision's time.
local function read(l, text)
  local start, at, nanos, units, stamps = l.start, l.at, l.nanos, l.units, l.pattern == STAMP
  local n, due, last, last_nanos = 0, 1, -math.huge, 0
  for first, moment, fraction, count, rest in gmatch(text, l.pattern) do
    local m, f, u = moment + 0, stamps and fraction + 0 or 0, count + 0
    if first ~= due or m < last or m == last and f <= last_nanos or u > MOST then return false end
    n, due, last, last_nanos = n + 1, rest + 1, m, f
    start[n], at[n], nanos[n], units[n] = first, m, f, u
  end
  l.n = n
  local _, spaces = gsub(text, ' ', ' ')
  if n == 0 or n > RECORDS or at[1] < -l.furthest or last > l.furthest then return false end
  return due == #text + 2 and spaces == n - 1
end

local function read_bucket(l, text)
  local seconds, nanos = string.match(text, '^(%-?%d+)%.(%d%d%d%d%d%d%d%d%d)$')
  if not seconds or abs(tonumber(seconds)) > ERA then return false end
  l.full_s, l.full_n = tonumber(seconds), tonumber(nanos)
  return true
end

local function encode(l, at, nanos, units)
  if l.pattern == STAMP then return format('%.0f.%09.0f:%.0f', at, nanos, units) end
  return format('%.0f:%.0f', at, units)
end

-- add charges units to the current slot, and drops the slots that no longer
-- count.
local function add(l, units)
  local n, kept = l.n, sub(l.text, l.start[l.first] or #l.text + 1)
  if n > 0 and l.at[n] == l.now_at and l.nanos[n] == l.now_nanos then
    units = min(units + l.units[n], MOST)
    kept = sub(l.text, l.start[l.first], l.start[n] - 1)
  elseif kept ~= '' then
    kept = kept .. ' '
  end
  l.text, l.newest = kept .. encode(l, l.now_at, l.now_nanos, units), l.now_at
end

-- refund takes up to so many units out of a slot that is still stored, even if
-- the slot has left the window by this clock: for a clock that is behind it
-- still counts.
local function refund(l, slot, units)
  for i = 1, l.n do
    if l.at[i] == slot then
      local after_it = l.start[i + 1] and sub(l.text, l.start[i + 1] - 1) or ''
      l.text = sub(l.text, 1, l.start[i] - 1) .. encode(l, slot, 0, l.units[i] - min(units, l.units[i])) .. after_it
    end
  end
end

-- place sets the current slot, which is the newest one if the clock is behind
-- it, and the first slot that still counts: the first at or after first_at and
-- first_nanos.
local function place(l, at, nanos, first_at, first_nanos)
  l.now_at, l.now_nanos, l.newest, l.first = at, nanos, l.at[l.n], 1
  while l.first <= l.n and (l.at[l.first] < first_at or l.at[l.first] == first_at and l.nanos[l.first] < first_nanos) do
    l.first = l.first + 1
  end
end

local function fits(l)
  local used, units = 0, l.units
  for i = l.first, l.n do used = used + units[i] end
  return l.cost <= l.capacity - used
end

local function slots() -- the part that all limits with slots share; l.slot is the clock's slot
  local l = {pattern = SLOT, read = read, fits = fits, take = add}
  function l.place()
    local at = max(l.slot, l.at[l.n] or l.slot)
    place(l, at, 0, at - l.k, 0)
  end
  return l
end

local kinds = {}

function kinds.slots()
  local l = slots()
  l.k, l.width = number(), number()
  l.slot, l.furthest = floor(now_us / l.width), floor(ERA * 1e6 / l.width) - l.k - 1
  function l.ahead() return l.n > 0 and l.at[l.n] * l.width - now_us > l.width + AHEAD * 1e6 end
  function l.ends() return ((l.newest + l.k + 1) * l.width - now_us) / 1e6 end
  return l
end

-- The caller sends the starts of four windows; by the caller's clock, now is in
-- the second.
function kinds.calendar()
  local l, window, starts = slots(), number(), {number(), number(), number(), number()}
  l.k, l.furthest = 0, WINDOWS
  for i = 1, 3 do
    if starts[i] <= now_s and now_s < starts[i + 1] then l.slot = window + i - 2 end
  end
  function l.ahead() return l.n > 0 and l.at[l.n] > l.slot + 1 end -- more than a whole window
  function l.ends()
    local i = max(1, l.newest - window + 3)
    local longest = 2 * (starts[4] - starts[3]) -- no window is twice as long as another
    return starts[min(i, 4)] + max(0, i - 4) * longest - now_s
  end
  return l
end

-- The share of the older window is rounded up: ⌈older · part / width⌉ ≤ room
-- exactly if older · part ≤ room · width.
function kinds.weighted()
  local l = kinds.slots()
  function l.fits()
    local units = {}
    for i = l.first, l.n do units[l.at[i]] = l.units[i] end
    local older, room = units[l.now_at - 1] or 0, l.capacity - l.cost - (units[l.now_at] or 0)
    if room < 0 or older == 0 then return room >= 0 end
    local part, rest = l.width, 0 -- a clock behind the newest slot counts as at its start
    if l.slot == l.now_at then part, rest = l.width - (now_us - l.slot * l.width), now_n % 1000 end
    local width = product(room, floor(l.width / 1e6), l.width % 1e6 * 1000)
    return not exceeds(product(older, carry(floor(part / 1e6), part % 1e6 * 1000 - rest)), width)
  end
  return l
end

function kinds.log()
  local l = {pattern = STAMP, read = read, fits = fits, take = add}
  local window_s, window_n = number(), number()
  l.furthest = ERA - window_s - 2
  function l.place()
    local s, n = now_s, now_n
    if l.n > 0 and after(l.at[l.n], l.nanos[l.n], s, n) then s, n = l.at[l.n], l.nanos[l.n] end
    local first_s, first_n = carry(s - window_s, n - window_n + 1)
    place(l, s, n, first_s, first_n)
  end
  function l.ahead() return l.n > 0 and after(l.at[l.n], l.nanos[l.n], now_s + AHEAD, now_n) end
  function l.ends() return l.newest + window_s + 1 - now_s end
  return l
end

function kinds.bucket()
  local l = {read = read_bucket}
  local drain_s, drain_n, need_s, need_n = number(), number(), number(), number()
  function l.place()
    local s, n = now_s, now_n
    if l.full_s and after(l.full_s, l.full_n, s, n) then s, n = l.full_s, l.full_n end
    l.next_s, l.next_n = carry(s + need_s, n + need_n)
  end
  function l.fits() return not after(l.next_s, l.next_n, carry(now_s + drain_s, now_n + drain_n)) end
  function l.take()
    l.full_s, l.full_n = l.next_s, l.next_n
    l.text = format('%.0f.%09.0f', l.full_s, l.full_n)
  end
  function l.ahead()
    return l.full_s and after(l.full_s, l.full_n, carry(now_s + drain_s + AHEAD, now_n + drain_n))
  end
  function l.ends() return l.full_s + 1 - now_s end
  return l
end

-- open reads a counter and the arguments of its limits. It returns nil and an
-- error's text for a counter that this script did not write.
local function open(key)
  local fields, stored = {}, redis.call('HGETALL', key)
  for i = 1, #stored, 2 do fields[stored[i]] = stored[i + 1] end
  local c = {key = key, generation = fields.life or '', limits = {}}
  c.new_generation, c.receipt = word(), word()
  if #stored > 0 and c.generation == '' then return nil, 'FOREIGN field life of ' .. key .. ' is missing' end
  fields.life = nil
  for i = 1, number() do
    local kind, capacity, cost, charged = word(), number(), number(), number()
    local l, name = kinds[kind](), string.char(96 + i)
    c.limits[i] = l
    l.name, l.capacity, l.cost, l.charged, l.before = name, capacity, cost, charged, fields[name] or ''
    l.text, l.n, l.start, l.at, l.nanos, l.units = l.before, 0, {}, {}, {}, {}
    if kind == 'calendar' and not l.slot then return nil, 'CLOCK' end
    if fields[name] and not l:read(l.text) then return nil, 'FOREIGN field ' .. name .. ' of ' .. key .. ' is not readable' end
    if own_clock and mode ~= 'settle' and l.ahead() then return nil, 'AHEAD' end
    l.place()
    fields[name] = nil
  end
  if next(fields) then return nil, 'FOREIGN ' .. key .. ' has fields that no counter has' end
  return c
end

local function allows(c)
  for _, l in ipairs(c.limits) do
    if l.cost > 0 and not l:fits() then return false end
  end
  return true
end

local function charge(c)
  for _, l in ipairs(c.limits) do
    if l.cost > 0 then l:take(l.cost) end
  end
end

-- correct settles a charge in the generation that it charged. A charge of zero
-- cost has no generation in its receipt: it can only be corrected upwards, in
-- any generation.
local function correct(c)
  for _, l in ipairs(c.limits) do
    if l.cost > 0 and (c.receipt == '' or c.receipt == c.generation) then
      l:take(l.cost)
    elseif l.cost < 0 and c.receipt ~= '' and c.receipt == c.generation then
      refund(l, l.charged, -l.cost)
    end
  end
end

-- store writes the changed fields. HSET comes first, because it fails if memory
-- is short, and then nothing has been written.
local function store(c)
  local changed, seconds = {}, 0
  for _, l in ipairs(c.limits) do
    if l.text ~= l.before then
      changed[#changed + 1] = l.name
      changed[#changed + 1] = l.text
    end
    if l.text ~= '' then seconds = max(seconds, l.ends()) end
  end
  if #changed == 0 then return end
  if c.generation == '' then c.generation = c.new_generation end
  redis.call('HSET', c.key, 'life', c.generation, unpack(changed))
  redis.call('PEXPIRE', c.key, format('%.0f', ceil((seconds + SLACK) * 1000)))
end

local counters, charged = {}, mode == 'charge'
for i, key in ipairs(KEYS) do
  local c, reason = open(key)
  if not c then return redis.error_reply(reason) end
  counters[i] = c
  charged = charged and allows(c)
end
local answer = {charged and 1 or 0, now_s, now_n}
for _, c in ipairs(counters) do
  if charged then charge(c) end
  if mode == 'settle' then correct(c) end
  if mode ~= 'peek' then store(c) end
  answer[#answer + 1] = c.generation
  for _, l in ipairs(c.limits) do answer[#answer + 1] = l.text end
end
return answer
