package match

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

func TestConditions(t *testing.T) {
	payload := map[string]any{
		"sub": "7", "n": json.Number("12345678901234567890"), "yes": true, "https://example.com/plan": "pro", "scope": "read write:all",
		"realm": map[string]any{"roles": []any{"admin", json.Number("3")}}, "list": []any{"a", "b", json.Number("7")},
	}
	r := &request.Request{Claims: payload, APIKey: "k1", Stage: "prod"}
	for _, test := range []struct {
		part  key.Part
		words string
		want  bool
	}{
		{key.Part{Kind: key.FromClaim, Text: "sub"}, "7", true},
		{key.Part{Kind: key.FromClaim, Text: "sub"}, "6 7", true},
		{key.Part{Kind: key.FromClaim, Text: "sub"}, "70", false},
		{key.Part{Kind: key.FromClaim, Text: "yes"}, "true", true},
		{key.Part{Kind: key.FromClaim, Text: "n"}, "12345678901234567890", true},
		{key.Part{Kind: key.FromClaim, Text: "list"}, "b", true},
		{key.Part{Kind: key.FromClaim, Text: "list"}, "7", true},
		{key.Part{Kind: key.FromClaim, Text: "list"}, "c", false},
		{key.Part{Kind: key.FromClaim, Text: "/realm/roles"}, "admin", true},
		{key.Part{Kind: key.FromClaim, Text: "scope"}, "write:all", true},
		{key.Part{Kind: key.FromClaim, Text: "scope"}, "write", false},
		{key.Part{Kind: key.FromClaim, Text: "/scope"}, "write:all", true},
		{key.Part{Kind: key.FromClaim, Text: "/scope"}, "write", false},
		{key.Part{Kind: key.FromClaim, Text: "https://example.com/plan"}, "PRO", false},
		{key.Part{Kind: key.FromClaim, Text: "realm"}, "admin", false},
		{key.Part{Kind: key.FromClaim, Text: "missing"}, "-", false},
		{key.Part{Kind: key.FromAPIKey, Text: ""}, "k1", true},
		{key.Part{Kind: key.FromStage, Text: ""}, "prod", true},
		{key.Part{Kind: key.FromStage, Text: ""}, "dev", false},
	} {
		c := Condition{Part: test.part, Words: strings.Fields(test.words)}
		if got := c.Holds(r); got != test.want {
			t.Errorf("%v is one of %s: %v, want %v", test.part, test.words, got, test.want)
		}
	}
	if (&Condition{Part: key.Part{Kind: key.FromStage, Text: ""}, Words: []string{""}}).Holds(&request.Request{}) {
		t.Error("a missing stage equals the empty text")
	}
}

func TestCallers(t *testing.T) {
	for _, test := range []struct {
		name string
		r    request.Request
		want string
	}{
		{"nothing", request.Request{}, request.Anonymous},
		{"a token", request.Request{Claims: map[string]any{}}, request.Known},
		{"a key", request.Request{APIKey: "k"}, request.Known},
		{"bad credentials", request.Request{Rejected: true}, request.Rejected},
	} {
		if got := test.r.Caller(); got != test.want {
			t.Errorf("%s: %v, want %v", test.name, got, test.want)
		}
		for _, of := range []string{request.Anonymous, request.Known, request.Rejected} {
			s := Selector{Callers: []string{of}}
			if got := s.Covers(&test.r); got != (of == test.want) {
				t.Errorf("%s: a rule for %s covers it: %v", test.name, of, got)
			}
		}
	}
}

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

func TestPrefixes(t *testing.T) {
	list := func(texts ...string) (list []netip.Prefix) {
		for _, text := range texts {
			list = append(list, netip.MustParsePrefix(text))
		}
		return list
	}
	some := list("198.51.100.0/24", "203.0.113.9/32", "2001:db8::/32", "10.0.0.0/8", "10.1.0.0/16", "10.0.0.0/8")
	for _, tt := range []struct {
		list []netip.Prefix
		addr string
		want bool
	}{
		{some, "198.51.100.0", true},
		{some, "198.51.100.255", true},
		{some, "198.51.101.0", false},
		{some, "198.51.99.255", false},
		{some, "203.0.113.9", true},
		{some, "203.0.113.8", false},
		{some, "10.1.2.3", true}, // in two of them
		{some, "10.2.0.0", true},
		{some, "2001:db8:ffff::1", true},
		{some, "2001:db9::", false},
		{some, "::ffff:10.1.2.3", false}, // requests have it unmapped
		{list("0.0.0.0/0"), "203.0.113.9", true},
		{list("0.0.0.0/0"), "2001:db8::1", false},
		{list("::/0"), "2001:db8::1", true},
		{list("::/0"), "203.0.113.9", false},
		{list("fe80::/10"), "fe80::1", true},
		{list("fe80::1/128"), "fe80::1%eth0", true},
		{nil, "203.0.113.9", false},
		{nil, "2001:db8::1", false},
	} {
		if got := setOf(tt.list).Contains(netip.MustParseAddr(tt.addr)); got != tt.want {
			t.Errorf("%v contains %s: %t, want %t", tt.list, tt.addr, got, tt.want)
		}
	}
	if setOf(list("0.0.0.0/0", "::/0")).Contains(netip.Addr{}) {
		t.Error("an unknown address is in a network")
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
