package rules

import (
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
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
		{"//a", []string{"//a"}},
		{"/a//b", []string{"/a//b"}},
		{"/a//", []string{"/a//"}},
		{"/a/../b", []string{"/a/../b"}},
		{"/a/%2e%2E/b", []string{"/a/../b"}},
		{"/a/.", []string{"/a/."}},
		{"/a//../b", []string{"/a//../b", "/a/../b"}},
		{"/a%2Fb", []string{"/a%2Fb"}},
		{"/a%2fb", []string{"/a%2Fb"}},
		{"/a%2F", []string{"/a%2F"}},
		{"/a%252Fb", nil}, // decoded once
		{"/a/..%2fb", []string{"/a/../b", "/a/..%2Fb"}},
		{"/a%2F..//%2e/b", []string{"/a/..//./b", "/a/.././b", "/a%2F../b", "/a%2F..//./b", "/a%2F.././b"}},
		{"%2Fa", []string{"/%2Fa"}},
		{"/admin;x=1/a", []string{"/admin/a"}},
		{"/admin/a;x;y", []string{"/admin/a"}},
		{"/a%3Bx/b", []string{"/a/b"}},
		{"/;/a", []string{"/a", "//a"}},
		{"/a/..;/b", []string{"/b", "/a/../b"}},
		{"/a/..%3b/b", []string{"/b", "/a/../b"}},
		{"/a;x%2Fb/c", []string{"/a/b/c", "/a;x%2Fb/c", "/a/c"}}, // decoded before it was cut, and after
		{"/..%3Bx/a;y", []string{"/a", "/../a", "/..;x/a"}},      // cut after it was decoded, and before
		{"/a\\b", []string{"/a/b"}},
		{"/a/..%5Cb", []string{"/b"}},
		{"/a%5cb%5F", []string{"/a/b_"}},
	} {
		if got := otherReadings(tt.raw, cleanPath(tt.raw)); !slices.Equal(got, tt.others) {
			t.Errorf("other readings of %q: %q, want %q", tt.raw, got, tt.others)
		}
	}
}

// No way to read a path is left out: each of decoding whole or by the segment, with each of cleaning, leaving out empty
// segments and leaving all as it is, and all of that with parameters dropped before or after, or left.
func FuzzReadings(f *testing.F) {
	for _, seed := range []string{"/a/b", "/a%2F..//%2e/b", "//", "/%2f%2F", "/a/%2e%2e/", "%", "", "/.//..", "/%252f%2%46", "/a;x/..;/b", "/..%3Bx%2f;/a;y", "/;%2F../a/", `/a\..%5cb`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean := cleanPath(raw)
		all := append([]string{clean}, otherReadings(raw, clean)...)
		if len(all) > 25 || !strings.ContainsAny(clean, `;\`) && len(all) > 6 {
			t.Errorf("%q has %d readings: %q", raw, len(all), all)
		}
		readings := make([][]string, len(all))
		for i, p := range all {
			readings[i] = segmentsOf(p)
		}
		for _, p := range append(decodings(raw), decodings(cut(raw))...) {
			full := slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" })
			for _, want := range []string{p, "/" + strings.Join(full, "/"), path.Clean("/" + p)} {
				if !slices.ContainsFunc(readings, func(r []string) bool { return slices.Equal(r, segmentsOf(want)) }) {
					t.Errorf("%q: %q is not among %q", raw, want, all)
				}
			}
		}
		if slashed := path.Clean("/" + strings.ReplaceAll(unescape(raw), `\`, "/")); strings.Contains(clean, `\`) && !slices.Contains(all, slashed) {
			t.Errorf("%q: %q is not among %q", raw, slashed, all)
		}
	})
}

// decodings decode a path whole or by the segment, and leave parameters or drop them then.
func decodings(raw string) []string {
	kept := make([]string, 0, 8) // segments that were decoded after they were cut
	for segment := range strings.SplitSeq(raw, "/") {
		kept = append(kept, strings.ReplaceAll(unescape(segment), "/", "%2F"))
	}
	whole, bySegment := unescape(raw), strings.Join(kept, "/")
	return []string{whole, bySegment, cut(whole), cut(bySegment)}
}

var parameter = regexp.MustCompile(";[^/]*")

// cut drops the parameters of a path.
func cut(p string) string { return parameter.ReplaceAllString(p, "") }

// segmentsOf are what glob.match goes by.
func segmentsOf(p string) (segments []string) {
	for rest := strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/"); rest != ""; {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		segments = append(segments, segment)
	}
	return segments
}
