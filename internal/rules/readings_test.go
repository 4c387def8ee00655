package rules

import (
	"path"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/pathtest"
)

func TestOtherReadings(t *testing.T) {
	for _, tt := range []struct {
		raw    string
		others []string
	}{
		{"", nil},
		{"/", nil},
		{"/a/b", nil},
		{"/a/", nil}, // one place to all who have patterns
		{"a", nil},
		{"/%61/b%20c", nil},
		{"/a/%", nil},
		{"/.well-known/x", nil},
		{"//a", []string{"//a", "/"}}, // a host, to some
		{"//a/b", []string{"//a/b", "/b"}},
		{"///a/b", []string{"///a/b", "/b"}},
		{"//a/%2e%2e/b/%2e", []string{"//a/../b/.", "//b", "/a/../b/.", "/../b/."}},
		{"/a//b", []string{"/a//b"}},
		{"/a//", []string{"/a//"}},
		{"/a/../b", []string{"/a/../b"}},
		{"/a/%2e%2E/b", []string{"/a/../b"}},
		{"/a/.", []string{"/a/."}},
		{"/a//../b", []string{"/a//../b", "/a/b", "/a/../b"}},
		{"/a//..", []string{"/a//..", "/a", "/a/.."}},
		{"/a/.//b", []string{"/a/.//b", "/a//b", "/a/./b"}},
		{"/a%2Fb", []string{"/a%2Fb"}},
		{"/a%2fb", []string{"/a%2fb"}},
		{"/a%2F", []string{"/a%2F"}},
		{"/a%252Fb", nil}, // decoded once
		{"/a/..%2fb", []string{"/a/../b", "/a/..%2fb"}},
		{"/x/%2e%2e/../a", []string{"/x/../../a", "/x/a"}},                                // "%2e%2e" was a name to a proxy
		{"/x%2Fy/../a%2Fb", []string{"/x/y/../a/b", "/a%2Fb", "/x%2Fy/../a%2Fb", "/a/b"}}, // and "x%2Fy" one segment
		{"/x%2Fy/%2e%2e/a%2Fb", []string{"/x/y/../a/b", "/a%2Fb", "/x%2Fy/../a%2Fb", "/a/b"}},
		{"/a%2F..//%2e/b", []string{"/a/..//./b", "//b", "/a/.././b", "/a%2F../b", "/a%2F..//./b", "/a%2F..//b", "/a%2F.././b", "/a/..//b", "/a/../b"}},
		{"%2Fa", []string{"//a", "/%2Fa"}},
		{"/admin;x=1/a", []string{"/admin/a"}},
		{"/admin/a;x;y", []string{"/admin/a"}},
		{"/a%3Bx/b", []string{"/a/b"}},
		{"/;/a", []string{"/a", "//a"}},
		{"/a/..;/b", []string{"/b", "/a/../b"}},
		{"/a/..%3b/b", []string{"/b", "/a/../b"}},
		{"/a;x%2Fb/c", []string{"/a/b/c", "/a;x%2Fb/c", "/a/c"}}, // decoded before it was cut, and after
		{"/..%3Bx/a;y", []string{"/a", "/../a", "/..;x/a"}},      // cut after it was decoded, and before
		{"/a\\b", []string{"/a/b"}},
		{"/a/..%5Cb", []string{"/b", "/a/../b"}},
		{`/a\\..\b`, []string{"/b", "/a//../b", "/a/b", "/a/../b"}},
		{`/\a/b`, []string{"/a/b", "//a/b", "/b"}},
		{"/a%5cb%5F", []string{"/a/b_"}},
	} {
		if got, ok := otherReadings(tt.raw, cleanPath(tt.raw)); !slices.Equal(got, tt.others) || !ok {
			t.Errorf("other readings of %q: %q, %t, want %q", tt.raw, got, ok, tt.others)
		}
	}
}

// No way to read a path is left out: each of those in which it may be passed on, decoded whole or by the segment, with
// parameters dropped before, after, both or left, and each of that cleaned, without its dots, without its empty segments,
// without both in turn, or as it is.
func FuzzReadings(f *testing.F) {
	for _, seed := range []string{
		"/a/b", "/a%2F..//%2e/b", "//", "/%2f%2F", "/a/%2e%2e/", "%", "", "/.//..", "/%252f%2%46", "/a;x/..;/b", "/..%3Bx%2f;/a;y",
		"/;%2F../a/", `/a\..%5cb`, "/a//../b", "/a/%2e%2e/../b//..", "/a%2Fb//../c%2F..", "//a/b/../c", `/\a//..\b%2e`, "///a",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) { expectReadings(t, raw) })
}

