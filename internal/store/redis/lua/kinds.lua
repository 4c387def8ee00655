
-- kinds has the operations of each kind of limit, by the letter in ARGV. open
-- reads the arguments and the stored field, and decides. It returns the position
-- of the next argument, or nil and an error: '' for a field that is not
-- readable. take charges l.cost. ends returns the seconds until the state is
-- equivalent to one never charged.
local kinds = {}
local strict = own_clock and mode ~= 's' -- refuses counters that are far ahead of the clock
