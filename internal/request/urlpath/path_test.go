package urlpath

import (
	"path"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/test/oracle"
)

func TestClean(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{"", "/"},
		{"//", "/"},
		{"a", "/a"},
		{"/a/", "/a"},
		{"/a//b", "/a/b"},
		{"/./a/./b/.", "/a/b"},
		{"/a/../b", "/b"},
		{"/../../a", "/a"},
		{"/a/...", "/a/..."},
		{"/a%20b", "/a b"},
		{"/a+b", "/a+b"},
		{"/%61dmin", "/admin"},
		{"/a%2Fb", "/a/b"},
		{"/x/%2E%2e/a", "/a"},
		{"/a%252Fb", "/a%2Fb"}, // once
		{"/a%", "/a%"},
		{"/a%zz", "/a%zz"},
		{"/a%4g%41", "/a%4gA"},
		{"/%ff", "/\xff"},
		{"/a%00b", "/a\x00b"},
		{"/A/b", "/A/b"},
		{"/admin;x=1/a;y", "/admin/a"},
		{"/admin%3Bx%2Fy/a", "/admin/y/a"},
		{"/a/..;/b", "/b"},
		{`/a\b%5c..\c`, "/a/c"},
	} {
		if got := Clean(tt.raw); got != tt.want {
			t.Errorf("Clean(%q) = %q, want %q", tt.raw, got, tt.want)
		}
	}
}

func FuzzClean(f *testing.F) {
	for _, seed := range []string{"/", "/a/../b//c/.", "/%2e%2E/%2fa", "/a%252e", "%", "/%zz%4", "\xff/é", `/a;b\..%5c;`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean := Clean(raw)
		if !strings.HasPrefix(clean, "/") || strings.Contains(clean, "//") || len(clean) > 1 && strings.HasSuffix(clean, "/") {
			t.Errorf("Clean(%q) = %q is not clean", raw, clean)
		}
		for segment := range strings.SplitSeq(clean[1:], "/") {
			if segment == "." || segment == ".." {
				t.Errorf("Clean(%q) = %q keeps %q", raw, clean, segment)
			}
		}
		if !HasEscape(clean) && Clean(clean) != clean {
			t.Errorf("Clean(%q) = %q, and once more %q", raw, clean, Clean(clean))
		}
		if escaped := strings.ReplaceAll(clean, "%", "%25"); Clean(escaped) != clean {
			t.Errorf("Clean(%q) = %q, want %q", escaped, Clean(escaped), clean)
		}
		if len(clean) > len(raw)+1 {
			t.Errorf("Clean(%q) = %q grew", raw, clean)
		}
	})
}

const (
	encodedSlash = "an encoded slash"
	backslash    = "a backslash"
	percent      = "a percent sign after decoding"
	semicolon    = "a semicolon"
	question     = "a question mark"
	number       = "a number sign"
	control      = "a control character"
	empty        = "an empty segment"
	dots         = "a dot segment"
	endsInDot    = "a segment that ends in a dot"
	endsInBlank  = "a segment that ends in a blank"
	stream       = "a stream of Windows"
	noUTF8       = "bytes that are not UTF-8"
)

