package rules

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// Entries together say what they say one by one, and those of networks alone are merged.
func TestLookupAgainstScan(t *testing.T) {
	covered, merged := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		var list []selector
		for range rapid.IntRange(0, 6).Draw(t, "entries") {
			var s selector
			if rapid.Bool().Draw(t, "with fields") {
				s = drawWhen(t)
			}
			for range rapid.IntRange(0, 2).Draw(t, "networks") {
				addr := drawAddr(t, "network")
				s.cidrs = append(s.cidrs, netip.PrefixFrom(addr, rapid.IntRange(0, addr.BitLen()).Draw(t, "bits")))
			}
			list = append(list, s)
		}
		e := newLookup(list)
		merged += len(list) - len(e.others)
		for range 8 {
			req := drawSent(t)
			req.IP = rapid.OneOf(rapid.Just(netip.Addr{}), rapid.Custom(func(t *rapid.T) netip.Addr { return drawAddr(t, "address") })).Draw(t, "ip")
			want := slices.ContainsFunc(list, func(s selector) bool { return s.covers(req) })
			if got := e.cover(req); got != want {
				t.Errorf("%+v cover %+v: %t, want %t", list, req, got, want)
			}
			wantExactly := slices.ContainsFunc(list, func(s selector) bool { return s.coversExactly(req) })
			if got := e.coverExactly(req); got != wantExactly {
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
	var list []selector
	for _, network := range blocklist(5000) {
		list = append(list, selector{cidrs: []netip.Prefix{network}})
	}
	list = append(list, selector{cidrs: list[0].cidrs, methods: []string{"GET"}}, selector{methods: []string{"TRACE"}})
	if e := newLookup(list); len(e.others) != 2 {
		t.Errorf("%d entries are asked one by one, want 2", len(e.others))
	}
}
