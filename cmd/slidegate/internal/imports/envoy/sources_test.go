package envoy

import (
	"fmt"
	"math/rand/v2"
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

// requestKeys are the keys of random files, and their sources.
var requestKeys = []struct {
	key, source string
	configured  []string // values in files
	sent        []string // values in requests
}{
	{"tenant", "jwt.tenant", []string{"a", "b", "c"}, []string{"a", "b", "c", "d"}},
	{"user", "jwt.sub", []string{"kim", "lee"}, []string{"kim", "lee", "sam"}},
	{"plan", "jwt.plan", []string{"pro", "free"}, []string{"pro", "free", "team"}},
	{"method", "method", []string{"GET", "POST"}, []string{"GET", "POST", "PUT"}},
	{"remote_address", "ip", []string{"198.51.100.1", "198.51.100.2"}, []string{"198.51.100.1", "198.51.100.2", "198.51.100.3"}},
	{"path", "path", []string{"/x", "/x/y", "/z"}, []string{"/x", "/x/y", "/z", "/w"}},
}

// randomFile returns a descriptor file that rules can express.
func randomFile(r *rand.Rand) string {
	var b strings.Builder
	b.WriteString("domain: d\ndescriptors:\n")
	randomList(r, &b, "  ", 0, r.IntN(3) == 0)
	return b.String()
}

func randomList(r *rand.Rand, b *strings.Builder, indent string, depth int, paths bool) {
	seen := map[string]bool{}
	for range 1 + r.IntN(5-depth) {
		kind := r.IntN(len(requestKeys))
		w := requestKeys[kind]
		value := ""
		if r.IntN(3) > 0 {
			value = w.configured[r.IntN(len(w.configured))]
		}
		if w.key == "path" && !paths || seen[w.key+value] {
			continue
		}
		seen[w.key+value] = true
		fmt.Fprintf(b, "%s- key: %s\n", indent, w.key)
		if value != "" {
			fmt.Fprintf(b, "%s  value: %q\n", indent, value)
		}
		switch r.IntN(8) {
		case 0:
			fmt.Fprintf(b, "%s  rate_limit: {unlimited: true}\n", indent)
		case 1:
		default:
			fmt.Fprintf(b, "%s  rate_limit: {unit: %s, requests_per_unit: %d}\n", indent, []string{"second", "minute"}[r.IntN(2)], r.IntN(30))
			if r.IntN(4) == 0 {
				fmt.Fprintf(b, "%s  shadow_mode: true\n", indent)
			}
		}
		if depth < 2 && r.IntN(3) == 0 {
			fmt.Fprintf(b, "%s  descriptors:\n", indent)
			randomList(r, b, indent+"    ", depth+1, paths)
		}
	}
	if len(seen) == 0 {
		fmt.Fprintf(b, "%s- {key: tenant, rate_limit: {unit: hour, requests_per_unit: 7}}\n", indent)
	}
}