func TestExamine(t *testing.T) {
	for _, tt := range []struct{ raw, kind, segment string }{
		{"", "", ""},
		{"/a/b", "", ""},
		{"/a/", "", ""}, // a slash at the end is ordinary
		{"a", "", ""},
		{"a/", "", ""},
		{"/%61/b%20c", "", ""},
		{"/.well-known/x", "", ""},
		{"/v1.2/a.b", "", ""},
		{"/%20a/b", "", ""},
		{"/tags/c%23", "", ""},
		{"/a/..%23b", dots, "..%23b"}, // up to the number sign
		{"/a/admin.%23/b", endsInDot, "admin.%23"},
		{"/adm%C4%B1n", "", ""},
		{"/(S(x))/admin", "", ""},
		{"/admin%3F", question, "admin%3F"},
		{"/a?b%23c", question, "a?b%23c"}, // of a gateway that has decoded it
		{"/hosts/fe80::1", "", ""},
		{"/admin::$DATA/x", stream, "admin::$DATA"},
		{"/admin:$i30:$INDEX_ALLOCATION/x", stream, "admin:$i30:$INDEX_ALLOCATION"},
		{"/%c1%a1dmin/x", noUTF8, "%c1%a1dmin"}, // an overlong a
		{"/admin/%e0%80%af", noUTF8, "%e0%80%af"},
		{"/caf\xe9/x", noUTF8, "caf\xe9"},
		{"/%ed%a0%80", noUTF8, "%ed%a0%80"}, // half of a surrogate pair
		{"/a/%", percent, "%"},
		{"/a%252Fb/c", percent, "a%252Fb"},
		{"/a%%41", percent, "a%%41"},
		{"//a", empty, ""},
		{"//a/b", empty, ""},
		{"//a/%2e%2e/b/%2e", empty, ""},
		{"/a//b", empty, ""},
		{"/a/../b", dots, ".."},
		{"/a/%2e%2E/b", dots, "%2e%2E"},
		{"/a/..", dots, ".."},
		{"./a", dots, "."},
		{"/a//../b", empty, ""},
		{"/a%2Fb", encodedSlash, "a%2Fb"},
		{"/a%2F", encodedSlash, "a%2F"},
		{"/a/..%2fb", encodedSlash, "..%2fb"},
		{"/a%2F..//%2e/b", encodedSlash, "a%2F.."},
		{"%2Fa", encodedSlash, "%2Fa"},
		{"/admin;x=1/a", semicolon, "admin;x=1"},
		{"/a%3Bx/b", semicolon, "a%3Bx"},
		{"/;/a", semicolon, ";"},
		{"/a#b/c", number, "a#b"},
		{"/a;x%2Fb/c", semicolon, "a;x%2Fb"},
		{`/a\b`, backslash, `a\b`},
		{"/a/..%5Cb", backslash, "..%5Cb"},
		{"/a%5cb%5F", backslash, "a%5cb%5F"},
		{"/a%00", control, "a%00"},
		{"/a\tb/c", control, "a\tb"},
		{"/a%7f", control, "a%7f"},
		{"/a./b", endsInDot, "a."},
		{"/...", endsInDot, "..."},
		{"/a%20/b", endsInBlank, "a%20"},
		{"/a/ ", endsInBlank, " "},
	} {
		got := Examine(tt.raw)
		if got != (Ambiguity{tt.kind, tt.segment}) || got.Ambiguous() != (tt.kind != "") {
			t.Errorf("%q: %+v, want %q in %q", tt.raw, got, tt.kind, tt.segment)
		}
		expectOneVariant(t, tt.raw)
	}
}

// A path that is not ambiguous has one variant, however proxies and servers
// combine their steps. They may change the path before they decode it, decode
// it whole or by the segment, drop parameters before or after, and clean the
// result in any way.
func FuzzExamine(f *testing.F) {
	for _, seed := range []string{
		"/a/b", "/a%2F..//%2e/b", "//", "/%2f%2F", "/a/%2e%2e/", "%", "", "/.//..", "/%252f%2%46", "/a;x/..;/b", "/..%3Bx%2f;/a;y",
		"/;%2F../a/", `/a\..%5cb`, "/a//../b", "/a/%2e%2e/../b//..", "/a%2Fb//../c%2F..", "//a/b/../c", `/\a//..\b%2e`, "///a", "/a b/%63/",
		"/a::$DATA", "/a%3A%3a$dAta/b", "/%c1%a1", "/\xc0%af",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		expectOneVariant(t, raw)
		expectUsual(t, raw)
	})
}

