
-- Sliding and fixed windows.
kinds.s = {fits = fits, take = take}
function kinds.s.open(l, args, at)
  local k, width
  k, width, at = read('>dd', args, at)
  l.k, l.width, l.lone = k, width, k < 2
  l.slot, l.slot_nanos, l.furthest = floor(now_us / width), 0, floor(ERA * 1e6 / width) - k - 1
  l.from, l.from_nanos, l.most_nanos = l.slot - k, 0, 0
  if not place(l) then return nil, '' end
  if l.late and strict and l.slot * width - now_us > width + AHEAD * 1e6 then return nil, 'AHEAD' end
  return at
end
function kinds.s.ends(l) return ((l.newest + l.k + 1) * l.width - now_us) / 1e6 end
