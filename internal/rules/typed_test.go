package rules

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// overrideKey reads a key of one rule as Set.OverrideKey does.
func overrideKey(r *Rule, text string) (string, error) {
	return (&Set{Rules: []*Rule{r}}).OverrideKey(r.Name, text)
}

// A person may type the key of an override in several forms; each gives the key
// that requests have.
func TestOverrideKey(t *testing.T) {
	const address = "{ip} is an address, such as 203.0.113.9, or the /64 network of one, such as 2001:db8::/64"
	for _, tt := range []struct{ template, text, want, why string }{
		{"all", "all", "all", ""},
		{"user:{jwt.sub}", "user:241531", "user:241531", ""},
		{"user:{jwt.sub}", "user:auth0|666", "user:auth0%7C666", ""},
		{"user:{jwt.sub}", "user:auth0%7C666", "user:auth0%7C666", ""}, // as logs print it
		{"user:{jwt.sub}", "user:a:b:c", "user:a%3Ab%3Ac", ""},
		{"user:{jwt.sub}", "user:100%", "user:100%25", ""},
		{"user:{jwt.sub}", "user:café\n", "user:caf%C3%A9%0A", ""},
		{"user:{jwt.sub}", "user:-", "user:-", ""},     // requests without a subject
		{"user:{jwt.sub}", "user:%2D", "user:%2D", ""}, // the subject is a hyphen
		{"{jwt.sub}|x", "a|x|x", "a%7Cx|x", ""},
		{"tenant:{jwt.tenant}|user:{jwt.sub}", "tenant:acme|user:auth0|1", "tenant:acme|user:auth0%7C1", ""},

		{"ip:{ip}", "ip:203.0.113.9", "ip:203.0.113.9", ""},
		{"ip:{ip}", "ip:::ffff:203.0.113.9", "ip:203.0.113.9", ""},
		{"ip:{ip}", "ip:64:ff9b::cb00:7109", "ip:203.0.113.9", ""},
		{"ip:{ip}", "ip:2001:DB8::9", "ip:2001%3Adb8%3A%3A/64", ""},
		{"ip:{ip}", "ip:2001:db8::/64", "ip:2001%3Adb8%3A%3A/64", ""},
		{"ip:{ip}", "ip:2001%3Adb8%3A%3A/64", "ip:2001%3Adb8%3A%3A/64", ""},
		{"ip:{ip}", "ip:-", "ip:-", ""},
		{"ip:{ip/128}", "ip:2001:DB8::9", "ip:2001%3Adb8%3A%3A9", ""},
		{"ip:{ip/128}", "ip:2001:db8::9/128", "ip:2001%3Adb8%3A%3A9", ""},
		{"ip:{ip/48}", "ip:2001:db8:1::/48", "ip:2001%3Adb8%3A1%3A%3A/48", ""},
		{"ip:{ip}|{route}", "ip:2001:db8::1|/v1/**", "ip:2001%3Adb8%3A%3A/64|/v1/**", ""},
		{"{ip}|{jwt.a}", "10.0.0.1|a|b", "10.0.0.1|a%7Cb", ""}, // 10.0.0.1|a is no address: only one split is valid

		{"user:{header.x-user}", "user:{header.x-user}", "user:{header.x-user}", ""}, // a client may send it
		{"user:{jwt.sub}", "user:{jwt.sub}", "", "it is the template: write a value in place of each pair of braces"},
		{"user:{jwt.sub}", "241531", "", "write user:241531"},
		{"user:{jwt.sub}", "user:", "", "a part that a request lacks is written -"},
		{"user:{jwt.sub}", "user:a%7Cb|c", "", `"|c" is too much: a : or | inside a value is written %3A or %7C`},
		{"user:{jwt.sub}", "user:%41", "", "%41 is not how a key encodes 'A'"},
		{"user:{jwt.sub}", "user:50%ab", "", "%ab is not how a key encodes '«'"},
		{"tenant:{jwt.tenant}|user:{jwt.sub}", "tenant:acme", "", `"|user:" is missing`},
		{"{jwt.a}:{jwt.b}", "x:y:z", "", "it can be read in two ways: write x:y%3Az or x%3Ay:z"},
		{"tenant:{jwt.tenant}|user:{jwt.sub}", "tenant:a|user:b|user:c", "", "it can be read in two ways: write tenant:a|user:b%7Cuser%3Ac or tenant:a%7Cuser%3Ab|user:c"},
		{"ip:{ip}", "ip:203.0.113.9/32", "", address},
		{"ip:{ip}", "ip:2001:db8::1/64", "", address},
		{"ip:{ip}", "ip:localhost", "", address},
		{"ip:{ip/48}", "ip:2001:db8::/64", "", "{ip/48} is an address, such as 203.0.113.9, or the /48 network of one, such as 2001:db8::/48"},
		{"ip:{ip/128}", "ip:2001:db8::/64", "", "{ip/128} is an address, such as 203.0.113.9 or 2001:db8::1"},
		{"user:{jwt.sub}", "user:" + strings.Repeat("a", 16<<10), "", "a key is at most 16384 bytes long"},
	} {
		r := parseRule(t, "key: x, overrides: '"+tt.template+"'")
		got, err := overrideKey(r, tt.text)
		if tt.why == "" && (err != nil || got != tt.want) {
			t.Errorf("%.60q of %s: %q, %v; want %q", tt.text, tt.template, got, err, tt.want)
		}
		if tt.why != "" && (err == nil || !strings.HasSuffix(err.Error(), "of the overrides of rule r, which look like "+tt.template+": "+tt.why)) {
			t.Errorf("%.60q of %s: %q, error %v; want %s", tt.text, tt.template, got, err, tt.why)
		}
	}
}

