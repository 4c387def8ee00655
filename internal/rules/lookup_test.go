package rules

import (
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/rules/match"
)

// nearAddrs are addresses that share prefixes of many lengths.
var nearAddrs = []netip.Addr{
	netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("10.0.0.255"), netip.MustParseAddr("10.0.128.0"), netip.MustParseAddr("10.127.1.0"),
	netip.MustParseAddr("10.255.1.128"), netip.MustParseAddr("2001::1"), netip.MustParseAddr("2001:0:0:1::"), netip.MustParseAddr("2001:7f80::ff01"),
	netip.MustParseAddr("2001:ff00::7f"), netip.MustParseAddr("::ffff:10.0.0.1"),
}

// A lookup agrees with its entries, and merges the entries that have only networks.
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
				addr := rapid.SampledFrom(nearAddrs).Draw(t, "network")
				s.CIDRs = append(s.CIDRs, netip.PrefixFrom(addr, rapid.IntRange(0, addr.BitLen()).Draw(t, "bits")))
			}
			list = append(list, s)
		}
		e := match.NewLookup(list)
		merged += len(list) - len(e.Others)
		for range 8 {
			req := drawSent(t)
			req.IP = rapid.SampledFrom(append(nearAddrs, netip.Addr{})).Draw(t, "ip")
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

// Entries with one network each are merged, so a long list is as quick as one entry.
func TestLookupMerges(t *testing.T) {
	var list []match.Selector
	for i := range 5000 {
		network := netip.PrefixFrom(netip.AddrFrom4([4]byte{198, 18, byte(i >> 8), byte(i)}), 32)
		list = append(list, match.Selector{CIDRs: []netip.Prefix{network}})
	}
	list = append(list, match.Selector{CIDRs: list[0].CIDRs, Methods: []string{"GET"}}, match.Selector{Methods: []string{"TRACE"}})
	if e := match.NewLookup(list); len(e.Others) != 2 {
		t.Errorf("%d entries are compared one by one, want 2", len(e.Others))
	}
}
