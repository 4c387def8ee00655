
-- Token and leaky buckets.
kinds.b = {}

local function sum(s, n, s2, n2)
  if n + n2 >= 1e9 then return s + s2 + 1, n + n2 - 1e9 end
  return s + s2, n + n2
end
local function after(s, n, s2, n2) return s > s2 or s == s2 and n > n2 end

function kinds.b.open(l, args, at)
  local drain_s, drain_n, need_s, need_n
  drain_s, drain_n, need_s, need_n, at = read('>dddd', args, at)
  local empty_s, empty_n = sum(now_s, now_n, drain_s, drain_n) -- when a bucket empty now is full again
  local s, n = now_s, now_n
  if l.text then
    if #l.text ~= 12 then return nil, '' end
    local full_s, full_n = read('>dI4', l.text)
    if not (full_s >= -ERA and full_s <= ERA) or full_s % 1 ~= 0 or full_n >= 1e9 then return nil, '' end
    l.full_s, l.full_n = full_s, full_n
    if after(full_s, full_n, s, n) then s, n = full_s, full_n end
    if strict and after(full_s, full_n, empty_s + AHEAD, empty_n) then return nil, 'AHEAD' end
  end
  l.next_s, l.next_n = sum(s, n, need_s, need_n)
  l.room = not after(l.next_s, l.next_n, empty_s, empty_n)
  return at
end
function kinds.b.fits(l) return l.room end
function kinds.b.take(l)
  l.full_s, l.text, l.new, l.extends = l.next_s, pack('>dI4', l.next_s, l.next_n), true, true
end
function kinds.b.ends(l) return l.full_s + 1 - now_s end

-- refund returns a turn that has not come to a bucket that the charge left full
-- at a time. Later charges have moved that time on, and keep it.
function kinds.b.refund(l, turn_s, turn_n, full_s, full_n)
  if after(now_s, now_n, turn_s, turn_n) or l.full_s ~= full_s or l.full_n ~= full_n then return end
  l.full_s, l.text, l.new = turn_s, pack('>dI4', turn_s, turn_n), true
end
