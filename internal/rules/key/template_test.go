package key

import (
	"crypto/sha256"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/request"
)

// parsed returns a template, which must be good.
func parsed(t testing.TB, text string) *Template {
	t.Helper()
	parsed, problems := Parse(text)
	if len(problems) > 0 {
		t.Fatalf("template %q: %s", text, problems[0].Reason())
	}
	return &parsed
}

// notOne is the reason of a source that holds what no name has.
func notOne(source, outside string) []string {
	return []string{source + ` is not one source, because no source has "` + outside + `" in it: write a single source; for a fallback write two rules, ` +
		`one with when: {caller: known} and key: "user:{jwt.sub}", and one with when: {caller: anonymous} and key: "ip:{ip}"`}
}

// noneOf is the reason of a source that would be a part of what no source reads.
func noneOf(source, what, header string) []string {
	return []string{"unknown source " + source + ": rules read no " + what + ": write {jwt.sub} for verified callers, or {header." + header + "} if a header holds the value"}
}

func TestParseTemplate(t *testing.T) {
	const known = "there are {ip}, {jwt.NAME}, {apikey}, {header.NAME}, {query.NAME}, {path.NAME}, {method}, {route}, {stage}, {country}, {asn}, " +
		"{graphql.type}, {graphql.name} and {graphql.fields}"
	for _, tt := range []struct {
		text     string
		problems []string
	}{
		{"all", nil},
		{"ip:{ip}", nil},
		{"{ip/32}|{ip/64}|{ip/128}", nil},
		{"{ip}|{method}:{route}:{stage}", nil},
		{"{country}:{asn}", nil},
		{"{graphql.type}:{graphql.name}|{graphql.fields}", nil},
		{"tenant:{header.X-Tenant}|user:{query.user-id}|{path.id}", nil},
		{"tenant:{jwt.tenant}|{jwt./realm_access/roles/0}|{apikey}", nil},
		{"{jwt.https://example.com/id}", nil},
		{"{jwt.cognito:groups}|{jwt.custom:tier}|{jwt./cnf/x5t#S256}|{jwt./a~1b/m~0n}", nil},
		{"{jwt.urn:zitadel:iam:org:project:281:roles}|{jwt.kubernetes.io}|{jwt.größe}", nil},
		{"{header.X_A.b}|{query.filter[user]}|{query.$top}|{query.dc:title}|{query.größe}|{path.user_id}", nil},
		{"{header.cookie}|{header.authorization}", nil},
		{"{query.cookie.session}|{jwt.authorization.id}", nil},

		{"", []string{`a key is 1 to 256 bytes long: write "ip:{ip}" to count by address, or a fixed text to count all requests together`}},
		{strings.Repeat("a", 257), []string{`a key is 1 to 256 bytes long: write "ip:{ip}" to count by address, or a fixed text to count all requests together`}},
		{"{ip}{stage}", []string{"write : or | after {ip}, so that no two requests can have the same key"}},
		{"{ip", []string{`"{ip" is never closed: write } after the name`}},
		{"{header.x{ip}", []string{`"{header.x" is never closed: write } after the name`}},
		{"ip}", []string{"'}' cannot stand in a key's own text: use printable ASCII without %, { and }"}},
		{"é:{ip}", []string{"'é' cannot stand in a key's own text: use printable ASCII without %, { and }"}},
		{"{}", []string{"unknown source {}: " + known}},
		{"{user}", []string{"unknown source {user}: did you mean {jwt.sub}?"}},
		{"{client_ip}", []string{"unknown source {client_ip}: did you mean {ip}?"}},
		{"{X-User}", []string{"unknown source {X-User}: did you mean {header.x-user}?"}},
		{"ip:{{ip}}", []string{"sources have single braces: write ip:{ip}"}},
		{"{apikey.id}", []string{"{apikey.id} takes no name: write {apikey}"}},
		{"{headers.x-user}", []string{"unknown source {headers.x-user}: did you mean {header.x-user}?"}},
		{"{ip.v4}", []string{"{ip.v4} takes no name: write {ip}"}},
		{"{ip/24}", []string{"the number in {ip/24} is how many bits of an IPv6 address count: write {ip} for /64, or {ip/32} to {ip/128}; an IPv4 address always counts whole"}},
		{"{ip/129}", []string{"the number in {ip/129} is how many bits of an IPv6 address count: write {ip} for /64, or {ip/32} to {ip/128}; an IPv4 address always counts whole"}},
		{"{header}", []string{"{header} needs a name: write {header.NAME}"}},
		{"{header.x-user|ip}", notOne("{header.x-user|ip}", "|")},
		{"{header.x-user|{ip}}", notOne("{header.x-user|{ip}", "|")},
		{"{header.x-user+ip}", notOne("{header.x-user+ip}", "+")},
		{"{header.größe}", notOne("{header.größe}", "ö")},
		{"{jwt.sub, ip}", notOne("{jwt.sub, ip}", ",")},
		{"{jwt.sub?ip}", notOne("{jwt.sub?ip}", "?")},
		{"{jwt.sub:-ip}", notOne("{jwt.sub:-ip}", ":-")},
		{"{jwt.sub/ip}", []string{"{jwt.sub/ip} has a slash and no namespace before it: write {jwt./sub/ip}"}},
		{"{jwt.realm_access/roles/0}", []string{"{jwt.realm_access/roles/0} has a slash and no namespace before it: write {jwt./realm_access/roles/0}"}},
		{"{jwt.kubernetes.io/pod}|{jwt.urn:a/b}", nil},
		{"{jwt.roles[0]}", notOne("{jwt.roles[0]}", "[")},
		{"{query.user|jwt.sub}", notOne("{query.user|jwt.sub}", "|")},
		{"{query.a%20b}", notOne("{query.a%20b}", "%")},
		{"{path.proxy+}", notOne("{path.proxy+}", "+")},
		{"{ip|header.x-user}", notOne("{ip|header.x-user}", "|")},
		{"{ip/64|jwt.sub}", notOne("{ip/64|jwt.sub}", "|")},
		{"{apikey.a|ip}", notOne("{apikey.a|ip}", "|")},
		{"{{user}}", []string{"unknown source {user}: did you mean {jwt.sub}?"}},
		{"{header.cookie.session}", noneOf("{header.cookie.session}", "cookies", "x-session")},
		{"{header.Cookie[session]}", noneOf("{header.Cookie[session]}", "cookies", "x-session")},
		{"{header.set-cookie.session}", noneOf("{header.set-cookie.session}", "cookies", "x-session")},
		{"{cookies[session]}", noneOf("{cookies[session]}", "cookies", "x-session")},
		{"{cookie}", noneOf("{cookie}", "cookies", "x-NAME")},
		{"{header.authorization.sub}", noneOf("{header.authorization.sub}", "parts of tokens", "x-sub")},
		{"{header.cookie|ip}", notOne("{header.cookie|ip}", "|")},
		{"{header}{jwt.sub}%", []string{
			"{header} needs a name: write {header.NAME}",
			"write : or | after {header}, so that no two requests can have the same key",
			"write : or | after {jwt.sub}, so that no two requests can have the same key",
			"'%' cannot stand in a key's own text: use printable ASCII without %, { and }",
		}},
	} {
		_, faults := Parse(tt.text)
		var problems []string
		for _, f := range faults {
			problems = append(problems, f.Reason())
		}
		if diff := cmp.Diff(tt.problems, problems); diff != "" {
			t.Errorf("template %.40q (-want +got):\n%s", tt.text, diff)
		}
	}
}

