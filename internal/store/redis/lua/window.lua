-- What windows and logs share. A slot is at and nanos, which is 0 but for logs.
-- The kind sets l.slot and l.slot_nanos, the slot of the clock; l.from and
-- l.from_nanos, the first slot that counts then; l.furthest and l.most_nanos, the
-- bounds of a slot; and l.lone if only the newest slot counts, or the one before
-- it too.

local STATE, SLOT, SIZE = '>dI4dd', '>dI4d', 20
local RECORDS = 1001 -- the most slots or stamps of one limit

-- older returns the slots before the newest, or nil if the field is malformed.
local function older(l)
  local text = call('HMGET', l.key, l.slots_field)[1] or ''
  if #text % SIZE == 0 and #text <= SIZE * RECORDS then l.slots = text end
  return l.slots
end

-- drop returns the units of the slots from l.from on, or nil if they contradict
-- l.before. It sets l.kept to these slots. It looks only at the slots that it
-- drops and at the last one, so that all charges together read each slot once.
local function drop(l)
  local text, at, units = older(l), 1, l.before
  if not text then return nil end
  while at <= #text do
    local slot, nanos, count = read(SLOT, text, at)
    if slot > l.from or slot == l.from and nanos >= l.from_nanos then
      local last, last_nanos = read(SLOT, text, #text - SIZE + 1)
      if not (last < l.newest or last == l.newest and last_nanos < l.newest_nanos) or not (units >= 0) then return nil end
      break
    end
    at, units = at + SIZE, units - count
  end
  if at > #text and units ~= 0 then return nil end
  l.kept = sub(text, at) .. pack(SLOT, l.newest, l.newest_nanos, l.in_newest)
  return units + l.in_newest
end

-- place reads the stored field and finds the current slot, which is the newest
-- one if the clock is behind it. It sets l.units to those of the current slot,
-- and l.total to those of the window. It returns false for a malformed field.
local function place(l)
  l.units, l.total = 0, 0
  if not l.text then return true end
  if #l.text ~= 28 then return false end
  local at, nanos, units, before = read(STATE, l.text)
  if not (at >= -l.furthest and at <= l.furthest and units >= 0 and before >= 0 and units + before <= MOST)
      or at % 1 + units % 1 + before % 1 ~= 0 or nanos > l.most_nanos then
    return false
  end
  l.newest, l.newest_nanos, l.in_newest, l.before = at, nanos, units, before
  if at > l.slot or at == l.slot and nanos >= l.slot_nanos then
    l.late = at > l.slot or nanos > l.slot_nanos
    l.slot, l.slot_nanos, l.units, l.total = at, nanos, units, units + before
  elseif at > l.from or at == l.from and nanos >= l.from_nanos then
    l.total = l.lone and units or drop(l)
  end
  return l.total ~= nil
end

local function fits(l) return l.cost <= l.capacity - l.total end

-- take charges units to the current slot. If that is a new one, the newest so
-- far becomes one of the slots before it.
local function take(l, units)
  local before = l.total - l.units
  if l.newest and not (l.lone or l.newest == l.slot and l.newest_nanos == l.slot_nanos) then
    l.slots, l.new_slots = l.kept or '', true
  end
  l.extends = l.late or l.newest ~= l.slot or l.newest_nanos ~= l.slot_nanos
  l.newest, l.newest_nanos, l.before = l.slot, l.slot_nanos, before
  l.text = pack(STATE, l.slot, l.slot_nanos, min(l.units + units, MOST - before), before)
  l.new = true
end
