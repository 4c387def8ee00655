package storetest

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

var slotTraces = []trace{
	{name: "sliding: a window of any position holds the capacity", limit: Sliding(3, 10*sec, sec), moments: []moment{
		// time      cost allowed left reset        retry after
		{0, 1, true, 2, 11 * sec, 0, 0},
		{500 * ms, 1, true, 1, 10500 * ms, 0, 0},
		{5 * sec, 1, true, 0, 11 * sec, 0, 0},
		{9 * sec, 1, false, 0, 7 * sec, 2 * sec, 0},
		{10*sec + 999*ms, 1, false, 0, 5001 * ms, ms, 0}, // slot 0 still counts: the window reaches into it
		{11*sec - 1, 1, false, 0, 5*sec + 1, 1, 0},       // one nanosecond early
		{11 * sec, 1, true, 1, 11 * sec, 0, 0},           // both units of slot 0 are gone
		{11 * sec, 1, true, 0, 11 * sec, 0, 0},
		{11 * sec, 1, false, 0, 11 * sec, 5 * sec, 0}, // the unit of slot 5 leaves at 16 s
	}},
	{name: "sliding: the last nanosecond of a slot belongs to it", limit: Sliding(2, 10*sec, sec), moments: []moment{
		{sec - 1, 1, true, 1, 10*sec + 1, 0, 0},
		{sec, 1, true, 0, 11 * sec, 0, 0},
		{11*sec - 1, 1, false, 0, sec + 1, 1, 0},
		{11 * sec, 1, true, 0, 11 * sec, 0, 0},
		{11*sec + 1, 1, false, 0, 11*sec - 1, sec - 1, 0},
	}},
	{name: "sliding: costs above one wait for as many units as they need", limit: Sliding(10, 10*sec, sec), moments: []moment{
		{0, 4, true, 6, 11 * sec, 0, 0},
		{sec, 4, true, 2, 11 * sec, 0, 0},
		{2 * sec, 3, false, 2, 10 * sec, 9 * sec, 0},
		{2 * sec, 7, false, 2, 10 * sec, 10 * sec, 0},
		{2 * sec, 2, true, 0, 11 * sec, 0, 0},
		{2 * sec, 10, false, 0, 11 * sec, 11 * sec, 0},
		{2 * sec, 11, false, 0, 11 * sec, limit.Never, 0},
	}},
	{name: "sliding: a cost of the whole capacity, and of one more", limit: Sliding(7, 10*sec, sec), moments: []moment{
		{0, 8, false, 7, 0, limit.Never, 0},
		{0, 7, true, 0, 11 * sec, 0, 0},
		{10 * sec, 7, false, 0, sec, sec, 0},
		{11 * sec, 7, true, 0, 11 * sec, 0, 0},
	}},
	{name: "sliding: a cost of nothing is always allowed and counts nothing", limit: Sliding(1, 10*sec, sec), moments: []moment{
		{0, 0, true, 1, 0, 0, 0},
		{0, 1, true, 0, 11 * sec, 0, 0},
		{0, 0, true, 0, 11 * sec, 0, 0},
		{0, 1, false, 0, 11 * sec, 11 * sec, 0},
		{12 * sec, 0, true, 1, 0, 0, 0},
	}},
	{name: "sliding: a clock behind the newest slot is in it", limit: Sliding(2, 10*sec, sec), moments: []moment{
		{20 * sec, 1, true, 1, 11 * sec, 0, 0},
		{3 * sec, 1, true, 0, 28 * sec, 0, 0},
		{3 * sec, 1, false, 0, 28 * sec, 28 * sec, 0},
		{31*sec - 1, 1, false, 0, 1, 1, 0},
		{31 * sec, 1, true, 1, 11 * sec, 0, 0},
	}},
	{name: "sliding: a clock far behind is in the newest window", limit: Sliding(2, 10*sec, sec), moments: []moment{
		{0, 2, true, 0, 11 * sec, 0, 0},
		{30 * sec, 1, true, 1, 11 * sec, 0, 0},
		{5 * sec, 2, false, 1, 36 * sec, 36 * sec, 0}, // it is in slot 30, where slot 0 counts no more
		{5 * sec, 1, true, 0, 36 * sec, 0, 0},
	}},
	{name: "sliding: an idle gap empties it", limit: Sliding(2, 10*sec, sec), moments: []moment{
		{0, 2, true, 0, 11 * sec, 0, 0},
		{time.Hour, 2, true, 0, 11 * sec, 0, 0},
	}},
	{name: "sliding: capacity one", limit: Sliding(1, sec, 100*ms), moments: []moment{
		{0, 1, true, 0, 1100 * ms, 0, 0},
		{1099 * ms, 1, false, 0, ms, ms, 0},
		{1100 * ms, 1, true, 0, 1100 * ms, 0, 0},
	}},
	{name: "sliding: one slot a window", limit: Sliding(2, 10*sec, 10*sec), moments: []moment{
		{9 * sec, 2, true, 0, 11 * sec, 0, 0},
		{20*sec - 1, 1, false, 0, 1, 1, 0},
		{20 * sec, 2, true, 0, 20 * sec, 0, 0},
	}},
	{name: "sliding: before 1970", limit: Sliding(1, 10*sec, sec), start: time.Unix(0, 0), moments: []moment{
		{-1500 * ms, 1, true, 0, 10500 * ms, 0, 0}, // slot -2
		{0, 1, false, 0, 9 * sec, 9 * sec, 0},
		{9 * sec, 1, true, 0, 11 * sec, 0, 0},
	}},
	{name: "sliding: the largest capacity", limit: Sliding(limit.MaxCapacity, 30*24*time.Hour, 12*time.Hour),
		start: time.Unix(0, 0), moments: []moment{
			{0, limit.MaxCapacity - 1, true, 1, 61 * 12 * time.Hour, 0, 0},
			{0, 1, true, 0, 61 * 12 * time.Hour, 0, 0},
			{0, 1, false, 0, 61 * 12 * time.Hour, 61 * 12 * time.Hour, 0},
			{0, limit.MaxCapacity + 1, false, 0, 61 * 12 * time.Hour, limit.Never, 0},
			{0, 1<<63 - 1, false, 0, 61 * 12 * time.Hour, limit.Never, 0},
		}},
	{name: "fixed: the border of two windows lets twice the capacity through", limit: Fixed(2, 10*sec), moments: []moment{
		{9 * sec, 2, true, 0, sec, 0, 0},
		{9 * sec, 1, false, 0, sec, sec, 0},
		{10*sec - 1, 1, false, 0, 1, 1, 0},
		{10 * sec, 2, true, 0, 10 * sec, 0, 0},
		{10*sec + 1, 1, false, 0, 10*sec - 1, 10*sec - 1, 0},
	}},
	{name: "fixed: costs, of nothing and of too much", limit: Fixed(5, 10*sec), moments: []moment{
		{0, 0, true, 5, 0, 0, 0},
		{0, 6, false, 5, 0, limit.Never, 0},
		{sec, 3, true, 2, 9 * sec, 0, 0},
		{2 * sec, 3, false, 2, 8 * sec, 8 * sec, 0},
		{2 * sec, 2, true, 0, 8 * sec, 0, 0},
		{10 * sec, 5, true, 0, 10 * sec, 0, 0},
	}},
	{name: "fixed: a clock behind the newest window is in it", limit: Fixed(2, 10*sec), moments: []moment{
		{10 * sec, 1, true, 1, 10 * sec, 0, 0},
		{sec, 1, true, 0, 19 * sec, 0, 0},
		{sec, 1, false, 0, 19 * sec, 19 * sec, 0},
	}},
	{name: "fixed: an idle gap, capacity one", limit: Fixed(1, 10*sec), moments: []moment{
		{0, 1, true, 0, 10 * sec, 0, 0},
		{time.Hour, 1, true, 0, 10 * sec, 0, 0},
		{time.Hour, 1, false, 0, 10 * sec, 10 * sec, 0},
	}},
}