// A text that is no key of a template has a reason that says what is wrong.
func TestSplitErrors(t *testing.T) {
	long := strings.Repeat("a", 600)
	for _, tt := range []struct{ template, key, why string }{
		{"all", "alle", `"e" is too much: a : or | inside a value is written %3A or %7C`},
		{"all", "al", `"all" is missing`},
		{"ip:{ip}", "ip:", "a part that a request lacks is written -"},
		{"u:{header.x}|{stage}", "u:a:b", `"|" is missing`},
		{"u:{header.x}", "u:100%", "a % inside a value is written %25"},
		{"u:{header.x}", "u:%41", "%41 is not how a key encodes 'A'"},
		{"u:{header.x}", "u:a%2D", "%2D is not how a key encodes '-'"},
		{"u:{header.x}", "u:é", "a byte outside printable ASCII is written as an escape, here %C3"},
		{"u:{header.x}", "u:" + long, "a key is at most 505 bytes long"},
		{"u:{header.x}", ("u:" + long)[:505], "a key of 505 bytes ends in ~ and 24 hex digits"},
		{"u:{header.x}", ("u:" + long)[:480] + "~" + strings.Repeat("f0", 12), ""},
		{"u:{header.x}", ("u:" + long)[:480] + "~" + strings.Repeat("F0", 12), "a key of 505 bytes ends in ~ and 24 hex digits"},
	} {
		_, err := parsed(t, tt.template).split(tt.key)
		if tt.why == "" && err != nil || tt.why != "" && (err == nil || err.Error() != tt.why) {
			t.Errorf("key %.40q of %q: error %v, want %s", tt.key, tt.template, err, tt.why)
		}
	}
}

