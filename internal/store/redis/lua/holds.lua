
-- Holds: open reservations, and places in flight. The field holds has a record
-- for each, ascending by end. A call looks at those that it drops or passes by;
-- Go looks at all in the answer.
holds = {}
local now_ms = now_s * 1000 + floor(now_n / 1e6)
local LONGEST = 86400000 -- milliseconds from a charge to the end of its hold

-- put adds the hold behind those that do not end later. What it took begins with when
-- it was opened.
local function put(c, took)
  local at = #c.holds + 1
  while at > 1 and ends(c.holds, at - c.size) > c.till do at = at - c.size end
  c.holds = sub(c.holds, 1, at - 1) .. c.id .. pack('>d', c.till) .. took .. sub(c.holds, at)
  c.later = true
end

-- open counts the holds that have their places, and reads which one the charge
-- opens, or the settlement closes or renews. c.did is before if the charge was
-- made before, and its hold is open. It returns the position of the next argument,
-- or nil and an error, as the kinds do.
function holds.open(c, args, at)
  local first, last = 1, -FURTHEST
  while first < #c.holds do
    local e = ends(c.holds, first)
    if not is_end(e) or e < last then return nil, '' end
    if e + MARGIN > now_ms then break end
    first, last = first + c.size, e
  end
  if strict and last_end(c) > now_ms + LONGEST + AHEAD * 1000 then return nil, 'AHEAD' end
  c.first, c.live, c.did = first, (#c.holds + 1 - first) / c.size, ''
  if sub(args, at, at) ~= 'h' then return at end
  local for_s, for_n
  c.id = sub(args, at + 1, at + 8)
  for_s, for_n, c.most, at = read('>ddd', args, at + 9)
  c.renews = for_s + for_n > 0
  c.till = (now_s + for_s) * 1000 + floor((now_n + for_n + 999999) / 1e6)
  c.found = string.find(c.holds, c.id, 1, true)
  while c.found and (c.found - 1) % c.size ~= 0 do c.found = string.find(c.holds, c.id, c.found + 1, true) end
  if mode == 's' then
    local mark = read('>Bc0', ARGV[3]) -- '' if the answer to the charge was lost
    c.gone = mark ~= '' and mark ~= c.generation and 'reset'
      or not (c.found and (c.most == 0 or read('>d', c.holds, c.found + 16) == c.most)) and 'closed'
  elseif c.found and ends(c.holds, c.found) > now_ms then
    c.did = 'before'
  end
  return at
end

-- drop takes out the hold, and those before a position, which have ended.
local function drop(c, first)
  local text, at = c.holds, c.found
  if at and at >= first then text = sub(text, 1, at - 1) .. sub(text, at + c.size) end
  c.holds, c.new_holds = sub(text, first), true
end

-- take opens the hold of a charge.
function holds.take(c)
  if not c.id or c.did ~= '' or c.live >= c.most then return end
  local took = pack('>d', now_ms)
  for j = 1, #c do
    local l = c[j]
    took = took .. pack('>dd', l.most_nanos == 0 and l.slot or 0, l.cost) -- windows alone are corrected by slot
  end
  drop(c, c.first)
  put(c, took)
  c.did = 'opened'
end

-- settle closes the hold of a receipt, or moves its end.
function holds.settle(c)
  if not c.id or c.renews and ends(c.holds, c.found) >= c.till then return end
  local took = sub(c.holds, c.found + 16, c.found + c.size - 1)
  drop(c, 1)
  if c.renews then put(c, took) end
end

-- Places in flight, which have no field of their own.
kinds.f = {take = function() end}
function kinds.f.open(l, _, at)
  if l.text then return nil, '' end
  return at
end
function kinds.f.fits(l) return l.live + l.cost <= l.capacity end
