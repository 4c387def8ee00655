package envoy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/imports"
)

// Import reports all errors of a file at once, with their places.
func TestEnvoyErrors(t *testing.T) {
	for _, tt := range []struct{ name, yaml, want string }{
		{"no YAML", "domain: [", "f.yaml:1:9: not YAML"},
		{"nothing", "# nothing\n", "f.yaml:1:1: the document is empty"},
		{"a list", "- 1\n", "f.yaml:1:1: must be a map with fields such as \"domain:\", and is a list"},
		{"another file", "static_resources: {}\n", "f.yaml:1:1: static_resources: unknown field: there are domain, descriptors and name"},
		{"no domain", "descriptors: []\n", "f.yaml:1:1: domain is missing"},
		{"empty domain", "domain: ''\n", "f.yaml:1:9: domain: is missing"},
		{"no list", "domain: d\ndescriptors: x\n", "f.yaml:2:14: descriptors: must be a list, and is text"},
		{"no map", "domain: d\ndescriptors: [x]\n", `f.yaml:2:15: descriptors[0]: must be a map with fields such as "key:", and is text`},
		{"no key", "domain: d\ndescriptors:\n  - value: x\n", "f.yaml:3:5: descriptors[0]: key is missing"},
		{"key of no kind", "domain: d\ndescriptors:\n  - key: [x]\n", "f.yaml:3:10: descriptors[0].key: must be text, and is a list"},
		{"unknown", "domain: d\ndescriptors:\n  - {key: x, burst: {}}\n", "descriptors[0].burst: unknown field: there are key, value"},
		{"misspelled", "domain: d\ndescriptors:\n  - {key: x, ratelimit: {}}\n", "f.yaml:3:14: descriptors[0].ratelimit: unknown field: did you mean rate_limit?"},
		{"twice", "domain: d\ndescriptors:\n  - {key: x, key: y}\n", "f.yaml:3:14: descriptors[0].key: is there twice, first in line 3"},
		{"same", "domain: d\ndescriptors:\n  - {key: x, value: 1}\n  - {key: x, value: '1'}\n", "f.yaml:4:5: descriptors[1]: x=1 is there twice"},
		{"no unit", limited("{requests_per_unit: 1}"), `f.yaml:3:26: descriptors[0].rate_limit: unit "" is none of`},
		{"wrong unit", limited("{unit: fortnight}"), `unit "fortnight" is none of second, minute, hour, day, week, month and year`},
		{"unlimited unit", limited("{unit: day, unlimited: true}"), "f.yaml:3:33: descriptors[0].rate_limit.unit: contradicts unlimited"},
		{"negative", limited("{unit: day, requests_per_unit: -1}"), "requests_per_unit: -1 is out of range: write a number from 0 to 4294967295"},
		{"too many", limited("{unit: day, requests_per_unit: 4294967296}"), "requests_per_unit: 4294967296 is out of range"},
		{"part", limited("{unit: day, requests_per_unit: 1.5}"), "requests_per_unit: must be a whole number"},
		{"multiplier", limited("{unit: day, unit_multiplier: 0}"), "unit_multiplier: must be a whole number from 1 to 3650"},
		{"long", limited("{unit: year, unit_multiplier: 11}"), "unit_multiplier: must be a whole number from 1 to 10"},
		{"flag", "domain: d\ndescriptors:\n  - {key: x, shadow_mode: 1}\n", "shadow_mode: must be true or false, and is a number"},
		{"no star to share", "domain: d\ndescriptors:\n  - {key: x, value: y, share_threshold: true}\n", "share_threshold: needs a value that contains *"},
		{"a ConfigMap of two files, behind another object", "apiVersion: v1\nkind: Service\n---\nkind: ConfigMap\napiVersion: v1\ndata:\n  # limits\n  a.b.yaml: |\n    domain: d\n  c.yaml: ''\n", `f.yaml:1:1: this is a ConfigMap of Kubernetes: take the file out of it, such as by kubectl get configmap NAME -o jsonpath='{.data.a\.b\.yaml}'`},
		{"a ConfigMap", "apiVersion: v1\nkind: ConfigMap\ndata: {config.yaml: 'domain: d'}\n", `f.yaml:1:1: this is a ConfigMap of Kubernetes: take the file out of it, such as by kubectl get configmap NAME -o jsonpath='{.data.config\.yaml}'`},
		{"anchors", "domain: &d x\n", "anchors are not supported"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			d, err := Import(Sources{}, imports.File{Name: "f.yaml", Content: []byte(tt.yaml)})
			if d != nil || err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got %v, %v, want %s", d, err, tt.want)
			}
		})
	}
	two := imports.File{Name: "g.yaml", Content: []byte("domain: d\ndescriptors: [{key: x}]\n")}
	_, err := Import(Sources{}, two, two, imports.File{Name: "h.yaml", Content: []byte("domain: {}\n")},
		imports.File{Name: "i.yaml", Content: []byte("domain: e\n")})
	want := "g.yaml:2:15: descriptors[0]: x is there twice: remove one of them\n" +
		"h.yaml:1:9: domain: must be text, and is a map\n" +
		`i.yaml:1:9: domain: is another than "d": import each domain by itself`
	if err == nil || err.Error() != want {
		t.Errorf("got:\n%v\nwant:\n%s", err, want)
	}
}