// A key that is too long is cut, whether a person types it whole or as logs print it.
func TestOverrideKeyHashed(t *testing.T) {
	r := parseRule(t, "key: x, overrides: 'user:{header.x}'")
	name := strings.Repeat("a|", 400)
	want, _ := r.AppendOverrideKey(nil, &request.Request{Headers: map[string][]string{"X": {name}}})
	for _, text := range []string{"user:" + name, string(want)} {
		if got, err := overrideKey(r, text); err != nil || got != string(want) {
			t.Errorf("%.20s… reads %.20s…, %v", text, got, err)
		}
	}
}

func TestOverrideKeyOfSet(t *testing.T) {
	s := parse(t, kinds)
	for _, tt := range []struct{ rule, text, want, why string }{
		{"api", "user:a|b", "user:a%7Cb", ""},
		{PlanOverrides, "user:a|b", "user:a%7Cb", ""},
		{PlanOverrides, "a", "", `"a" is no key of the overrides of plan, which look like user:{jwt.sub}: write user:a`},
		{"plain", "ip:203.0.113.9", "", "rule plain does not say that it has overrides: write overrides: true in the rule, and publish it: limiters have it within ten seconds, and its counters stay"},
		{"chat", "a", "", `"a" is no key of the overrides of rule chat, which look like user:{jwt.sub}: write user:a`},
		{"chatt", "user:a", "", `there is no rule "chatt": did you mean chat?`},
	} {
		got, err := s.OverrideKey(tt.rule, tt.text)
		if got != tt.want || (err == nil) != (tt.why == "") || err != nil && err.Error() != tt.why {
			t.Errorf("%s of %s: %q, %v; want %q %s", tt.text, tt.rule, got, err, tt.want, tt.why)
		}
	}
	if _, err := parse(t, "rules: []").OverrideKey(PlanOverrides, "a"); err == nil ||
		err.Error() != "the plans of callers have no overrides: write plan: {overrides: \"user:{jwt.sub}\"}" {
		t.Errorf("without plans: %v", err)
	}
	if plain, _ := s.Rule("plain"); plain != nil {
		if _, err := overrideKey(plain, "ip:203.0.113.9"); err == nil || err.Error() != "rule plain does not say that it has overrides: write overrides: true in the rule, and publish it: limiters have it within ten seconds, and its counters stay" {
			t.Errorf("of the rule itself: %v", err)
		}
	}
	if _, err := parse(t, "rules: []").OverrideKey("api", "a"); err == nil || err.Error() != `there is no rule "api": there are no others` {
		t.Errorf("without rules: %v", err)
	}
}