func TestLongKeys(t *testing.T) {
	user := parsed(t, "u:{header.x}")
	key := func(n int) string {
		return string(user.Append(nil, &request.Request{Headers: map[string][]string{"X": {strings.Repeat("a", n-2)}}}, ""))
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
	// A client that sends the cut form of another's key gets a cut key of its own.
	victim := key(600)
	sent := string(user.Append(nil, &request.Request{Headers: map[string][]string{"X": {victim[2:]}}}, ""))
	if sent == victim {
		t.Error("a client can send a cut key")
	}
}

// tuple is what a key of three parts is made from.
type tuple struct{ header, query, path string }

func (u tuple) request() *request.Request {
	return &request.Request{Headers: map[string][]string{"H": {u.header}}, Query: map[string][]string{"q": {u.query}}, PathParams: map[string]string{"p": u.path}}
}

// Two requests have the same key only if all parts of it are the same.
func TestKeysAreApart(t *testing.T) {
	template := parsed(t, "h:{header.h}:{query.q}|{path.p}")
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
		ka, kb := string(template.Append(nil, a.request(), "")), string(template.Append(nil, b.request(), ""))
		if (ka == kb) != (a == b) {
			t.Errorf("%q and %q render %q and %q", a, b, ka, kb)
		}
	})
}

// A template reads the escaped value as the key of requests with that value.
func TestEscape(t *testing.T) {
	user := parsed(t, "u:{header.x}")
	for _, value := range []string{"a", "-", "a-b", "auth0|7", "a:b", "100%", "%41", "%zz|", "é", "\x00%"} {
		want := string(user.Append(nil, &request.Request{Headers: map[string][]string{"X": {value}}}, ""))
		if got, err := user.Read("u:" + Escape(value)); got != want || err != nil {
			t.Errorf("%q is escaped as %q and read as %q, %v; want %q", value, Escape(value), got, err, want)
		}
	}
}

func FuzzKeyTemplate(f *testing.F) {
	f.Add("ip:{ip}|{header.x-user}", "ann", "bob", "/v1/../x", "GET /users/{id}")
	f.Add("{query.a}:{path.b}|{method}:{route}:{stage}", "-", ":|%", "", "$default")
	f.Add("{header.x}", strings.Repeat("é", 200), "", "/%2e", "/{proxy+}")
	f.Add("{}%é{ip", "", "", "", "")
	f.Add("{ip/128}|{ip/48}", "", "", "", "")
	f.Fuzz(func(t *testing.T, text, a, b, path, route string) {
		tmpl, problems := Parse(text)
		if len(problems) > 0 {
			return
		}
		keyOf := func(a, b string) string {
			params := map[string]string{}
			values := map[string][]string{}
			for _, p := range tmpl.Parts { // for every source of the template
				values[p.Text], params[p.Text] = []string{a}, b
			}
			req := &request.Request{Method: a, Path: path, Route: route, Stage: b, Headers: values, Query: values, PathParams: params}
			return string(tmpl.Append(nil, req, req.Derived().Template))
		}
		got := keyOf(a, b)
		if len(got) > MaxLen || strings.ContainsFunc(got, func(c rune) bool { return c < ' ' || c > '~' }) {
			t.Errorf("template %q: key %q", text, got)
		}
		if key, err := tmpl.Read(got); err != nil || key != got {
			t.Errorf("template %q: key %q is read as %q, %v", text, got, key, err)
		}
		if got != keyOf(a, b) {
			t.Errorf("template %q: not the same key again", text)
		}
		uses := func(s Kind) bool {
			for _, p := range tmpl.Parts {
				if p.Kind == s {
					return true
				}
			}
			return false
		}
		if other := a + "x"; (keyOf(other, b) == got) == (uses(FromHeader) || uses(FromQuery) || uses(FromMethod)) {
			t.Errorf("template %q: %q and %q render %q and %q", text, a, other, got, keyOf(other, b))
		}
	})
}
