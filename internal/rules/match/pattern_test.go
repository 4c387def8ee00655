package match

import (
	"strings"
	"testing"
)

func TestParseGlob(t *testing.T) {
	for _, tt := range []struct{ pattern, want string }{
		{"", "a pattern begins with a slash: write /"},
		{"v1", "a pattern begins with a slash: write /v1"},
		{"**", "a pattern begins with a slash: write /**"},
		{"$x/y", "a pattern begins with a slash: write /$x/y"},
		{"GET /v1", "write /v1 here and GET under methods"},
		{"/v1/", "paths are cleaned before they are matched, so nothing has this form: write /v1"},
		{"/a/../b", "paths are cleaned before they are matched, so nothing has this form: write /b"},
		{"/a%20b", "paths are decoded before they are matched: write /a b"},
		{"/a/**b", "** stands alone between slashes: write * in place of ** in \"**b\", or /** after it"},
		{"/a***", "** stands alone between slashes: write * in place of ** in \"a***\", or /** after it"},
		{"$default", "requests on a catch-all route are matched by their path: write /**"},
		{"/{proxy+}", "requests on a catch-all route are matched by their path: write /**"},
		{"/v1/{proxy+}", "requests on a catch-all route are matched by their path: write /v1/**"},
		{"/" + strings.Repeat("a", 512), "a pattern is at most 512 bytes long"},
		{"/" + strings.Repeat("a", 511), ""},
		{"/100%", ""},
		{"/{id}", ""},
		{"$connect", ""},
	} {
		if _, got := ParseRoute(tt.pattern); got != tt.want {
			t.Errorf("pattern %.40q: %q, want %q", tt.pattern, got, tt.want)
		}
	}
	if _, got := ParsePath("/users/{id}/x"); got != "a path has no template parameters: write * in place of {id}, or match on route" {
		t.Errorf("a parameter in a path pattern: %q", got)
	}
}
