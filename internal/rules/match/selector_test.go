package match

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestParseGlob(t *testing.T) {
	for _, tt := range []struct{ pattern, want string }{
		{"$x/y", "a pattern begins with a slash: write /$x/y"},
		{"GET /v1", "write /v1 here and GET under methods"},
		{"$default", "requests on a catch-all route are matched by their path: write /**"},
		{"/{proxy+}", "requests on a catch-all route are matched by their path: write /**"},
		{"/v1/{proxy+}", "requests on a catch-all route are matched by their path: write /v1/**"},
		{"$connect", ""},
	} {
		_, wrong := ParseRoute(tt.pattern)
		if got := strings.TrimPrefix(wrong.Reason(), fmt.Sprintf("pattern %q: ", tt.pattern)); got != tt.want {
			t.Errorf("pattern %.40q: %q, want %q", tt.pattern, got, tt.want)
		}
	}
	if _, got := ParsePath("/users/{id}/x"); got.Reason() != `pattern "/users/{id}/x": a path has no template parameters: write * in place of {id}, or match on route` {
		t.Errorf("a parameter in a path pattern: %q", got.Reason())
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

// The set agrees with a scan of the list for every address.
func TestPrefixesAgainstScan(t *testing.T) {
	inside := 0
	rapid.Check(t, func(t *rapid.T) {
		var list []netip.Prefix
		for range rapid.IntRange(0, 20).Draw(t, "networks") {
			addr := drawAddr(t, "network")
			bits := addr.BitLen() - rapid.IntRange(0, min(addr.BitLen(), 40)).Draw(t, "host bits")
			list = append(list, netip.PrefixFrom(addr, bits)) // not masked: Contains ignores host bits
		}
		set := setOf(list)
		for range 20 {
			addr := drawAddr(t, "address")
			if len(list) > 0 && rapid.Bool().Draw(t, "from the list") {
				addr = list[rapid.IntRange(0, len(list)-1).Draw(t, "which")].Addr()
			}
			want := slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(addr) })
			if got := set.Contains(addr); got != want {
				t.Fatalf("%v contains %s: %t, want %t", list, addr, got, want)
			}
			if want {
				inside++
			}
		}
	})
	if inside < 100 {
		t.Errorf("%d addresses inside tried, want 100 at least", inside)
	}
}

// blocklist is n networks as such lists have them: single addresses mostly, and some networks of both families.
func blocklist(n int) []netip.Prefix {
	random := rand.New(rand.NewPCG(1, 2))
	list := make([]netip.Prefix, n)
	for i := range list {
		addr, bits := netip.AddrFrom4([4]byte{byte(random.IntN(224)), byte(random.Uint32()), byte(random.Uint32()), byte(random.Uint32())}), 32
		switch i % 10 {
		case 7, 8:
			bits = 20 + random.IntN(9)
		case 9:
			addr, bits = netip.AddrFrom16([16]byte{0x20, 1, byte(random.Uint32()), byte(random.Uint32()), 4: byte(random.Uint32()), 5: byte(random.Uint32())}), 48
		}
		list[i] = netip.PrefixFrom(addr, bits).Masked()
	}
	return list
}

func TestPrefixesAllocate(t *testing.T) {
	list := blocklist(10000)
	set := setOf(list)
	i := 0
	if n := testing.AllocsPerRun(100, func() {
		if i++; !set.Contains(list[i].Addr()) || set.Contains(netip.AddrFrom4([4]byte{240, 1, 2, byte(i)})) {
			t.Fatalf("wrong about %s", list[i])
		}
	}); n != 0 {
		t.Errorf("a lookup allocates %v times", n)
	}
}