// TestReadings makes paths up of what readings differ in.
func TestReadings(t *testing.T) {
	parts := rapid.SampledFrom([]string{"/", "/", "/", "a", "b", ".", "..", "%2e%2e", "%2F", "/%2F..", ";x", "%3By", `\`, "%5C"})
	rapid.Check(t, func(t *rapid.T) { expectReadings(t, strings.Join(rapid.SliceOfN(parts, 0, 40).Draw(t, "path"), "")) })
}

func expectReadings(t interface{ Errorf(string, ...any) }, raw string) {
	clean := cleanPath(raw)
	others, ok := otherReadings(raw, clean)
	if !ok {
		if len(raw) < 300 {
			t.Errorf("%q is not read to its end", raw)
		}
		return
	}
	all, size := append([]string{clean}, others...), 0
	if len(all) > 300 || len(all) > 70 && isPlain(unescape(raw)) {
		t.Errorf("%q has %d readings: %q", raw, len(all), all)
	}
	readings := map[string]bool{}
	for _, p := range all {
		readings[segmentsOf(p)] = true
		size += len(p)
		if len(p) > len(raw)+1 {
			t.Errorf("%q: %q has grown", raw, p)
		}
	}
	if size > maxRead+len(raw) {
		t.Errorf("%q comes to %d bytes", raw, size)
	}
	for _, p := range waysToRead(rooted(raw)) {
		if !readings[segmentsOf(p)] {
			t.Errorf("%q: %q is not among %q", raw, p, all)
		}
	}
}

// intricate is a path with all that readings differ in.
const intricate = "//x;a/..%3Bb%2F//../%2e%2e/y/"

// TestEndless denies what has too many readings to be looked at, and nothing that a client may send in good faith.
func TestEndless(t *testing.T) {
	s := parse(t, "rules: [{name: all, key: all, limits: [{capacity: 1, window: 1s}]}]")
	for _, tt := range []struct {
		part   string
		long   int
		banned bool
	}{
		{"/a", 100_000, false},
		{"/%61", 100_000, false},
		{"/a//b", 100_000, false},
		{"/a%2Fb%20c", 10 << 10, false},
		{"/a;b=c", 10 << 10, false},
		{"/a/../b", 10 << 10, false},
		{intricate, 300, false},
		{intricate, 10 << 10, true},
		{"/a%2Fb/../c", 100_000, true},
		{"/a//b", 300_000, true},
	} {
		req := Request{Path: strings.Repeat(tt.part, tt.long/len(tt.part))}
		if got := s.Banned(&req); got != tt.banned {
			t.Errorf("%d bytes of %s: banned %t, want %t", tt.long, tt.part, got, tt.banned)
		}
		if why, banned := s.WhyBanned(&req); banned != tt.banned || strings.Contains(why, "too many ways") != banned {
			t.Errorf("%d bytes of %s: explained %t, %q", tt.long, tt.part, banned, why)
		}
	}
}

// waysToRead goes through them one by one.
func waysToRead(sent string) (all []string) {
	dotted, slashed := pathtest.UnescapeDots(sent), strings.ReplaceAll(sent, `\`, "/")
	ways := []string{sent, pathtest.MergeSlashes(sent), pathtest.DropHost(sent), pathtest.RemoveDotSegments(pathtest.UnescapeDots(pathtest.DropHost(slashed)))}
	for _, p := range []string{sent, dotted} {
		if strings.Contains(p, "/.") {
			ways = append(ways, pathtest.RemoveDotSegments(p), pathtest.MergeSlashes(pathtest.RemoveDotSegments(p)), path.Clean(p))
		}
	}
	for _, p := range ways {
		decoded := append(decodedBothWays(p), decodedBothWays(pathtest.DropParameters(p))...)
		for _, d := range decoded {
			decoded = append(decoded, pathtest.DropParameters(d))
		}
		decoded = append(decoded, strings.ReplaceAll(unescape(p), `\`, "/"))
		for _, d := range decoded {
			undotted := pathtest.RemoveDotSegments(d)
			all = append(all, d, pathtest.MergeSlashes(d), undotted, pathtest.MergeSlashes(undotted), path.Clean(d))
		}
	}
	return all
}

// decodedBothWays decodes a path whole and by the segment.
func decodedBothWays(raw string) []string {
	kept := make([]string, 0, 8) // segments that were decoded after they were cut
	for segment := range strings.SplitSeq(raw, "/") {
		kept = append(kept, strings.ReplaceAll(unescape(segment), "/", "%2F"))
	}
	return []string{unescape(raw), strings.Join(kept, "/")}
}

// segmentsOf joins what glob.match goes by, and is the same however slashes are escaped.
func segmentsOf(p string) (segments string) {
	for rest := strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/"); rest != ""; {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		segments += strings.ReplaceAll(segment, "%2f", "%2F") + "/"
	}
	return segments
}

// BenchmarkReadings reads paths of a few lengths: with one escape, and with all there is, as long as a gateway takes.
func BenchmarkReadings(b *testing.B) {
	for name, raw := range map[string]string{
		"one escape":      "/v1/items%37/x",
		"all there is":    intricate,
		"all, 1,000 long": strings.Repeat(intricate, 1000/len(intricate)),
		"all, 10 KB long": strings.Repeat(intricate, 10<<10/len(intricate)),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				otherReadings(raw, cleanPath(raw))
			}
		})
	}
}