var weightedTraces = []trace{
	{name: "weighted: the window before fades", limit: Weighted(10, 10*sec), moments: []moment{
		{0, 8, true, 2, 20 * sec, 0, 0},
		{10*sec - 1, 3, false, 2, 10*sec + 1, 1250*ms + 1, 0}, // as soon as ⅛ of the 8 has faded
		{10 * sec, 2, true, 0, 20 * sec, 0, 0},
		{10 * sec, 1, false, 0, 20 * sec, 1250 * ms, 0},
		{11250*ms - 1, 1, false, 0, 18750*ms + 1, 1, 0},
		{11250 * ms, 1, true, 0, 18750 * ms, 0, 0},
		{15 * sec, 4, false, 3, 15 * sec, 1250 * ms, 0},
		{15 * sec, 3, true, 0, 15 * sec, 0, 0},
		{15 * sec, 10, false, 0, 15 * sec, 15 * sec, 0}, // all of it must be gone
		{15 * sec, 11, false, 0, 15 * sec, limit.Never, 0},
	}},
	{name: "weighted: what the window still covers is rounded up", limit: Weighted(3, 10*sec), moments: []moment{
		{0, 3, true, 0, 20 * sec, 0, 0},
		{10 * sec, 1, false, 0, 10 * sec, 3333333334, 0},
		{13333333333, 1, false, 0, 6666666667, 1, 0},
		{13333333334, 1, true, 0, 16666666666, 0, 0},
		{13333333334, 0, true, 0, 16666666666, 0, 0},
	}},
	{name: "weighted: a cost that waits into the next window", limit: Weighted(4, 10*sec), moments: []moment{
		{0, 4, true, 0, 20 * sec, 0, 0},
		{sec, 3, false, 0, 19 * sec, 16500 * ms, 0}, // 1 of 4 left at 17.5 s
		{17500*ms - 1, 3, false, 2, 2500*ms + 1, 1, 0},
		{17500 * ms, 3, true, 0, 12500 * ms, 0, 0},
	}},
	{name: "weighted: one unit blocks all of the next window", limit: Weighted(1, 10*sec), moments: []moment{
		{9 * sec, 1, true, 0, 11 * sec, 0, 0},
		{10 * sec, 1, false, 0, 10 * sec, 10 * sec, 0},
		{20*sec - 1, 1, false, 0, 1, 1, 0},
		{20 * sec, 1, true, 0, 20 * sec, 0, 0},
	}},
	{name: "weighted: a clock behind is at the start of the newest window", limit: Weighted(4, 10*sec), moments: []moment{
		{5 * sec, 2, true, 2, 15 * sec, 0, 0},
		{15 * sec, 1, true, 2, 15 * sec, 0, 0},
		{9 * sec, 2, false, 1, 21 * sec, 6 * sec, 0}, // both units of window 0 count until 10 s
		{9 * sec, 1, true, 0, 21 * sec, 0, 0},
	}},
	{name: "weighted: an idle gap empties it", limit: Weighted(3, 10*sec), moments: []moment{
		{0, 3, true, 0, 20 * sec, 0, 0},
		{20 * sec, 3, true, 0, 20 * sec, 0, 0},
		{time.Hour, 3, true, 0, 20 * sec, 0, 0},
	}},
	{name: "weighted: the largest capacity", limit: Weighted(limit.MaxCapacity, 30*24*time.Hour),
		start: time.Unix(0, 0), moments: []moment{
			{0, limit.MaxCapacity, true, 0, 60 * 24 * time.Hour, 0, 0},
			{45 * 24 * time.Hour, 1 << 31, false, 1<<31 - 1, 15 * 24 * time.Hour, 301749, 0},
		}},
}

