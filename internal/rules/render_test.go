package rules

import (
	"crypto/sha256"
	"fmt"
	"net/netip"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

func TestAppendKey(t *testing.T) {
	type values = map[string][]string
	for _, tt := range []struct {
		name, fields string
		req          request.Request
		want         string
	}{
		{"fixed", "key: all", request.Request{}, "all"},
		{"IPv4", "key: 'ip:{ip}'", request.Request{IP: netip.MustParseAddr("203.0.113.9")}, "ip:203.0.113.9"},
		{"IPv6 by network", "key: 'ip:{ip}'", request.Request{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6")}, "ip:2001%3Adb8%3A1%3A2%3A%3A/64"},
		{"IPv4 in IPv6", "key: 'ip:{ip}'", request.Request{IP: netip.MustParseAddr("::ffff:203.0.113.9")}, "ip:203.0.113.9"},
		{"IPv6 zone", "key: 'ip:{ip}'", request.Request{IP: netip.MustParseAddr("fe80::1%eth0")}, "ip:fe80%3A%3A/64"},
		{"no address", "key: 'ip:{ip}'", request.Request{}, "ip:-"},

		{"header", "key: '{header.X-User}'", request.Request{Headers: values{"x-user": {"ann"}}}, "ann"},
		{"header in any case", "key: '{header.x-user}'", request.Request{Headers: values{"X-USER": {"ann"}}}, "ann"},
		{"header repeated", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"ann", "bob"}}}, "ann,bob"},
		{"header in two cases", "key: '{header.x-user}'", request.Request{Headers: values{"x-user": {"ann"}, "X-User": {"bob"}, "X-USER": {"cy"}}}, "cy,bob,ann"},
		{"another header", "key: '{header.x-user}'", request.Request{Headers: values{"X-Users": {"ann"}, "X-U\u017fer": {"a letter that folds to s"}}}, "-"},
		{"header without values", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {}}}, "-"},
		{"header empty", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {""}}}, "-"},
		{"header repeated and empty", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"", ""}}}, ","},
		{"hyphen sent", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"-"}}}, "%2D"},
		{"hyphens sent", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"-", "-"}}}, "-,-"},
		{"hyphen within", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"-a"}}}, "-a"},

		{"query", "key: '{query.user}'", request.Request{Query: values{"user": {"ann"}}}, "ann"},
		{"query counts case", "key: '{query.user}'", request.Request{Query: values{"User": {"ann"}}}, "-"},
		{"query repeated", "key: '{query.user}'", request.Request{Query: values{"user": {"b", "a"}}}, "b,a"},
		{"path parameter", "key: '{path.id}'", request.Request{PathParams: map[string]string{"id": "7"}}, "7"},
		{"no path parameter", "key: '{path.id}'", request.Request{}, "-"},
		{"method and stage", "key: '{method}|{stage}'", request.Request{Method: "GET", Stage: "prod"}, "GET|prod"},
		{"no method, no stage", "key: '{method}|{stage}'", request.Request{}, "-|-"},

		{"escapes", "key: 'u:{header.x}'", request.Request{Headers: values{"x": {"a:b|c%d\r\n\x00\x7f"}}}, "u:a%3Ab%7Cc%25d%0D%0A%00%7F"},
		{"not ASCII", "key: 'u:{header.x}'", request.Request{Headers: values{"x": {"é\xff"}}}, "u:%C3%A9%FF"},
		{"left as it is", "key: 'u:{header.x}'", request.Request{Headers: values{"x": {" !\"#$&'()*+,-./09;<=>?@AZ[\\]^_`az{}~"}}}, "u: !\"#$&'()*+,-./09;<=>?@AZ[\\]^_`az{}~"},

		{"template", "key: '{route}'", request.Request{Path: "/users/7", Route: "/users/{id}"}, "/users/{id}"},
		{"template without its method", "key: '{route}'", request.Request{Path: "/users/7", Route: "GET /users/{id}"}, "/users/{id}"},
		{"no template, no pattern", "key: '{route}'", request.Request{Path: "/users/7"}, "**"},
		{"catch-all, no pattern", "key: '{route}'", request.Request{Path: "/users/7", Route: "/{proxy+}"}, "**"},
		{"no template, path pattern", "key: '{route}', when: {path: /users/*}", request.Request{Path: "/users/7"}, "**"},
		{"pattern", "key: '{route}', when: {route: /users/*}", request.Request{Path: "/users/7"}, "/users/*"},
		{"first pattern that matches", "key: '{route}', when: {route: [/a, /Users/*, /**]}", request.Request{Path: "/users/7"}, "/Users/*"},
		{"template before pattern", "key: '{route}', when: {route: /users/*}", request.Request{Path: "/users/7", Route: "/users/{id}"}, "/users/{id}"},
		{"WebSocket", "key: '{route}'", request.Request{Route: "$connect"}, "$connect"},
		{"not the rule's request", "key: '{route}', when: {route: /users/*}", request.Request{Path: "/x"}, "-"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r := parseRule(t, tt.fields)
			got := string(r.AppendKey([]byte("before "), &tt.req))
			if got != "before "+tt.want {
				t.Errorf("got %q, want %q after \"before \"", got, tt.want)
			}
			if err := r.template.Check(tt.want); err != nil {
				t.Errorf("Fits would not take it: %v", err)
			}
		})
	}
}

