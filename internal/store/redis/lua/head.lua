-- Charges, corrects or peeks at counters, each a hash in KEYS. Redis runs the
-- whole script without another command in between. script.go puts it together:
-- this part, the kinds of limits that the call has, and tail.lua. Redis makes
-- every function anew in every call, so a call carries none that it does not
-- need.
--
-- A hash has the field life, a random mark of the counter's generation, and for
-- each limit a field a to h, packed as by Lua's struct, big-endian:
--   window, log  dI4dd  newest slot ever charged, its nanoseconds (a log's; or
--                       0), its units, and the units of the slots before it
--   bucket       dI4    seconds and nanoseconds when it is full again
-- A window of more than two slots and a log have another field, A to H: the
-- slots before the newest, ascending, each dI4d as above. A charge in the newest
-- slot neither reads nor writes it. The field holds has the holds, ascending by
-- end: the ID in 8 bytes, dd its end and when it was opened in Unix milliseconds, and
-- dd the slot (0 unless it is corrected by slot) and the units that it took from
-- each limit.
--
-- ARGV has one text for each key: the mark of a new generation, the hold to open,
-- to close or to renew, if any (h, its ID, and ddd: how long, 0 to close it, and
-- the most holds, or when the one to close or renew was opened), and its limits.
-- Then come, unless this is a charge by the server's clock, the mode (c charge,
-- p peek, s settle) and the caller's time; and to settle the receipt.
--
-- The reply is one text: 1 if charged, the time that decided, and for each key
-- its generation and fields; if the call has holds, also what became of its own
-- (opened, or before for a charge that was made before) and all. A charge answers
-- without the slots before the newest, unless it has taken the last room. Go's
-- internal/limit computes the units left and retry-after from these. The script
-- only decides and writes.
--
-- A Lua number is exact up to 2^53, which Unix nanoseconds exceed. So a time is
-- a pair of seconds and nanoseconds, a slot is a whole number of microseconds
-- wide, and products are computed digit by digit. All checks come before the
-- first write.

local floor, max, min, sub = math.floor, math.max, math.min, string.sub
local read, pack, call = struct.unpack, struct.pack, redis.call

local MOST = 9007199254740991 -- the most units in one window, 2^53 - 1
local ERA = 9223372035        -- Unix nanoseconds in 64 bits cover so many seconds before and after 1970
local AHEAD = 3               -- seconds, besides one slot, by which a counter may be ahead of the server's clock

local mode, now_s, now_n = 'c', nil, nil
if ARGV[#KEYS + 1] then
  local common = ARGV[#KEYS + 1]
  mode = sub(common, 1, 1)
  if #common > 1 then now_s, now_n = read('>dd', common, 2) end
end
local own_clock = not now_s
if own_clock then
  local time = call('TIME')
  now_s, now_n = time[1] + 0, time[2] * 1000
end
local now_us = now_s * 1e6 + floor(now_n / 1000)