func limited(limit string) string {
	return "domain: d\ndescriptors:\n  - {key: x, rate_limit: " + limit + "}\n"
}

// Each case is one list of descriptors, and the parts and losses that it makes.
func TestEnvoyMapping(t *testing.T) {
	const per = "rate_limit: {unit: second, requests_per_unit: %d}"
	limit := func(n int) string { return fmt.Sprintf(per, n) }
	for _, tt := range []struct {
		name  string
		pairs []string
		list  []string
		want  []string // parts of the document
		lost  []string // what and why, in part
	}{
		{"zero of a path", nil, []string{"{key: path, value: /x, " + limit(0) + "}"},
			[]string{"rules: []"}, []string{"path=/x: requests_per_unit is 0"}},
		{"zero of an address", nil, []string{"{key: remote_address, value: 192.0.2.1, " + limit(0) + "}"},
			[]string{"- {cidrs: 192.0.2.1/32}", "rules: []"}, []string{"requests_per_unit: 0: it is in deny"}},
		{"zero of an address at a path", nil, []string{"{key: path, value: /x, descriptors: [{key: remote_address, value: 192.0.2.1, " + limit(0) + "}]}"},
			[]string{"rules: []"}, []string{"path=/x > remote_address=192.0.2.1: requests_per_unit is 0"}},
		{"zero of an IPv6 address", nil, []string{`{key: remote_address, value: "2001:db8::1", ` + limit(0) + "}"},
			[]string{`- {cidrs: "2001:db8::1/128"}`}, []string{"the answer says that the client is blocked"}},
		{"zero of everything", nil, []string{"{key: remote_address, " + limit(0) + "}"},
			[]string{"rules: []"}, []string{"remote_address: requests_per_unit is 0"}},
		{"zero of a claim", []string{"user=jwt.sub"}, []string{"{key: user, value: kim, " + limit(0) + "}"},
			[]string{"rules: []"}, []string{"user=kim: requests_per_unit is 0"}},
		{"zero in shadow mode", nil, []string{"{key: path, value: /x, shadow_mode: true, " + limit(0) + "}"},
			[]string{"rules: []"}, []string{"path=/x: requests_per_unit is 0"}},
		{"zero beside a limit in shadow mode", []string{"user=jwt.sub"}, []string{"{key: user, shadow_mode: true, " + limit(9) + "}", "{key: user, value: kim, shadow_mode: true, " + limit(0) + "}"},
			[]string{"mode: shadow"}, []string{"callers without jwt.sub", "user=kim: requests_per_unit is 0, and a deny is never in shadow mode"}},

		{"one address", nil, []string{"{key: remote_address, value: 192.0.2.1, " + limit(5) + "}"},
			[]string{"when: {cidrs: 192.0.2.1/32}", "key: all"}, nil},
		{"one IPv6 address beside all", nil, []string{"{key: remote_address, " + limit(5) + "}", `{key: remote_address, value: "2001:db8::1", ` + limit(9) + "}"},
			[]string{`unless: {cidrs: "2001:db8::1/128"}`, `when: {cidrs: "2001:db8::1/128"}`}, []string{"IPv6 addresses one by one"}},
		{"each address of a network", nil, []string{"{key: masked_remote_address, value: 198.51.100.0/24, descriptors: [{key: remote_address, " + limit(2) + "}]}"},
			[]string{"when: {cidrs: 198.51.100.0/24}", `key: "remote_address:{ip}"`}, []string{"IPv6 addresses one by one"}},
		{"all clients", nil, []string{"{key: masked_remote_address, value: 0.0.0.0/0, " + limit(3) + "}"}, []string{"when: {cidrs: 0.0.0.0/0}", "key: all"}, nil},
		{"a network at a path", nil, []string{"{key: path, value: /x, descriptors: [{key: masked_remote_address, value: 203.0.113.0/24, " + limit(3) + "}]}"},
			[]string{"when: {path: /x, cidrs: 203.0.113.0/24}"}, []string{"the query string, which Envoy's :path has, does not count"}},
		{"a network without a limit", nil, []string{"{key: remote_address, " + limit(5) + "}", "{key: remote_address, value: 10.0.0.0/8, rate_limit: {unlimited: true}}"},
			[]string{"unless: {cidrs: 10.0.0.0/8}"}, []string{"IPv6 addresses one by one"}},
		{"no network", nil, []string{"{key: masked_remote_address, value: 10.0.0.1/8, " + limit(3) + "}"}, []string{"rules: []"}, []string{"masked_remote_address=10.0.0.1/8: is no address or network"}},
		{"names and empty fields", nil, []string{"{name: x, key: path, value: /x, metadata: {}, rate_limit: {unit: second, requests_per_unit: 1, name: '', replaces: []}, descriptors: []}"},
			[]string{"- name: path-x"}, []string{"the exact spelling of paths"}},
		{"limits below a key without a source", []string{"kind=jwt.kind"}, []string{"{key: foo, descriptors: [{key: kind, " + limit(1) + "}, {key: bar, descriptors: [{key: kind, " + limit(2) + "}]}]}"},
			[]string{"rules: []"}, []string{"header.x-user; with it 2 limits below"}},
		{"no address", nil, []string{"{key: remote_address, " + limit(5) + "}", "{key: remote_address, value: home, " + limit(5) + "}"},
			[]string{"- name: remote-address"}, []string{"IPv6 addresses one by one", "remote_address=home: is no address or network"}},
		{"zero of no address", nil, []string{"{key: remote_address, value: home, " + limit(0) + "}"},
			[]string{"rules: []"}, []string{"remote_address=home: requests_per_unit is 0"}},

		{"a claim, another unit", []string{"user=jwt.sub"}, []string{"{key: user, " + limit(5) + "}", "{key: user, value: kim, rate_limit: {unit: day, requests_per_unit: 7}}"},
			[]string{"overrides: true", `"user:kim": {limits: [{algorithm: fixed_window, capacity: 7, window: 1d}]}`}, []string{"callers without jwt.sub"}},
		{"an API key", []string{"key=apikey"}, []string{"{key: key, " + limit(5) + "}", "{key: key, value: abc, " + limit(9) + "}"},
			[]string{`key: "key:{apikey}"`, "when: {caller: known}", `"key:abc": {capacity: 9}`}, []string{"callers without apikey"}},
		{"the specific one alone in shadow mode", []string{"user=jwt.sub"}, []string{"{key: user, " + limit(5) + "}", "{key: user, value: kim, shadow_mode: true, " + limit(9) + "}"},
			[]string{"unless: {match: {jwt.sub: kim}}", "when: {match: {jwt.sub: kim}}", "mode: shadow"}, []string{"callers without jwt.sub"}},
		{"both in shadow mode", []string{"user=jwt.sub"}, []string{"{key: user, shadow_mode: true, " + limit(5) + "}", "{key: user, value: kim, shadow_mode: true, " + limit(9) + "}"},
			[]string{"mode: shadow", `"user:kim": {capacity: 9}`}, []string{"callers without jwt.sub"}},
		{"a general one that is unlimited", []string{"user=jwt.sub"}, []string{"{key: user, rate_limit: {unlimited: true}}", "{key: user, value: kim, " + limit(9) + "}"},
			[]string{"- name: user-kim", "when: {match: {jwt.sub: kim}}", "key: all"}, []string{"user: unlimited: nothing limits"}},
		{"unlimited, and nothing to lift", []string{"user=jwt.sub"}, []string{"{key: user, value: kim, rate_limit: {unlimited: true}}"},
			[]string{"rules: []"}, []string{"user=kim: unlimited: nothing limits"}},
		{"values that look like escapes", []string{"user=jwt.sub"}, []string{"{key: user, " + limit(5) + "}", "{key: user, value: '-', " + limit(9) + "}",
			"{key: user, value: 'a%3Ab|é', " + limit(8) + "}", "{key: user, value: 'a:b|é', " + limit(7) + "}"},
			[]string{`"user:%2D": {capacity: 9}`, `"user:a%253Ab%7C%C3%A9": {capacity: 8}`, `"user:a:b|é": {capacity: 7}`}, []string{"callers without"}},
		{"a value that is too long", []string{"user=jwt.sub"}, []string{"{key: user, " + limit(5) + "}", "{key: user, value: " + strings.Repeat("x", 5000) + ", " + limit(9) + "}"},
			[]string{"- name: user"}, []string{"callers without", "…: is longer than the key of an override may be"}},

		{"two descriptors of one value", []string{"user=jwt.sub", "user:me=jwt.sub:kim"}, []string{"{key: user, " + limit(5) + "}", "{key: user, value: kim, " + limit(9) + "}",
			"{key: user, value: me, " + limit(8) + "}"},
			[]string{`"user:kim": {capacity: 9}`}, []string{"callers without", "user=me: another descriptor stands for the same value"}},

		{"headers lower", nil, []string{"{key: x-user, " + limit(5) + "}", "{key: x-user, value: kim, " + limit(5) + "}"},
			[]string{`"x-user:kim": {capacity: 5}`}, []string{"requests without header.x-user"}},
		{"headers higher", nil, []string{"{key: x-user, " + limit(5) + "}", "{key: x-user, value: kim, " + limit(6) + "}"},
			[]string{"- name: x-user"}, []string{"requests without", "x-user=kim: a client can send any value there, so no value may be limited less"}},
		{"headers unlimited", nil, []string{"{key: x-user, " + limit(5) + "}", "{key: x-user, value: kim}"},
			[]string{"- name: x-user"}, []string{"requests without", "x-user=kim: a client can send"}},
		{"one header", nil, []string{"{key: x-user, value: kim, " + limit(6) + "}"},
			[]string{"rules: []"}, []string{"x-user=kim: a client can send any value there, so no rule can be for one value"}},
		{"a query parameter", []string{"q=query.q", "id=path.id"}, []string{"{key: q, descriptors: [{key: id, " + limit(6) + "}]}"},
			[]string{`key: "q:{query.q}|id:{path.id}"`}, []string{"requests without query.q", "requests without path.id"}},

		{"methods", nil, []string{"{key: method, value: get, " + limit(6) + "}"}, []string{"when: {methods: get}"}, nil},
		{"no method", nil, []string{"{key: method, value: G T, " + limit(6) + "}"}, []string{"rules: []"}, []string{`is no method`}},
		{"stage", []string{"s=stage"}, []string{"{key: s, " + limit(6) + "}"}, []string{`key: "s:{stage}"`}, nil},
		{"one stage", []string{"s=stage"}, []string{"{key: s, value: beta, " + limit(6) + "}"}, []string{"rules: []"}, []string{"no rule can be for one value of stage"}},
		{"route", []string{"r=route"}, []string{`{key: r, value: "/v1/{id}", ` + limit(6) + "}"}, []string{`when: {route: "/v1/{id}"}`}, nil},
		{"no path", nil, []string{"{key: path, value: x, " + limit(6) + "}"}, []string{"rules: []"}, []string{"path=x: a path begins with a slash"}},
		{"path of a template", nil, []string{`{key: path, value: "/x/{id}", ` + limit(6) + "}"}, []string{"rules: []"}, []string{"a path has no template parameters"}},
		{"path with a slash behind", nil, []string{"{key: ':path', value: /x/, " + limit(6) + "}"}, []string{"when: {path: /x}"}, []string{"the exact spelling of paths"}},
		{"any, counted", []string{"c=any"}, []string{"{key: c, " + limit(6) + "}"}, []string{"key: all"}, nil},
		{"two values at once", []string{"a=jwt.plan", "b=jwt.plan"}, []string{"{key: a, value: x, descriptors: [{key: b, value: y, " + limit(6) + "}]}"},
			[]string{"rules: []"}, []string{"a=x > b=y: it asks for two values of jwt.plan at once"}},
		{"one value twice", []string{"a=jwt.plan", "b=jwt.plan"}, []string{"{key: a, value: x, descriptors: [{key: b, value: x, " + limit(6) + "}]}"},
			[]string{"when: {match: {jwt.plan: x}}"}, nil},
		{"odd words", []string{"a=jwt.a"}, []string{`{key: a, value: "\"<Ünï|x\\\n: #\"", ` + limit(6) + "}"},
			[]string{"- name: a-n-x", `when: {match: {jwt.a: "\"<Ünï|x\\\n: #\""}}`}, nil},
		{"words of YAML", []string{"a=jwt.a"}, []string{"{key: a, value: yes, " + limit(6) + "}", "{key: a, value: 007, " + limit(6) + "}", "{key: a, value: 'null', " + limit(6) + "}"},
			[]string{`when: {match: {jwt.a: "yes"}}`, `when: {match: {jwt.a: "007"}}`, `when: {match: {jwt.a: "null"}}`}, nil},

		{"exceptions on two levels", []string{"a=jwt.a", "b=jwt.b"},
			[]string{"{key: a, descriptors: [{key: b, " + limit(5) + "}, {key: b, value: x, " + limit(6) + "}]}", "{key: a, value: y}"},
			[]string{`unless: {match: {jwt.a: "y"}}`}, []string{"callers without jwt.a", "callers without jwt.b", "rule a-b: all but b=x: unless cannot say this exception"}},
		{"exceptions that no rule can say", []string{"b=jwt.b"},
			[]string{"{key: x-a, descriptors: [{key: b, " + limit(5) + "}]}", "{key: x-a, value: 1}", "{key: x-a, value: 2}", "{key: x-a, value: 3}", "{key: x-a, value: 4}", "{key: x-a, value: 5}"},
			[]string{`key: "x-a:{header.x-a}|b:{jwt.b}"`},
			[]string{"requests without header.x-a", "callers without jwt.b", "rule x-a-b: all but x-a=1, x-a=2, x-a=3 and 2 more: unless cannot"}},
		{"labels of one key", []string{"generic_key:a=path:/a", "generic_key:b=jwt.plan:b", "generic_key=any"},
			[]string{"{key: generic_key, " + limit(5) + "}", "{key: generic_key, value: a, " + limit(6) + "}", "{key: generic_key, value: b, " + limit(7) + "}"},
			[]string{"when: {path: /a}", "when: {match: {jwt.plan: b}}", "unless: {path: /a}"}, []string{"rule generic-key: all but generic_key=b", "the exact spelling"}},
		{"a label for every request", []string{"generic_key:a=any", "generic_key=any"},
			[]string{"{key: generic_key, " + limit(5) + "}", "{key: generic_key, value: a, " + limit(6) + "}"},
			[]string{"- name: generic-key", "- name: generic-key-a"}, []string{"rule generic-key: all but generic_key=a"}},

		{"a star in a value", nil, []string{"{key: path, " + limit(5) + "}", "{key: path, value: /x/*, descriptors: [{key: method, " + limit(1) + "}]}"},
			[]string{"- name: path"}, []string{"a counter for each path", "list the values one by one; with it 1 limit below"}},
		{"a label of a pattern of paths", []string{"generic_key:api=path:/v1/**"}, []string{"{key: generic_key, value: api, " + limit(5) + "}"},
			[]string{"when: {path: /v1/**}", "key: all"}, []string{"the exact spelling"}},
		{"a label of Envoy Gateway", nil, []string{"{key: route/0/match/0, value: route/0/match/0, descriptors: [{key: remote_address, " + limit(5) + "}]}"},
			[]string{"rules: []"}, []string{"map route/0/match/0=any, or route/0/match/0:VALUE=path:/v1/** to that route's paths; with it 1 limit below"}},
		{"a star for all values", []string{"a=jwt.a"}, []string{"{key: a, " + limit(5) + "}", "{key: a, value: '*', share_threshold: true, " + limit(6) + "}"},
			[]string{"capacity: 5"}, []string{"callers without", "a=*: a value with a star is not imported"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			file := "domain: d\ndescriptors:\n"
			for _, d := range tt.list {
				file += "  - " + d + "\n"
			}
			d, err := Import(parseSources(t, tt.pairs...), imports.File{Name: "f.yaml", Content: []byte(file)})
			if err != nil {
				t.Fatal(err)
			}
			for _, part := range tt.want {
				if !strings.Contains(d.Text, part) {
					t.Errorf("no %s in:\n%s", part, d.Text)
				}
			}
			if len(d.Lost) != len(tt.lost) {
				t.Fatalf("got %d lost, want %d: %s", len(d.Lost), len(tt.lost), d.Lost)
			}
			for i, l := range d.Lost {
				if !strings.Contains(l.String(), tt.lost[i]) || !strings.HasPrefix(l.Place.Name, "f.yaml:") {
					t.Errorf("lost: %s\nwant: f.yaml: %s", l, tt.lost[i])
				}
			}
		})
	}
}

