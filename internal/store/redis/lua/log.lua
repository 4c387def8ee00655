
-- Sliding window logs, whose slots are the times of charges.
kinds.l = {fits = fits, take = take}
function kinds.l.open(l, args, at)
  local window_n
  l.window, window_n, at = read('>dd', args, at)
  l.slot, l.slot_nanos, l.furthest = now_s, now_n, ERA - l.window - 2
  l.most_nanos = 999999999
  l.from, l.from_nanos = now_s - l.window, now_n - window_n + 1
  if l.from_nanos < 0 then l.from, l.from_nanos = l.from - 1, l.from_nanos + 1e9 end
  if l.from_nanos >= 1e9 then l.from, l.from_nanos = l.from + 1, l.from_nanos - 1e9 end
  if not place(l) then return nil, '' end
  if l.late and strict and (l.slot > now_s + AHEAD or l.slot == now_s + AHEAD and l.slot_nanos > now_n) then return nil, 'AHEAD' end
  return at
end
function kinds.l.ends(l) return l.newest + l.window + 1 - now_s end
