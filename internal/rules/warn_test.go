package rules

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	const limits = "limits: [{capacity: 1, window: 1s}]}"
	const user = "{name: user, when: {methods: GET, route: [/a, /b], path: /c}, key: 'u:{header.x-user}', " + limits
	warning := func(place, source string) string {
		return place + ".key: the client can make up a new value of " + source +
			" for every request and is then never limited: add a rule with a key such as \"ip:{ip}\" for the same requests"
	}
	first := []string{warning("f:2:68: rules[0]", "{header.x-user}")}
	for _, tt := range []struct {
		name, rules string
		want        []string
	}{
		{"header", user, first},
		{"rule for everything", user + ", {name: ip, key: 'ip:{ip}', " + limits, nil},
		{"in another order", "{name: ip, key: '{ip}|{route}|{stage}', " + limits + ", " + user, nil},
		{"one budget for all", user + ", {name: all, key: all, " + limits, nil},
		{"rule for the same", user + ", {name: ip, when: {path: /c, methods: [get], route: [/a, /b]}, key: 'ip:{ip}', " + limits, nil},
		{"rule for fewer", user + ", {name: ip, when: {methods: GET, route: [/a], path: /c}, key: 'ip:{ip}', " + limits, first},
		{"rule for others", user + ", {name: ip, when: {methods: POST, route: [/a, /b], path: /c}, key: 'ip:{ip}', " + limits, first},
		{"rule by another header", user + ", {name: other, key: 'o:{header.y}', " + limits, []string{first[0], warning("f:2:146: rules[1]", "{header.y}")}},
		{"rule that counts nothing", user + ", {name: ip, key: 'ip:{ip}', cost: 0, " + limits, first},
		{"trusted alone", "{name: ip, key: '{ip}|{route}|{stage}', " + limits, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s, err := Parse("f", []byte("rules: [\n"+tt.rules+"]"))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, s.Warnings); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Address and header together are still as many keys as a client cares to make.
func TestWarningsNameWhatTheClientSends(t *testing.T) {
	s := parse(t, "rules: [{name: r, key: '{ip}|{query.a}|{path.b}|{method}', limits: [{capacity: 1, window: 1s}]}]")
	want := []string{"rules.yaml:1:24: rules[0].key: the client can make up a new value of {query.a}, {path.b} and {method} for every request and is then never limited: add a rule with a key such as \"ip:{ip}\" for the same requests"}
	if diff := cmp.Diff(want, s.Warnings); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
