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
		_, r.Query = request.SplitTarget("/?" + url.QueryEscape(name) + "=v")
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