func TestLongKeys(t *testing.T) {
	r := parseRule(t, "key: 'u:{header.x}'")
	key := func(n int) string {
		return string(r.AppendKey(nil, &request.Request{Headers: map[string][]string{"X": {strings.Repeat("a", n-2)}}}))
	}
	whole := func(n int) string { return "u:" + strings.Repeat("a", n-2) }
	if got := key(504); got != whole(504) {
		t.Errorf("504 bytes come out as %d", len(got))
	}
	for _, n := range []int{505, 506, 512, 10000} {
		want := whole(480) + "~" + fmt.Sprintf("%x", sha256.Sum256([]byte(whole(n))))[:24]
		if got := key(n); got != want {
			t.Errorf("%d bytes: got …%s, want …%s", n, got[470:], want[470:])
		}
	}
	if key(505) == key(506) {
		t.Error("two long keys are one")
	}
	// A client that spells out the hashed form of another's key ends up with a hashed key of its own.
	victim := key(600)
	spelled := string(r.AppendKey(nil, &request.Request{Headers: map[string][]string{"X": {victim[2:]}}}))
	if spelled == victim {
		t.Error("a hashed key can be spelled")
	}
}

// tuple is what a key of three parts is made from.
type tuple struct{ header, query, path string }

func (u tuple) request() *request.Request {
	return &request.Request{Headers: map[string][]string{"H": {u.header}}, Query: map[string][]string{"q": {u.query}}, PathParams: map[string]string{"p": u.path}}
}

// No two requests share a counter, whatever they send, unless their parts are alike: the purpose of escaping.
func TestKeysAreApart(t *testing.T) {
	r := parseRule(t, "key: 'h:{header.h}:{query.q}|{path.p}'")
	value := rapid.OneOf(
		rapid.StringOfN(rapid.SampledFrom([]rune(":|%-,~23ADC7")), 0, 4, -1),
		rapid.StringOfN(rapid.SampledFrom([]rune(":|%-a\x00é\u2028")), 0, 300, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), func(b []byte) string { return string(b) }),
	)
	tuples := rapid.Custom(func(t *rapid.T) tuple {
		return tuple{value.Draw(t, "header"), value.Draw(t, "query"), value.Draw(t, "path")}
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := tuples.Draw(t, "a"), tuples.Draw(t, "b")
		ka, kb := string(r.AppendKey(nil, a.request())), string(r.AppendKey(nil, b.request()))
		if (ka == kb) != (a == b) {
			t.Errorf("%q and %q render %q and %q", a, b, ka, kb)
		}
	})
}

func FuzzKeyTemplate(f *testing.F) {
	f.Add("ip:{ip}|{header.x-user}", "ann", "bob", "/v1/../x", "GET /users/{id}")
	f.Add("{query.a}:{path.b}|{method}:{route}:{stage}", "-", ":|%", "", "$default")
	f.Add("{header.x}", strings.Repeat("é", 200), "", "/%2e", "/{proxy+}")
	f.Add("{}%é{ip", "", "", "", "")
	f.Fuzz(func(t *testing.T, text, a, b, path, route string) {
		tmpl, problems := key.Parse(text)
		if len(problems) > 0 {
			return
		}
		rule := Rule{Key: text, template: tmpl}
		keyOf := func(a, b string) string {
			params := map[string]string{}
			values := map[string][]string{}
			for _, p := range tmpl.Parts { // fill whatever the template asks for
				values[p.Text], params[p.Text] = []string{a}, b
			}
			return string(rule.AppendKey(nil, &request.Request{Method: a, Path: path, Route: route, Stage: b, Headers: values, Query: values, PathParams: params}))
		}
		got := keyOf(a, b)
		if len(got) > key.MaxLen || strings.ContainsFunc(got, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("template %q: key %q", text, got)
		}
		if err := tmpl.Check(got); err != nil {
			t.Errorf("template %q: key %q does not fit: %v", text, got, err)
		}
		if got != keyOf(a, b) {
			t.Errorf("template %q: not the same key again", text)
		}
		uses := func(s key.Kind) bool {
			for _, p := range tmpl.Parts {
				if p.Kind == s {
					return true
				}
			}
			return false
		}
		if other := a + "x"; (keyOf(other, b) == got) == (uses(key.FromHeader) || uses(key.FromQuery) || uses(key.FromMethod)) {
			t.Errorf("template %q: %q and %q render %q and %q", text, a, other, got, keyOf(other, b))
		}
	})
}
