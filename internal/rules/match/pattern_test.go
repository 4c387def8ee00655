package match

import (
	"fmt"
	"strings"
	"testing"
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
