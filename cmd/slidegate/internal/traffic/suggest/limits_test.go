package suggest

import (
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestAnyPeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peaks := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Range(1, 1e7)), 30, 300).Draw(t, "peaks")
		slices.Sort(peaks)
		slices.Reverse(peaks)
		limits, knee := candidates(peaks)
		over := func(limit int64) (n int) {
			for _, p := range peaks {
				if p > limit {
					n++
				}
			}
			return n
		}
		at := slices.Index(limits, knee)
		switch {
		case !slices.IsSorted(limits), over(limits[0])*10 > len(peaks), over(limits[len(limits)-1]) != 0:
			t.Fatalf("limits %v", limits)
		case at < 0 || over(limits[at])*100 > len(peaks) || at > 0 && over(limits[at-1])*100 <= len(peaks):
			t.Fatalf("knee %d of %v", at, limits)
		}
	})
}

// Numbers of the windows in which requests came, and the requests of the typical
// one.
func TestTypicalWindow(t *testing.T) {
	for _, tc := range []struct {
		windows []int64
		want    int64
	}{
		{[]int64{0}, 1},
		{[]int64{0, 0, 0}, 3},
		{[]int64{0, 5, 5, 5}, 1},             // 1 and 3: the lower
		{[]int64{0, 5, 5, 5, 9, 9, 9}, 3},    // 1, 3, 3
		{[]int64{0, 1, 1, 1, 0, 0}, 1},       // late: they count in window 1, which has 5
		{[]int64{0, 0, 1, 2, 2, 2, 3, 3}, 2}, // 2, 1, 3, 2
	} {
		var a activity
		for _, w := range tc.windows {
			a.add(w)
		}
		if got := a.median(); got != tc.want {
			t.Errorf("%v: %d, want %d", tc.windows, got, tc.want)
		}
	}
}

func TestRuleName(t *testing.T) {
	for key, want := range map[string]string{
		"ip:{ip}": "per-ip", "user:{jwt.sub}": "per-jwt-sub", "{header.X-Tenant}|{route}": "per-header-x-tenant-route",
		"{ip/24}": "per-ip-24", "all": "suggested", "{}": "per",
	} {
		if got := ruleName(key); got != want {
			t.Errorf("%s: %s, want %s", key, got, want)
		}
	}
}

// A limit is of no use beside one of a longer window that is as low, nor if its
// window is longer than the log. The shortest window stays.
func TestDropNeedless(t *testing.T) {
	for _, tc := range []struct {
		span           time.Duration
		capacity, want []int64 // of an hour, a minute, a day
	}{
		{48 * time.Hour, []int64{50, 50, 50}, []int64{0, 0, 50}},
		{48 * time.Hour, []int64{50, 20, 200}, []int64{50, 20, 200}},
		{48 * time.Hour, []int64{50, 70, 200}, []int64{50, 0, 200}},
		{48 * time.Hour, []int64{200, 20, 100}, []int64{0, 20, 100}},
		{2 * time.Hour, []int64{50, 20, 50}, []int64{50, 20, 0}},
		{59 * time.Minute, []int64{30, 20, 30}, []int64{0, 20, 0}},
		{0, []int64{30, 30, 30}, []int64{0, 30, 0}},
	} {
		r := Report{Windows: []Window{{Length: time.Hour}, {Length: time.Minute}, {Length: 24 * time.Hour}}}
		r.First, r.Last = time.Unix(0, 0), time.Unix(0, 0).Add(tc.span)
		got := slices.Clone(tc.capacity)
		if r.dropNeedless(got); !slices.Equal(got, tc.want) {
			t.Errorf("%v %v: %v, want %v", tc.span, tc.capacity, got, tc.want)
		}
	}
}
