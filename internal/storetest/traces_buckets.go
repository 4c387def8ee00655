package storetest

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

var tokenTraces = []trace{
	{name: "token: a burst, then a unit a second", limit: Token(10, 10*sec, 5), moments: []moment{
		// time  cost allowed left reset    retry after
		{0, 3, true, 2, 3 * sec, 0, 0},
		{0, 2, true, 0, 5 * sec, 0, 0},
		{0, 1, false, 0, 5 * sec, sec, 0},
		{sec - 1, 1, false, 0, 4*sec + 1, 1, 0},
		{sec, 1, true, 0, 5 * sec, 0, 0},
		{3 * sec, 3, false, 2, 3 * sec, sec, 0},
		{3*sec + 500*ms, 2, true, 0, 4500 * ms, 0, 0}, // half a unit stays
		{3*sec + 500*ms, 5, false, 0, 4500 * ms, 4500 * ms, 0},
		{3*sec + 500*ms, 6, false, 0, 4500 * ms, limit.Never, 0},
		{8 * sec, 5, true, 0, 5 * sec, 0, 0},
	}},
	{name: "token: a cost of nothing", limit: Token(10, 10*sec, 2), moments: []moment{
		{0, 0, true, 2, 0, 0, 0},
		{0, 2, true, 0, 2 * sec, 0, 0},
		{0, 0, true, 0, 2 * sec, 0, 0},
		{500 * ms, 0, true, 0, 1500 * ms, 0, 0},
	}},
	{name: "token: an interval is rounded up, never faster", limit: Token(3, 10*sec, 3), moments: []moment{
		{0, 3, true, 0, 3 * 3333333334, 0, 0},
		{0, 1, false, 0, 3 * 3333333334, 3333333334, 0},
		{3333333333, 1, false, 0, 2*3333333334 + 1, 1, 0},
		{3333333334, 1, true, 0, 3 * 3333333334, 0, 0},
	}},
	{name: "token: a clock behind finds less", limit: Token(10, 10*sec, 5), moments: []moment{
		{10 * sec, 1, true, 4, sec, 0, 0},
		{5 * sec, 1, false, 0, 6 * sec, 2 * sec, 0},
		{7*sec - 1, 1, false, 0, 4*sec + 1, 1, 0},
		{7 * sec, 1, true, 0, 5 * sec, 0, 0},
	}},
	{name: "token: an idle gap fills it and no more", limit: Token(1, sec, 3), moments: []moment{
		{0, 3, true, 0, 3 * sec, 0, 0},
		{time.Hour, 1, true, 2, sec, 0, 0},
		{time.Hour, 3, false, 2, sec, sec, 0},
		{time.Hour, 2, true, 0, 3 * sec, 0, 0},
	}},
	{name: "token: full to the nanosecond", limit: Token(2, 2*sec, 2), moments: []moment{
		{0, 2, true, 0, 2 * sec, 0, 0},
		{2*sec - 1, 2, false, 1, 1, 1, 0},
		{2 * sec, 2, true, 0, 2 * sec, 0, 0},
		{4*sec + 1, 2, true, 0, 2 * sec, 0, 0},
	}},
	{name: "token: capacity one, burst one", limit: Token(1, 10*sec, 1), moments: []moment{
		{0, 1, true, 0, 10 * sec, 0, 0},
		{10*sec - 1, 1, false, 0, 1, 1, 0},
		{10 * sec, 1, true, 0, 10 * sec, 0, 0},
	}},
	{name: "token: before 1970", limit: Token(1, sec, 2), start: time.Unix(0, 0), moments: []moment{
		{-1500 * ms, 2, true, 0, 2 * sec, 0, 0}, // full again at 500 ms
		{0, 2, false, 1, 500 * ms, 500 * ms, 0},
		{0, 1, true, 0, 1500 * ms, 0, 0},
	}},
	{name: "token: a nanosecond for a unit", limit: Token(limit.MaxCapacity, sec, limit.MaxCapacity), moments: []moment{
		{0, limit.MaxCapacity, true, 0, limit.MaxCapacity, 0, 0},
		{0, limit.MaxCapacity, false, 0, limit.MaxCapacity, limit.MaxCapacity, 0},
		{1, 1, true, 0, limit.MaxCapacity, 0, 0},
		{1, limit.MaxCapacity + 1, false, 0, limit.MaxCapacity, limit.Never, 0},
		{1, 1<<63 - 1, false, 0, limit.MaxCapacity, limit.Never, 0},
	}},
	{name: "token: ten years to refill", limit: Token(1, limit.MaxDrain/2, 2), start: time.Unix(0, 0), moments: []moment{
		{0, 2, true, 0, limit.MaxDrain, 0, 0},
		{0, 2, false, 0, limit.MaxDrain, limit.MaxDrain, 0},
		{limit.MaxDrain/2 - 1, 1, false, 0, limit.MaxDrain/2 + 1, 1, 0},
		{limit.MaxDrain / 2, 1, true, 0, limit.MaxDrain, 0, 0},
	}},
}

var leakyTraces = []trace{
	{name: "leaky: each waits for its turn", limit: Leaky(10, 10*sec, 3), moments: []moment{
		// time  cost allowed left reset    retry after  delay
		{0, 1, true, 2, sec, 0, 0},
		{0, 1, true, 1, 2 * sec, 0, sec},
		{0, 1, true, 0, 3 * sec, 0, 2 * sec},
		{0, 1, false, 0, 3 * sec, sec, 0},
		{500 * ms, 1, false, 0, 2500 * ms, 500 * ms, 0},
		{sec - 1, 1, false, 0, 2*sec + 1, 1, 0},
		{sec, 1, true, 0, 3 * sec, 0, 2 * sec},
		{10 * sec, 2, true, 1, 2 * sec, 0, 0}, // the queue was empty: it goes at once
		{10 * sec, 1, true, 0, 3 * sec, 0, 2 * sec},
		{10 * sec, 3, false, 0, 3 * sec, 3 * sec, 0},
		{10 * sec, 4, false, 0, 3 * sec, limit.Never, 0},
	}},
	{name: "leaky: a cost of nothing does not queue", limit: Leaky(10, 10*sec, 2), moments: []moment{
		{0, 2, true, 0, 2 * sec, 0, 0},
		{0, 0, true, 0, 2 * sec, 0, 0},
		{500 * ms, 0, true, 0, 1500 * ms, 0, 0},
	}},
	{name: "leaky: a clock behind waits longer", limit: Leaky(10, 10*sec, 3), moments: []moment{
		{20 * sec, 1, true, 2, sec, 0, 0},
		{19500 * ms, 1, true, 0, 2500 * ms, 0, 1500 * ms},
		{10 * sec, 1, false, 0, 12 * sec, 10 * sec, 0},
	}},
	{name: "leaky: a queue of one is a pace", limit: Leaky(2, sec, 1), moments: []moment{
		{0, 1, true, 0, 500 * ms, 0, 0},
		{500*ms - 1, 1, false, 0, 1, 1, 0},
		{500 * ms, 1, true, 0, 500 * ms, 0, 0},
		{time.Hour, 1, true, 0, 500 * ms, 0, 0},
	}},
	{name: "leaky: an interval is rounded up", limit: Leaky(3, 10*sec, 2), moments: []moment{
		{0, 1, true, 1, 3333333334, 0, 0},
		{1, 1, true, 0, 2*3333333334 - 1, 0, 3333333333},
		{2, 1, false, 0, 2*3333333334 - 2, 3333333332, 0},
	}},
}
