package suggest

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// Peaks of keys as number × peak, the limits to look at, and the knee.
func TestCandidates(t *testing.T) {
	type keys struct{ n, peak int64 }
	for _, tc := range []struct {
		keys []keys
		want string
	}{
		{[]keys{{100, 1}}, "[1], knee 1"},
		{[]keys{{90, 1}, {10, 2}}, "[1 2], knee 2"},
		{[]keys{{99, 9}, {1, 40}}, "[10 15 20 30 50], knee 10"},
		{[]keys{{89, 9}, {10, 16}, {1, 40}}, "[20 30 50], knee 20"}, // 10 touches more than a tenth
		{[]keys{{99, 5}, {1, 100}}, "[5 7 10 15 20 30 50 70 100], knee 5"},
		{[]keys{{99, 5}, {1, 1001}}, "[5 10 20 50 100 200 500 1000 2000], knee 5"}, // too many for the finer numbers
		{[]keys{{99, 1}, {1, 3000000}}, "[1 2 5 10 20 50 100 200 500 1000 2000 5000000], knee 1"},
	} {
		var peaks []int64
		for _, k := range tc.keys {
			peaks = append(slices.Repeat([]int64{k.peak}, int(k.n)), peaks...)
		}
		limits := candidates(peaks)
		if got := fmt.Sprintf("%v, knee %d", limits, limits[knee(limits, peaks)]); got != tc.want {
			t.Errorf("%v: %s, want %s", tc.keys, got, tc.want)
		}
	}
}

// Whatever the peaks are, the limits ascend, the first touches a tenth at most,
// the last touches none, and there is a knee.
func TestAnyPeaks(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		peaks := rapid.SliceOfN(rapid.OneOf(rapid.Int64Range(1, 50), rapid.Int64Range(1, 1e7)), 30, 300).Draw(t, "peaks")
		slices.Sort(peaks)
		slices.Reverse(peaks)
		limits := candidates(peaks)
		over := func(limit int64) (n int) {
			for _, p := range peaks {
				if p > limit {
					n++
				}
			}
			return n
		}
		for _, n := range limits {
			if over(n) != touched(peaks, n) {
				t.Fatalf("%d touches %d, want %d", n, touched(peaks, n), over(n))
			}
		}
		at := knee(limits, peaks)
		switch {
		case len(limits) > maxLimits, !slices.IsSorted(limits), over(limits[0])*10 > len(peaks), over(limits[len(limits)-1]) != 0:
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

// A limit is of no use beside one of a longer window that is as low.
func TestDropNeedless(t *testing.T) {
	windows := []Window{{Length: time.Hour}, {Length: time.Minute}, {Length: 24 * time.Hour}}
	for _, tc := range []struct{ capacity, want []int64 }{
		{[]int64{50, 50, 50}, []int64{0, 0, 50}},
		{[]int64{50, 20, 200}, []int64{50, 20, 200}},
		{[]int64{50, 70, 200}, []int64{50, 0, 200}},
		{[]int64{200, 20, 100}, []int64{0, 20, 100}},
	} {
		got := slices.Clone(tc.capacity)
		if dropNeedless(windows, got); !slices.Equal(got, tc.want) {
			t.Errorf("%v: %v, want %v", tc.capacity, got, tc.want)
		}
	}
}