// The printed key of any request is read as itself. Its plain values give its key or
// an error, and never another request's key.
func FuzzOverrideKey(f *testing.F) {
	f.Add("tenant:{header.a}|user:{header.b}", "acme", "auth0|1", "2001:db8::1")
	f.Add("{header.a}:{ip}|{header.b}", "a:b", "-", "203.0.113.9")
	f.Add("ip:{ip}|{header.a}:x", "%7C", "", "::ffff:10.0.0.1")
	f.Add("{header.a}", "é\x00", "~", "x")
	f.Fuzz(func(t *testing.T, text, a, b, ip string) {
		tmpl, problems := key.Parse(text)
		if len(problems) > 0 {
			return
		}
		r := &Rule{Name: "r", overridable: &tmpl}
		addr, _ := netip.ParseAddr(ip)
		req := &request.Request{IP: addr, Headers: map[string][]string{"A": {a}, "B": {b}}, Method: a, Stage: b}
		want, _ := r.AppendOverrideKey(nil, req)
		if got, err := overrideKey(r, string(want)); err != nil || got != string(want) {
			t.Errorf("key %q of %q reads %q, %v", want, text, got, err)
		}
		var typed strings.Builder
		plainly := true
		for _, p := range tmpl.Parts {
			value, _ := p.Value(req)
			if p.Kind == key.FromIP {
				value = addr.Unmap().WithZone("").String()
			}
			typed.WriteString(value)
			plainly = plainly && value != "" && value != "-" && !urlpath.HasEscape(value) && p.Kind != key.FromRoute
		}
		got, err := overrideKey(r, typed.String())
		if plainly && !urlpath.HasEscape(typed.String()) && err == nil && got != string(want) && len(typed.String()) != key.MaxLen {
			t.Errorf("%q of %q reads %q, want %q", typed.String(), text, got, want)
		}
	})
}

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
		{"NAT64", "key: 'ip:{ip/128}'", request.Request{IP: netip.MustParseAddr("64:ff9b::cb00:7109")}, "ip:203.0.113.9"},
		{"6to4", "key: 'ip:{ip}'", request.Request{IP: netip.MustParseAddr("2002:cb00:7109:1::7")}, "ip:2002%3Acb00%3A7109%3A1%3A%3A/64"},
		{"IPv6 whole", "key: 'ip:{ip/128}'", request.Request{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6")}, "ip:2001%3Adb8%3A1%3A2%3A3%3A4%3A5%3A6"},
		{"IPv6 by a larger network", "key: 'ip:{ip/48}'", request.Request{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6")}, "ip:2001%3Adb8%3A1%3A%3A/48"},
		{"IPv6 zone", "key: 'ip:{ip}'", request.Request{IP: netip.MustParseAddr("fe80::1%eth0")}, "ip:fe80%3A%3A/64"},
		{"no address", "key: 'ip:{ip}'", request.Request{}, "ip:-"},

		{"header", "key: '{header.X-User}'", request.Request{Headers: values{"x-user": {"ann"}}}, "ann"},
		{"header repeated", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"ann", "bob"}}}, "ann,bob"},
		{"header in two cases", "key: '{header.x-user}'", request.Request{Headers: values{"x-user": {"ann"}, "X-User": {"bob"}, "X-USER": {"cy"}}}, "cy,bob,ann"},
		{"another header", "key: '{header.x-user}'", request.Request{Headers: values{"X-Users": {"ann"}, "X-U\u017fer": {"a letter that folds to s"}}}, "-"},
		{"header without values", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {}}}, "-"},
		{"header empty", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {""}}}, "-"},
		{"hyphen sent", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"-"}}}, "%2D"},
		{"hyphen within", "key: '{header.x-user}'", request.Request{Headers: values{"X-User": {"-a"}}}, "-a"},

		{"query", "key: '{query.user}'", request.Request{Query: values{"user": {"ann"}}}, "ann"},
		{"query counts case", "key: '{query.user}'", request.Request{Query: values{"User": {"ann"}}}, "-"},
		{"path parameter", "key: '{path.id}'", request.Request{PathParams: map[string]string{"id": "7"}}, "7"},
		{"method and stage", "key: '{method}|{stage}'", request.Request{Method: "GET", Stage: "prod"}, "GET|prod"},

		{"escapes", "key: 'u:{header.x}'", request.Request{Headers: values{"x": {"a:b|c%d\r\n\x00\x7f"}}}, "u:a%3Ab%7Cc%25d%0D%0A%00%7F"},
		{"not ASCII", "key: 'u:{header.x}'", request.Request{Headers: values{"x": {"é\xff"}}}, "u:%C3%A9%FF"},
		{"left as it is", "key: 'u:{header.x}'", request.Request{Headers: values{"x": {" !\"#$&'()*+,-./09;<=>?@AZ[\\]^_`az{}~"}}}, "u: !\"#$&'()*+,-./09;<=>?@AZ[\\]^_`az{}~"},

		{"template", "key: '{route}'", request.Request{Path: "/users/7", Route: "/users/{id}"}, "/users/{id}"},
		{"template without its method", "key: '{route}'", request.Request{Path: "/users/7", Route: "GET /users/{id}"}, "/users/{id}"},
		{"no template, no pattern", "key: '{route}'", request.Request{Path: "/users/7"}, "**"},
		{"no template, path pattern", "key: '{route}', when: {path: /users/*}", request.Request{Path: "/users/7"}, "**"},
		{"pattern", "key: '{route}', when: {route: /users/*}", request.Request{Path: "/users/7"}, "/users/*"},
		{"first pattern that matches", "key: '{route}', when: {route: [/a, /Users/*, /**]}", request.Request{Path: "/users/7"}, "/Users/*"},
		{"a pattern for each reading of the path", "key: '{route}', when: {route: [/v1/**, /admin/**]}", request.Request{Path: "/v1/x/..;/..;/admin"}, "-"},
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
			if key, err := r.template.Read(tt.want); err != nil || key != tt.want {
				t.Errorf("the key is read as %q, %v", key, err)
			}
		})
	}
}

