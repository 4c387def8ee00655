package rules

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

func TestParseTemplate(t *testing.T) {
	const known = "there are {ip}, {jwt.NAME}, {apikey}, {header.NAME}, {query.NAME}, {path.NAME}, {method}, {route} and {stage}"
	for _, tt := range []struct {
		text     string
		problems []string
	}{
		{"all", nil},
		{"ip:{ip}", nil},
		{"{ip}", nil},
		{"{ip}|{method}:{route}:{stage}", nil},
		{"tenant:{header.X-Tenant}|user:{query.user id}|{path.id}", nil},
		{"v{header.x}:y", nil},
		{"{query.a.b}", nil},
		{"tenant:{jwt.tenant}|{jwt./realm_access/roles/0}|{apikey}", nil},
		{"{jwt.https://example.com/id}", nil},

		{"", []string{`a key is 1 to 256 bytes long: write "ip:{ip}" to count by address, or a fixed text to count all requests together`}},
		{strings.Repeat("a", 257), []string{`a key is 1 to 256 bytes long: write "ip:{ip}" to count by address, or a fixed text to count all requests together`}},
		{"{ip}{stage}", []string{"write : or | after {ip}, so that no two requests can have the same key"}},
		{"{ip}x", []string{"write : or | after {ip}, so that no two requests can have the same key"}},
		{"{ip", []string{`"{ip" is never closed: write } after the name`}},
		{"{ip:{stage}", []string{"unknown source {ip:{stage}: " + known}},
		{"{header.x{ip}", []string{"{header.x{ip} is no header: write a name such as {header.x-user}"}},
		{"{query.x{ip}", []string{"{query.x{ip is never closed: write } after the name"}},
		{"ip}", []string{"'}' cannot stand in a key's own text: use printable ASCII without %, { and }"}},
		{"100%", []string{"'%' cannot stand in a key's own text: use printable ASCII without %, { and }"}},
		{"é:{ip}", []string{"'é' cannot stand in a key's own text: use printable ASCII without %, { and }"}},
		{"{}", []string{"unknown source {}: " + known}},
		{"{user}", []string{"unknown source {user}: " + known}},
		{"{jwt}", []string{"{jwt} needs a name: write {jwt.NAME}"}},
		{"{apikey.id}", []string{"{apikey.id} takes no name: write {apikey}"}},
		{"{jwt./a{b}", []string{"{jwt./a{b is never closed: write } after the name"}},
		{"{headers.x-user}", []string{"unknown source {headers.x-user}: did you mean {header.x-user}?"}},
		{"{stag}", []string{"unknown source {stag}: did you mean {stage}?"}},
		{"{IP}", []string{"unknown source {IP}: " + known}},
		{"{ip.v4}", []string{"{ip.v4} takes no name: write {ip}"}},
		{"{ip.}", []string{"{ip.} takes no name: write {ip}"}},
		{"{header}", []string{"{header} needs a name: write {header.NAME}"}},
		{"{header.}", []string{"{header.} needs a name: write {header.NAME}"}},
		{"{header.x user}", []string{"{header.x user} is no header: write a name such as {header.x-user}"}},
		{"{header}{jwt.sub}%", []string{
			"{header} needs a name: write {header.NAME}",
			"write : or | after {header}, so that no two requests can have the same key",
			"write : or | after {jwt.sub}, so that no two requests can have the same key",
			"'%' cannot stand in a key's own text: use printable ASCII without %, { and }",
		}},
	} {
		_, problems := key.Parse(tt.text)
		if diff := cmp.Diff(tt.problems, problems); diff != "" {
			t.Errorf("template %.40q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// What a person types at the command line: a key as it was printed, or something that is none.
func TestFits(t *testing.T) {
	long := strings.Repeat("a", 600)
	for _, tt := range []struct{ template, key, why string }{
		{"all", "all", ""},
		{"ip:{ip}", "ip:203.0.113.9", ""},
		{"ip:{ip}", "ip:2001%3Adb8%3A%3A/64", ""},
		{"ip:{ip}", "ip:-", ""},
		{"{ip}:x", "-:x", ""},
		{"u:{header.x}|{stage}", "u:a b,c|%2D", ""},
		{"u:{header.x}|{stage}", "u:caf%C3%A9|-", ""},

		{"all", "alle", `"e" is too much: a : or | inside a value is written %3A or %7C`},
		{"all", "al", `"all" is not in its place`},
		{"ip:{ip}", "203.0.113.9", `"ip:" is not in its place`},
		{"ip:{ip}", "ip:", "a part that a request lacks is written -"},
		{"ip:{ip}", "ip:2001:db8::/64", `":db8::/64" is too much: a : or | inside a value is written %3A or %7C`},
		{"u:{header.x}|{stage}", "u:a:b", `"|" is not in its place`},
		{"u:{header.x}|{stage}", "u:a", `"|" is not in its place`},
		{"u:{header.x}|{stage}", "u:|prod", "a part that a request lacks is written -"},
		{"u:{header.x}", "u:100%", "a % inside a value is written %25"},
		{"u:{header.x}", "u:%3a", "%3a is not how a key encodes ':'"},
		{"u:{header.x}", "u:%41", "%41 is not how a key encodes 'A'"},
		{"u:{header.x}", "u:a%2D", "%2D is not how a key encodes '-'"},
		{"u:{header.x}", "u:é", "a byte outside printable ASCII is written as an escape, here %C3"},
		{"u:{header.x}", "u:" + long, "a key is at most 505 bytes long"},
		{"u:{header.x}", ("u:" + long)[:505], "a key of 505 bytes ends in ~ and 24 hex digits"},
		{"u:{header.x}", ("u:" + long)[:480] + "~" + strings.Repeat("f0", 12), ""},
		{"u:{header.x}", ("u:" + long)[:480] + "~" + strings.Repeat("F0", 12), "a key of 505 bytes ends in ~ and 24 hex digits"},
	} {
		r := parseRule(t, "key: '"+tt.template+"'")
		err := r.template.Check(tt.key)
		if tt.why == "" {
			if err != nil {
				t.Errorf("key %.40q of %q: %v", tt.key, tt.template, err)
			}
			continue
		}
		if err == nil || err.Error() != tt.why {
			t.Errorf("key %.40q of %q: error %v, want %s", tt.key, tt.template, err, tt.why)
		}
	}
}

func TestItem(t *testing.T) {
	r := parse(t, "rules: [{name: per-ip, key: 'ip:{ip}', limits: [{capacity: 10, window: 60s}]}]").Rules[0]
	if got, want := item(r, "ip:203.0.113.9"), "per-ip|ip:203.0.113.9|9e0c8586"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	_, err := (&Set{}).KeysFor(r, "203.0.113.9", &request.Request{})
	const want = `"203.0.113.9" is no key of rule per-ip, whose keys look like ip:{ip}: "ip:" is not in its place`
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}
