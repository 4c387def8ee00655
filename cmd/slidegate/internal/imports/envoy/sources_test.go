package envoy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseSources(t *testing.T) {
	for _, tt := range []struct{ pair, want string }{
		{"user", "write KEY=SOURCE"},
		{"=jwt.sub", "write KEY=SOURCE"},
		{"user=", "write KEY=SOURCE"},
		{"user=jwt", "{jwt} needs a name"},
		{"user=cookie.x", "unknown source {cookie.x}"},
		{"user=ip.v4", "takes no name"},
		{"user=jwt.a|b", `{jwt.a|b} is not one source, because no source has "|" in it`},
		{"user=jwt./realm/a.b", ""},
		{"user=any:x", "any takes no value"},
		{"user=path:/x", "write a value on both sides or on neither"},
		{"user:kim=path", "write a value on both sides or on neither"},
		{"user:kim=any", ""},
		{":path=path", ""},
		{":path:/a=path:/b", ""},
		{"x=header.x-y", ""},
		{"x=jwt./realm_access/roles", ""},
	} {
		_, err := ParseSources([]string{tt.pair})
		if tt.want == "" && err != nil || tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want) || !strings.Contains(err.Error(), fmt.Sprintf("%q: ", tt.pair))) {
			t.Errorf("%s: got %v, want %s", tt.pair, err, tt.want)
		}
	}
	if _, err := ParseSources([]string{"a=ip", "a=ip", "b"}); err == nil || len(strings.Split(err.Error(), "\n")) != 2 {
		t.Errorf("got %v, want two errors", err)
	}
}

func TestConventionalSources(t *testing.T) {
	got := map[string]string{}
	for _, key := range []string{"remote_address", "REMOTE_ADDRESS", "masked_remote_address", "path", ":path", "PATH", "method", ":method",
		"http_method", "x-user", "X-User", "x-api-key", "x-", "x-a b", "user", "generic_key", "header_match"} {
		got[key], _ = conventional(key)
	}
	want := map[string]string{"remote_address": "ip", "REMOTE_ADDRESS": "ip", "masked_remote_address": "ip", "path": "path", ":path": "path",
		"PATH": "path", "method": "method", ":method": "method", "http_method": "method", "x-user": "header.x-user", "X-User": "header.x-user",
		"x-api-key": "", "x-": "", "x-a b": "", "user": "", "generic_key": "", "header_match": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
