
-- correct settles the charge of a receipt.
local correct
if mode == 's' then
  local receipt, at = read('>Bc0', ARGV[3])

  -- refund takes up to so many units out of a slot that is still stored, even if
  -- the slot has left the window by this clock: for a clock that is behind it
  -- still counts. It returns false for slots that are malformed.
  local function refund(l, slot, units)
    local newest, before = l.in_newest, l.before
    if slot == l.newest then
      newest = max(0, newest - units)
    elseif not l.newest or slot > l.newest or before == 0 then
      return true
    elseif l.lone then
      if slot == l.newest - 1 then before = max(0, before - units) end
    else
      local text = l.slots
      for position = #text - SIZE + 1, 1, -SIZE do
        local found, _, count = read(SLOT, text, position)
        if found == slot then
          local taken = min(units, count)
          if not (taken >= 0 and taken <= before) then return false end
          l.slots, l.new_slots = sub(text, 1, position - 1) .. pack(SLOT, slot, 0, count - taken) .. sub(text, position + SIZE), true
          before = before - taken
        end
      end
    end
    l.text, l.new = pack(STATE, l.newest, 0, newest, before), true
    return true
  end

  -- A charge of zero cost has no generation in its receipt: it can only be
  -- corrected upwards, in any generation.
  function correct(c, l)
    local slot, turn_n, full_s, full_n
    if l.kind.refund then
      slot, turn_n, full_s, full_n, at = read('>dddd', ARGV[3], at)
    else
      slot, at = read('>d', ARGV[3], at)
    end
    if l.cost > 0 and (receipt == '' or receipt == c.generation) then
      l.kind.take(l, l.cost)
    elseif l.cost < 0 and receipt ~= '' and receipt == c.generation then
      if not l.kind.refund then return refund(l, slot, -l.cost) end
      l.kind.refund(l, slot, turn_n, full_s, full_n)
    end
    return true
  end
end