func TestRehashed(t *testing.T) {
	const (
		hash  = "%hmac-00112233445566778899aabbccddeeff"
		plain = `
plan: {overrides: "user:{jwt.sub}"}
rules: [{name: own-hashed, key: "{jwt.sub}", overrides: true, limits: [{capacity: 9, window: 60s}]}]
`
		bare = `
hash_secret: {env: KEYS, check: c4bbcb1f}
rules:
  - {name: new, hash: true, key: "{jwt.sub}", overrides: true, limits: [{capacity: 9, window: 60s}]}
  - {name: own-hashed, hash: true, key: "{jwt.sub}", limits: [{capacity: 9, window: 60s}]}
`
	)
	other := strings.Replace(hashing, "c4bbcb1f", "603f49c6", 1)
	moved := strings.Replace(hashing, "env: KEYS", "env: OTHER", 1)
	for what, tt := range map[string]struct {
		from, to, rule, key string
		want                bool
	}{
		"another secret, own keys":        {hashing, other, "own-hashed", hash, true},
		"another secret, plans":           {hashing, other, PlanOverrides, hash, true},
		"another secret and variable":     {moved, other, "own-hashed", hash, true},
		"another variable, same secret":   {hashing, moved, "own-hashed", hash, false},
		"other keys, same secret":         {hashing, strings.Replace(hashing, `{name: own-hashed, hash: true, key: "{jwt.sub}"`, `{name: own-hashed, hash: true, key: "mail:{jwt.mail}"`, 1), "own-hashed", hash, true},
		"another claim, the same texts":   {hashing, strings.Replace(hashing, `{name: own-hashed, hash: true, key: "{jwt.sub}"`, `{name: own-hashed, hash: true, key: "{jwt.mail}"`, 1), "own-hashed", hash, false},
		"the same":                        {hashing, hashing, "own-hashed", hash, false},
		"a key that was not hashed":       {hashing, other, "own-hashed", "ann", false}, // which does not fit for itself
		"hashed no more":                  {hashing, plain, "own-hashed", hash, false},
		"plans that are hashed no more":   {hashing, plain, PlanOverrides, hash, false},
		"plans that have none any more":   {other, bare, PlanOverrides, hash, false},
		"a rule that has none any more":   {other, bare, "own-hashed", hash, false},
		"a new rule, beside hashed plans": {other, bare, "new", hash, false},
		"a rule that is gone":             {bare, other, "new", hash, false},
		"no rule":                         {hashing, other, "none", hash, false},
	} {
		if got := parse(t, tt.to).Rehashed(parse(t, tt.from), tt.rule, tt.key); got != tt.want {
			t.Errorf("%s: %v, want %v", what, got, tt.want)
		}
	}
}

func TestCollides(t *testing.T) {
	const secret = "hash_secret: {env: %, check: ~}\nrules: [{name: r, hash: true, key: '{ip}', limits: [{capacity: 9, window: 60s}]}]"
	hashedBy := func(env, check string) *Set {
		return parse(t, strings.NewReplacer("%", env, "~", check).Replace(secret))
	}
	none := parse(t, "rules: []")
	for what, tt := range map[string]struct {
		a, b *Set
		want bool
	}{
		"two secrets in one variable":  {hashedBy("KEYS", "c4bbcb1f"), hashedBy("KEYS", "603f49c6"), true},
		"two secrets in two variables": {hashedBy("KEYS", "c4bbcb1f"), hashedBy("NEXT", "603f49c6"), false},
		"one secret in one variable":   {hashedBy("KEYS", "c4bbcb1f"), hashedBy("KEYS", "c4bbcb1f"), false},
		"one secret in two variables":  {hashedBy("KEYS", "c4bbcb1f"), hashedBy("NEXT", "c4bbcb1f"), false},
		"one secret and none":          {hashedBy("KEYS", "c4bbcb1f"), none, false},
	} {
		if tt.a.Collides(tt.b) != tt.want || tt.b.Collides(tt.a) != tt.want {
			t.Errorf("%s: want %v", what, tt.want)
		}
	}
}
