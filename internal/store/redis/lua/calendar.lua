
-- Windows of a calendar. The caller sends the starts of four windows; by the
-- caller's clock, now is in the second.
kinds.c = {fits = fits, take = take}
function kinds.c.open(l, args, at)
  local window, starts = nil, {}
  window, starts[1], starts[2], starts[3], starts[4], at = read('>ddddd', args, at)
  for i = 1, 3 do
    if starts[i] <= now_s and now_s < starts[i + 1] then l.slot = window + i - 2 end
  end
  if not l.slot then return nil, 'CLOCK' end
  local own = l.slot
  l.window, l.starts, l.lone, l.furthest = window, starts, true, 110000 -- more than the days of an era
  l.slot_nanos, l.from, l.from_nanos, l.most_nanos = 0, l.slot, 0, 0
  if not place(l) then return nil, '' end
  if strict and l.slot > own + 1 then return nil, 'AHEAD' end -- more than a whole window
  return at
end
function kinds.c.ends(l)
  local starts, i = l.starts, max(1, l.newest - l.window + 3)
  local longest = 2 * max(starts[4] - starts[3], starts[3] - starts[2]) -- a day that the zone skips has no length
  return starts[min(i, 4)] + max(0, i - 4) * longest - now_s
end
