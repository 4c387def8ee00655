
local FIELDS = {'a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'}
local SLOTS = {'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H'}
local SLACK = 3600 -- seconds by which a counter outlives its window, for clocks that are behind

local function foreign(key, field) return redis.error_reply('FOREIGN field ' .. field .. ' of ' .. key .. ' is not readable') end

-- Read and decide.
local counters, charged = {}, mode == 'c'
for i = 1, #KEYS do
  local key, args = KEYS[i], ARGV[i]
  local mark, n, at = read('>Bc0B', args)
  local stored = call('HMGET', key, 'life', 'holds', unpack(FIELDS, 1, n))
  local c = {key = key, generation = stored[1] or '', mark = mark, holds = stored[2] or '', size = 24 + 16 * n}
  if c.generation == '' and (stored[1] or call('HGETALL', key)[1]) then return foreign(key, 'life') end
  if #c.holds % c.size ~= 0 or not is_end(last_end(c)) then return foreign(key, 'holds') end
  if holds then
    local reason
    at, reason = holds.open(c, args, at)
    if reason then return reason == '' and foreign(key, 'holds') or redis.error_reply(reason) end
    if c.gone then return c.gone end
  end
  for j = 1, n do
    local letter, l, reason
    l = {key = key, text = stored[j + 2], slots_field = SLOTS[j], live = c.live}
    letter, l.capacity, l.cost, at = read('>c1dd', args, at)
    if c.did == 'before' then l.cost = 0 end
    l.kind = kinds[letter]
    at, reason = l.kind.open(l, args, at)
    if reason then return reason == '' and foreign(key, FIELDS[j]) or redis.error_reply(reason) end
    if charged and l.cost > 0 and not l.kind.fits(l) then charged = false end
    c[j] = l
  end
  counters[i] = c
end

-- Read the slots that the reply shows, and correct.
for i = 1, #counters do
  local c = counters[i]
  for j = 1, #c do
    local l = c[j]
    if l.before and not l.lone and (not charged or l.cost == 0 or l.cost > l.capacity - l.total - l.cost) then
      l.shown = true
      if not (l.slots or older(l)) then return foreign(c.key, SLOTS[j]) end
    end
    if mode == 's' and not correct(c, l) then return foreign(c.key, SLOTS[j]) end
    if charged and l.cost > 0 then l.kind.take(l, l.cost) end
  end
  if holds and mode == 's' then holds.settle(c) end
  if holds and charged then holds.take(c) end
end

-- Write, and answer. HSET comes before PEXPIRE, because it fails if memory is
-- short, and then nothing has been written.
local answer = pack('>Bdd', charged and 1 or 0, now_s, now_n)
for i = 1, #counters do
  local c, new, extends = counters[i], {}, counters[i].later
  for j = 1, #c do
    local l = c[j]
    if l.new then
      new[#new + 1] = FIELDS[j]
      new[#new + 1] = l.text
      extends = extends or l.extends
    end
    if l.new_slots then
      new[#new + 1] = SLOTS[j]
      new[#new + 1] = l.slots
    end
  end
  if c.new_holds then
    new[#new + 1] = 'holds'
    new[#new + 1] = c.holds
  end
  if new[1] then
    if c.generation == '' then
      c.generation = c.mark
      new[#new + 1] = 'life'
      new[#new + 1] = c.mark
    end
    call('HSET', c.key, unpack(new))
    if extends then
      local seconds = max(0, (last_end(c) + MARGIN) / 1000 - now_s)
      for j = 1, #c do
        if c[j].text then seconds = max(seconds, c[j].kind.ends(c[j])) end
      end
      call('PEXPIRE', c.key, string.format('%.0f', math.ceil((seconds + SLACK) * 1000)))
    end
  end
  answer = answer .. pack('>Bc0', #c.generation, c.generation)
  for j = 1, #c do
    local l = c[j]
    local text, slots = l.text or '', l.shown and l.slots or ''
    answer = answer .. pack('>Bc0I4c0', #text, text, #slots, slots)
  end
  if holds then answer = answer .. pack('>Bc0I4c0', #c.did, c.did, #c.holds, c.holds) end
end
return answer
