
-- kinds has the operations of each kind of limit, by the letter in ARGV. open
-- reads the arguments and the stored field, and decides. It returns the position
-- of the next argument, or nil and an error: '' for a field that is not
-- readable. take charges l.cost. ends returns the seconds until the state is
-- equivalent to one never charged.
local kinds = {}
local holds -- of calls that need it: see holds.lua
local strict = own_clock and mode ~= 's' -- refuses counters that are far ahead of the clock

local MARGIN = 3000               -- milliseconds for which a hold keeps its place after its end
local FURTHEST = (ERA - 3) * 1000 -- the last end of a hold, in milliseconds

-- ends returns the end of the hold whose record begins at a position. last_end
-- returns that of the last hold.
local function ends(text, at) return (read('>d', text, at + 8)) end
local function last_end(c) return c.holds == '' and -FURTHEST or ends(c.holds, #c.holds - c.size + 1) end
local function is_end(e) return e >= -FURTHEST and e <= FURTHEST and e % 1 == 0 end
