
-- Most calls charge one window in its newest slot, with room for another such
-- charge. They need nothing of what follows, which would decide the same.
if #KEYS == 1 and mode == 'c' then
  local _, count, _, capacity, cost, _, width = read('>Bc0Bc1dddd', ARGV[1])
  local stored = call('HMGET', KEYS[1], 'life', 'a')
  local generation, text = stored[1], stored[2]
  if count == 1 and cost > 0 and generation and generation ~= '' and text and #text == 28 then
    local at, nanos, units, before = read('>dI4dd', text)
    if at == floor(now_us / width) and nanos == 0 and units >= 0 and before >= 0 and units % 1 + before % 1 == 0
        and units + before + 2 * cost <= capacity then
      text = pack('>dI4dd', at, 0, units + cost, before)
      call('HSET', KEYS[1], 'a', text)
      return pack('>BddBc0Bc0I4', 1, now_s, now_n, #generation, generation, 28, text, 0)
    end
  end
end