// TestOneVariant draws paths from the parts that servers handle differently.
func TestOneVariant(t *testing.T) {
	parts := rapid.SampledFrom([]string{"/", "/", "/", "a", "b", ".", "..", "%2e%2e", "%2F", "/%2F..", ";x", "%3By", `\`, "%5C", "%61", "%20", "%3F", "é", "::$DATA", "%c1%a1"})
	ambiguous, clear := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		raw := strings.Join(rapid.SliceOfN(parts, 0, 8).Draw(t, "path"), "")
		expectOneVariant(t, raw)
		expectUsual(t, raw)
		if Examine(raw).Ambiguous() {
			ambiguous++
		} else {
			clear++
		}
	})
	if ambiguous < 10 || clear < 10 {
		t.Errorf("%d ambiguous paths and %d others, want 10 of each at least", ambiguous, clear)
	}
}

// expectOneVariant checks that all servers read an unambiguous path as Clean does.
func expectOneVariant(t interface{ Errorf(string, ...any) }, raw string) {
	if Examine(raw).Ambiguous() {
		return
	}
	want := segmentsOf(Clean(raw))
	rooted := raw
	if !strings.HasPrefix(raw, "/") {
		rooted = "/" + raw
	}
	for _, p := range variantsOf(rooted) {
		if segmentsOf(p) != want {
			t.Errorf("%q is not ambiguous, and has the variants %q and %q", raw, p, Clean(raw))
		}
	}
}

// variantsOf returns the variants of a path that proxies and servers may use.
func variantsOf(sent string) (all []string) {
	dotted, slashed := oracle.UnescapeDots(sent), strings.ReplaceAll(sent, `\`, "/")
	ways := []string{sent, oracle.MergeSlashes(sent), oracle.DropHost(sent), oracle.RemoveDotSegments(oracle.UnescapeDots(oracle.DropHost(slashed)))}
	for _, p := range []string{sent, dotted} {
		if strings.Contains(p, "/.") {
			ways = append(ways, oracle.RemoveDotSegments(p), oracle.MergeSlashes(oracle.RemoveDotSegments(p)), path.Clean(p))
		}
	}
	for _, p := range ways {
		all = append(all, oracle.DropStreams(Decode(p)), oracle.ReadOverlong(Decode(p)))
		decoded := append(decodedBothWays(p), decodedBothWays(oracle.DropParameters(p))...)
		for _, d := range decoded {
			decoded = append(decoded, oracle.DropParameters(d))
		}
		beforeQuery, _, _ := strings.Cut(Decode(p), "?")
		decoded = append(decoded, strings.ReplaceAll(Decode(p), `\`, "/"), Decode(Decode(p)), beforeQuery)
		for _, d := range decoded {
			undotted := oracle.RemoveDotSegments(d)
			all = append(all, d, oracle.MergeSlashes(d), undotted, oracle.MergeSlashes(undotted), path.Clean(d))
		}
	}
	return all
}

// decodedBothWays decodes a path whole and by the segment.
func decodedBothWays(raw string) []string {
	kept := make([]string, 0, 8) // segments that were decoded after they were cut
	for segment := range strings.SplitSeq(raw, "/") {
		kept = append(kept, strings.ReplaceAll(Decode(segment), "/", "%2F"))
	}
	return []string{Decode(raw), strings.Join(kept, "/")}
}

// segmentsOf joins the segments that patterns look at, and is the same however
// slashes are escaped.
func segmentsOf(p string) (segments string) {
	for rest := strings.TrimSuffix(strings.TrimPrefix(p, "/"), "/"); rest != ""; {
		var segment string
		segment, rest, _ = strings.Cut(rest, "/")
		segments += strings.ReplaceAll(segment, "%2f", "%2F") + "/"
	}
	return segments
}

// expectUsual fails if Usual takes a path that the other functions read in
// another way.
func expectUsual(t interface{ Errorf(string, ...any) }, raw string) {
	text, ok := Usual(raw)
	if ok && (Clean(raw) != raw || Examine(raw).Ambiguous() || text != NewText(raw)) {
		t.Errorf("Usual(%q) = %+v; it is %q if clean, %+v, and %+v", raw, text, Clean(raw), Examine(raw), NewText(raw))
	}
}

func TestUsual(t *testing.T) {
	for _, raw := range []string{"/", "/a", "/v1/items/42", "/.well-known/x", "/a b/c..d", "/auth0|7/~x:y@z"} {
		if _, ok := Usual(raw); !ok {
			t.Errorf("Usual(%q) = false", raw)
		}
		expectUsual(t, raw)
	}
	for _, raw := range []string{
		"", "a", "a/b", "//", "/a/", "//a", "/a//b", "/.", "/..", "/a/./b", "/a/../b", "/a.", "/a./b", "/a ", "/a /b", "/ ", "/A", "/aZ/b",
		"/%61", "/a%", "/a;b", `/a\b`, "/a?b", "/a#b", "/a::$DATA", "/a\x00", "/a\x1f", "/a\x7f", "/caf\u00e9", "/\xff", "/\x80",
	} {
		if _, ok := Usual(raw); ok {
			t.Errorf("Usual(%q) = true", raw)
		}
	}
}
