package rules

import (
	"net/netip"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
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
		{"NAT64", "key: 'ip:{ip/128}'", request.Request{IP: netip.MustParseAddr("64:ff9b::cb00:7109")}, "ip:203.0.113.9"},
		{"6to4", "key: 'ip:{ip}'", request.Request{IP: netip.MustParseAddr("2002:cb00:7109:1::7")}, "ip:2002%3Acb00%3A7109%3A1%3A%3A/64"},
		{"IPv6 whole", "key: 'ip:{ip/128}'", request.Request{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6")}, "ip:2001%3Adb8%3A1%3A2%3A3%3A4%3A5%3A6"},
		{"IPv6 by a larger network", "key: 'ip:{ip/48}'", request.Request{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6")}, "ip:2001%3Adb8%3A1%3A%3A/48"},
		{"IPv6 by the default", "key: 'ip:{ip/64}'", request.Request{IP: netip.MustParseAddr("2001:db8:1:2:3:4:5:6")}, "ip:2001%3Adb8%3A1%3A2%3A%3A/64"},
		{"IPv4 whole", "key: 'ip:{ip/48}'", request.Request{IP: netip.MustParseAddr("203.0.113.9")}, "ip:203.0.113.9"},
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
			if key, err := r.template.Read(tt.want); err != nil || key != tt.want {
				t.Errorf("the key is read as %q, %v", key, err)
			}
		})
	}
}
