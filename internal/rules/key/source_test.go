package key

import (
	"bufio"
	"encoding/json"
	"net/textproto"
	"net/url"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/request"
)

// Each name that a source accepts is one that a request can have: a request
// with it, read as gateways read it, has no "-" in its key. No accepted name
// holds what people join sources with.
func FuzzNames(f *testing.F) {
	for _, name := range []string{"x-user", "X_User.id", "filter[user]", "größe", "cognito:groups", "https://example.com/roles", "user_id", "$top", "a%20b",
		"x-user|ip", "sub, ip", "a b", "sub:-ip", "x*", "cookie.session", "/a~1b/0"} {
		f.Add(name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		for _, source := range []string{"header.", "query.", "path.", "jwt."} {
			template, faults := Parse("{" + source + name + "}")
			if len(faults) > 0 {
				if !strings.Contains(faults[0].Reason(), "write") {
					t.Errorf("%s%q is refused without what to write", source, name)
				}
				continue
			}
			if strings.ContainsAny(name, " \t|,;&?+{}\"") || strings.Contains(name, ":-") {
				t.Errorf("%s%q is accepted", source, name)
			}
			if key := string(template.Append(nil, sent(t, source, name), "")); key != "v" {
				t.Errorf("a request with %s%q has the key %q", source, name, key)
			}
		}
	})
}

// sent returns a request that states v under a name, as it arrives.
func sent(t *testing.T, source, name string) *request.Request {
	r := &request.Request{}
	switch source {
	case "header.":
		read, err := textproto.NewReader(bufio.NewReader(strings.NewReader(name + ": v\r\n\r\n"))).ReadMIMEHeader()
		if err != nil {
			t.Fatalf("header %q: %v", name, err)
		}
		r.Headers = read
	case "query.":
		r.SetQuery(url.QueryEscape(name) + "=v")
	case "path.":
		r.PathParams = map[string]string{name: "v"}
	case "jwt.":
		var value any = "v"
		if pointer, ok := strings.CutPrefix(name, "/"); ok {
			steps := strings.Split(pointer, "/")
			for i := len(steps) - 1; i >= 0; i-- {
				value = map[string]any{strings.NewReplacer("~1", "/", "~0", "~").Replace(steps[i]): value}
			}
		} else {
			value = map[string]any{name: value}
		}
		text, err := json.Marshal(value)
		if err != nil {
			t.Fatal(err)
		}
		r.Claims = claims(t, string(text))
	}
	return r
}

// claims decodes a token's payload as a verifier of tokens does.
func claims(t testing.TB, text string) map[string]any {
	t.Helper()
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	var m map[string]any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

const payload = `{"sub": "7", "n": 12345678901234567890, "f": 1.50, "yes": true, "none": null, "a/b": "slash", "m~n": "tilde",
	"https://example.com/plan": "pro", "realm": {"roles": ["admin", 3], "deep": {"x": "y"}}, "scope": "read write:all", "list": ["a", "b", 7]}`

// Keys take claims that are text, numbers or booleans.
func TestClaims(t *testing.T) {
	r := &request.Request{Claims: claims(t, payload)}
	for name, want := range map[string]string{
		"sub": "7", "n": "12345678901234567890", "f": "1.50", "yes": "true",
		"none": "-", "missing": "-", "list": "-", "realm": "-",
		"https://example.com/plan": "pro", "a/b": "slash",
		"/sub": "7", "/a~1b": "slash", "/m~0n": "tilde", "/realm/deep/x": "y", "/realm/roles/0": "admin", "/realm/roles/1": "3",
		"/realm/roles/2": "-", "/realm/roles/01": "-", "/realm/roles/-1": "-", "/realm/roles": "-", "/sub/x": "-", "/": "-", "/realm/": "-",
	} {
		p := Part{Kind: FromClaim, Text: name}
		made := Template{Parts: []Part{p}}
		if got := string(made.Append(nil, r, "")); got != want {
			t.Errorf("{jwt.%s} is %q, want %q", name, got, want)
		}
	}
}

// Claims and keys of invalid credentials count for nothing.
func TestRejectedClaims(t *testing.T) {
	r := &request.Request{Claims: claims(t, payload), APIKey: "k1", Rejected: true}
	for _, p := range []Part{{Kind: FromClaim, Text: "sub"}, {Kind: FromClaim, Text: "/sub"}, {Kind: FromAPIKey, Text: ""}} {
		if text, ok := p.Value(r); ok {
			t.Errorf("%v has the value %q", p, text)
		}
		if key := (&Template{Parts: []Part{p}}).Append(nil, r, ""); string(key) != "-" {
			t.Errorf("%v makes the key %q", p, key)
		}
	}
	if c := r.Caller(); c != request.Rejected {
		t.Errorf("caller %v", c)
	}
}
