package rules

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/rules/match"
)

// Entries together say what they say one by one, and those of networks alone are merged.
func TestLookupAgainstScan(t *testing.T) {
	covered, merged := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var list []match.Selector
		for range rapid.IntRange(0, 6).Draw(t, "entries") {
			var s match.Selector
			if rapid.Bool().Draw(t, "with fields") {
				s = drawWhen(t)
			}
			for range rapid.IntRange(0, 2).Draw(t, "networks") {
				addr := drawAddr(t, "network")
				s.CIDRs = append(s.CIDRs, netip.PrefixFrom(addr, rapid.IntRange(0, addr.BitLen()).Draw(t, "bits")))
			}
			list = append(list, s)
		}
		e := match.NewLookup(list)
		merged += len(list) - len(e.Others)
		for range 8 {
			req := drawSent(t)
			req.IP = rapid.OneOf(rapid.Just(netip.Addr{}), rapid.Custom(func(t *rapid.T) netip.Addr { return drawAddr(t, "address") })).Draw(t, "ip")
			want := slices.ContainsFunc(list, func(s match.Selector) bool { return s.Covers(req) })
			if got := e.Covers(req); got != want {
				t.Errorf("%+v cover %+v: %t, want %t", list, req, got, want)
			}
			wantExactly := slices.ContainsFunc(list, func(s match.Selector) bool { return s.CoversExactly(req) })
			if got := e.CoversExactly(req); got != wantExactly {
				t.Errorf("%+v cover %+v exactly: %t, want %t", list, req, got, wantExactly)
			}
			if want && wantExactly {
				covered++
			}
		}
	})
	if covered < 100 || merged < 20 {
		t.Errorf("%d requests covered and %d entries merged, want 100 and 20 at least", covered, merged)
	}
}

// A long list of entries with a network each is as quick as one entry with all of them.
func TestLookupMerges(t *testing.T) {
	var list []match.Selector
	for i := range 5000 {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)
		list = append(list, match.Selector{CIDRs: []netip.Prefix{network}})
	}
	list = append(list, match.Selector{CIDRs: list[0].CIDRs, Methods: []string{"GET"}}, match.Selector{Methods: []string{"TRACE"}})
	if e := match.NewLookup(list); len(e.Others) != 2 {
		t.Errorf("%d entries are asked one by one, want 2", len(e.Others))
	}
}

// drawAddr draws addresses that are close to each other.
func drawAddr(t *rapid.T, label string) netip.Addr {
	b := rapid.SliceOfN(rapid.SampledFrom([]byte{0, 1, 127, 128, 255}), 16, 16).Draw(t, label)
	switch rapid.IntRange(0, 4).Draw(t, label+"'s family") {
	case 0, 1:
		return netip.AddrFrom4([4]byte{10, b[1], b[2], b[3]})
	case 2:
		return netip.AddrFrom16([16]byte{10: 255, 11: 255, 12: 10, b[1], b[2], b[3]}) // not unmapped
	}
	var six [16]byte
	copy(six[:], []byte{0x20, 1, b[2], b[3]})
	copy(six[rapid.IntRange(4, 14).Draw(t, label+"'s end"):], b)
	return netip.AddrFrom16(six)
}
