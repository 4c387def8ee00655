package rules

import (
	"path"
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
	} {
		if got := otherReadings(tt.raw, cleanPath(tt.raw)); !slices.Equal(got, tt.others) {
			t.Errorf("other readings of %q: %q, want %q", tt.raw, got, tt.others)
		}
	}
}

// No way to read a path is left out: each of decoding whole or by the segment, with each of cleaning, leaving out empty
// segments and leaving all as it is.
func FuzzReadings(f *testing.F) {
	for _, seed := range []string{"/a/b", "/a%2F..//%2e/b", "//", "/%2f%2F", "/a/%2e%2e/", "%", "", "/.//..", "/%252f%2%46"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean := cleanPath(raw)
		all := append([]string{clean}, otherReadings(raw, clean)...)
		if len(all) > 6 {
			t.Errorf("%q has %d readings: %q", raw, len(all), all)
		}
		readings := make([][]string, len(all))
		for i, p := range all {
			readings[i] = segmentsOf(p)
		}
		kept := make([]string, 0, 8) // segments that were decoded after they were cut
		for segment := range strings.SplitSeq(raw, "/") {
			kept = append(kept, strings.ReplaceAll(unescape(segment), "/", "%2F"))
		}
		for _, p := range []string{unescape(raw), strings.Join(kept, "/")} {
			full := slices.DeleteFunc(strings.Split(p, "/"), func(s string) bool { return s == "" })
			for _, want := range []string{p, "/" + strings.Join(full, "/"), path.Clean("/" + p)} {
				if !slices.ContainsFunc(readings, func(r []string) bool { return slices.Equal(r, segmentsOf(want)) }) {
					t.Errorf("%q: %q is not among %q", raw, want, all)
				}
			}
		}
	})
}

// segmentsOf are what glob.match goes by.
func segmentsOf(p string) (segments []string) {
	for rest := strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/"); rest != ""; {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		segments = append(segments, segment)
	}
	return segments
}
