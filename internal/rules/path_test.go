package rules

import (
	"strings"
	"testing"
)

func TestCleanPath(t *testing.T) {
	for _, tt := range []struct{ raw, want string }{
		{"", "/"},
		{"/", "/"},
		{"//", "/"},
		{"/a", "/a"},
		{"a", "/a"},
		{"/a/", "/a"},
		{"/a//b", "/a/b"},
		{"/./a/./b/.", "/a/b"},
		{"/a/../b", "/b"},
		{"/../../a", "/a"},
		{"/a/..", "/"},
		{"/a/...", "/a/..."},
		{"/a%20b", "/a b"},
		{"/a+b", "/a+b"},
		{"/%61dmin", "/admin"},
		{"/a%2Fb", "/a/b"},
		{"/a%2fb", "/a/b"},
		{"/%2e%2e/a", "/a"},
		{"/x/%2E%2e/a", "/a"},
		{"/a%2F", "/a"},
		{"/a%252Fb", "/a%2Fb"}, // once
		{"/a%", "/a%"},
		{"/a%2", "/a%2"},
		{"/a%zz", "/a%zz"},
		{"/a%%41", "/a%A"},
		{"/a%4g%41", "/a%4gA"},
		{"/%ff", "/\xff"},
		{"/%C3%A9", "/é"},
		{"/a%00b", "/a\x00b"},
		{"/a?b", "/a?b"},
		{"/A/b", "/A/b"},
	} {
		if got := cleanPath(tt.raw); got != tt.want {
			t.Errorf("cleanPath(%q) = %q, want %q", tt.raw, got, tt.want)
		}
	}
}

func TestRouteTemplate(t *testing.T) {
	for _, tt := range []struct{ route, want string }{
		{"", ""},
		{"$default", ""},
		{"/{proxy+}", ""},
		{"ANY /{proxy+}", ""},
		{"/v1/{proxy+}", ""},
		{"/", "/"},
		{"/v1/items", "/v1/items"},
		{"/v1/items/{id}", "/v1/items/{id}"},
		{"GET /v1/items/{id}", "/v1/items/{id}"},
		{"$connect", "$connect"},
		{"send message", "send message"}, // a WebSocket route is any text
	} {
		if got := routeTemplate(tt.route); got != tt.want {
			t.Errorf("routeTemplate(%q) = %q, want %q", tt.route, got, tt.want)
		}
	}
}

func FuzzCleanPath(f *testing.F) {
	for _, seed := range []string{"/", "/a/../b//c/.", "/%2e%2E/%2fa", "/a%252e", "%", "/%zz%4", "\xff/é"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, raw string) {
		clean := cleanPath(raw)
		if !strings.HasPrefix(clean, "/") || strings.Contains(clean, "//") || len(clean) > 1 && strings.HasSuffix(clean, "/") {
			t.Errorf("cleanPath(%q) = %q is not clean", raw, clean)
		}
		for segment := range strings.SplitSeq(clean[1:], "/") {
			if segment == "." || segment == ".." {
				t.Errorf("cleanPath(%q) = %q keeps %q", raw, clean, segment)
			}
		}
		if !hasEscape(clean) && cleanPath(clean) != clean {
			t.Errorf("cleanPath(%q) = %q, and once more %q", raw, clean, cleanPath(clean))
		}
		if escaped := strings.ReplaceAll(clean, "%", "%25"); cleanPath(escaped) != clean {
			t.Errorf("cleanPath(%q) = %q, want %q", escaped, cleanPath(escaped), clean)
		}
		if len(clean) > len(raw)+1 {
			t.Errorf("cleanPath(%q) = %q grew", raw, clean)
		}
	})
}