// A long value in many rules is too large a document, however short the source.
func TestMultipliedValues(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "domain: d\ndescriptors:\n  - key: a\n    value: %s\n    descriptors:\n", strings.Repeat("x", 1_000_000))
	for i := range 10_000 {
		fmt.Fprintf(&b, "      - {key: b, value: v%d, rate_limit: {unit: day, requests_per_unit: 1}}\n", i)
	}
	_, err := Import(parseSources(t, "a=jwt.a", "b=jwt.b"), imports.File{Name: "f.yaml", Content: []byte(b.String())})
	if err == nil || !strings.Contains(err.Error(), "makes 10000 rules in more than") {
		t.Errorf("got %v", err)
	}
}

func TestNetwork(t *testing.T) {
	for value, want := range map[string]string{
		"192.0.2.1": "192.0.2.1/32", "192.0.2.0/24": "192.0.2.0/24", "2001:db8::1": "2001:db8::1/128", "2001:DB8::/32": "2001:db8::/32",
		"::ffff:192.0.2.1": "192.0.2.1/32", "64:ff9b::c000:201": "192.0.2.1/32", "64:ff9b::c000:200/120": "192.0.2.0/24", // as rules count them
		"64:ff9b::/96": "", "64:ff9b::c000:201/120": "", "192.0.2.1/24": "", "fe80::1%eth0": "", "home": "", "": "", "192.0.2.01": "",
	} {
		n := &node{meaning: meaning{"ip", value}}
		network, ok := n.network()
		if ok != (want != "") || ok && network.String() != want {
			t.Errorf("%s: got %s, %v", value, network, ok)
		}
	}
}