var logTraces = []trace{
	{name: "log: a unit leaves to the nanosecond", limit: Exact(3, 10*sec), moments: []moment{
		{0, 1, true, 2, 10 * sec, 0, 0},
		{4 * sec, 2, true, 0, 10 * sec, 0, 0},
		{10*sec - 1, 1, false, 0, 4*sec + 1, 1, 0},
		{10 * sec, 1, true, 0, 10 * sec, 0, 0},
		{10*sec + 1, 1, false, 0, 10*sec - 1, 4*sec - 1, 0},
		{14 * sec, 3, false, 2, 6 * sec, 6 * sec, 0},
		{14 * sec, 2, true, 0, 10 * sec, 0, 0},
		{14 * sec, 4, false, 0, 10 * sec, limit.Never, 0},
		{14 * sec, 0, true, 0, 10 * sec, 0, 0},
	}},
	{name: "log: several charges of one nanosecond, and of the next", limit: Exact(4, sec), moments: []moment{
		{0, 1, true, 3, sec, 0, 0},
		{0, 1, true, 2, sec, 0, 0},
		{1, 2, true, 0, sec, 0, 0},
		{sec, 3, false, 2, 1, 1, 0},
		{sec, 2, true, 0, sec, 0, 0},
	}},
	{name: "log: a clock behind the newest stamp is stamped with it", limit: Exact(3, 10*sec), moments: []moment{
		{20 * sec, 1, true, 2, 10 * sec, 0, 0},
		{5 * sec, 1, true, 1, 25 * sec, 0, 0},
		{5 * sec, 2, false, 1, 25 * sec, 25 * sec, 0},
		{30*sec - 1, 2, false, 1, 1, 1, 0},
		{30 * sec, 3, true, 0, 10 * sec, 0, 0},
	}},
	{name: "log: capacity one, an idle gap", limit: Exact(1, 10*sec), moments: []moment{
		{0, 2, false, 1, 0, limit.Never, 0},
		{0, 1, true, 0, 10 * sec, 0, 0},
		{10*sec - 1, 1, false, 0, 1, 1, 0},
		{10 * sec, 1, true, 0, 10 * sec, 0, 0},
		{time.Hour, 1, true, 0, 10 * sec, 0, 0},
	}},
	{name: "log: before 1970", limit: Exact(2, 10*sec), start: time.Unix(0, 0), moments: []moment{
		{-sec, 1, true, 1, 10 * sec, 0, 0},
		{0, 1, true, 0, 10 * sec, 0, 0},
		{9*sec - 1, 1, false, 0, sec + 1, 1, 0},
		{9 * sec, 1, true, 0, 10 * sec, 0, 0},
	}},
}
