
-- Sliding window counters, of two windows.
kinds.w = {open = kinds.s.open, take = take, ends = kinds.s.ends}

local function carry(seconds, nanos)
  if nanos < 0 then return seconds - 1, nanos + 1e9 end
  return seconds, nanos
end

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

-- The share of the older window is rounded up: ⌈older · part / width⌉ ≤ room
-- exactly if older · part ≤ room · width.
function kinds.w.fits(l)
  local before, room = l.total - l.units, l.capacity - l.cost - l.units
  if room < 0 or before == 0 then return room >= 0 end
  local part, rest = l.width, 0 -- a clock behind the newest slot counts as at its start
  if not l.late then part, rest = l.width - (now_us - l.slot * l.width), now_n % 1000 end
  local width = product(room, floor(l.width / 1e6), l.width % 1e6 * 1000)
  return not exceeds(product(before, carry(floor(part / 1e6), part % 1e6 * 1000 - rest)), width)
end