// TestValuesApart: overrides of more values than a document holds are apart from it.
func TestValuesApart(t *testing.T) {
	const values = 20_000
	var file strings.Builder
	file.WriteString("domain: d\ndescriptors:\n- {key: user, rate_limit: {unit: second, requests_per_unit: 5}}\n- {key: org, rate_limit: {unit: second, requests_per_unit: 5}}\n- {key: org, value: a, rate_limit: {unit: second, requests_per_unit: 6}}\n")
	for i := range values {
		fmt.Fprintf(&file, "- {key: user, value: u%d, rate_limit: {unit: second, requests_per_unit: 6}}\n", i)
	}
	d, err := Import(parseSources(t, "user=jwt.sub", "org=jwt.org"), imports.File{Name: "f.yaml", Content: []byte(file.String())})
	if err != nil {
		t.Fatal(err)
	}
	if len(d.Overrides) != values || d.OverridesOf != "user" || d.Overrides[0].Key != "user:u0" || len(d.Document.Overrides["org"]) != 1 || len(d.Document.Overrides["user"]) != 0 {
		t.Errorf("%d overrides of %q, and the document has %v", len(d.Overrides), d.OverridesOf, d.Document.Overrides)
	}
	if !strings.Contains(d.Text, "- name: user\n    when: {caller: known}\n    key: \"user:{jwt.sub}\"\n    overrides: true") {
		t.Errorf("the rule takes no overrides:\n%s", d.Text)
	}
}
