package cli

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules"
)

func TestExplain(t *testing.T) {
	t.Setenv("ORIGIN_SECRET", "")
	business := " --at 2026-11-22T10:00:00Z --rules testdata/business.yaml"
	golden(t, "explain", transcript(t.Context(), "",
		"explain POST /login --ip 203.0.113.9 --at 2026-11-22T10:00:00Z --rules testdata/rules.yaml",
		"explain GET /health --rules testdata/rules.yaml",
		"explain GET /health/ --ip 2001:db8::1 --rules testdata/rules.yaml",
		"explain POST '/v1/chat?debug=1' --ip 10.0.0.1 -H 'X-Forwarded-For: 203.0.113.9' -H 'X-Tokens: 900' --claim sub=241531 --claim plan=pro --claim tenant=acme"+business,
		"explain POST '/v1/chat?debug=1' --ip 10.0.0.1 -H 'X-Forwarded-For: 203.0.113.9' -H 'X-Tokens: 900' --claim sub=241531 --claim plan=pro --claim tenant=acme --json"+business,
		"explain POST /v1/chat --claims '{\"sub\": \"auth0|666\", \"tenant\": \"slow\", \"plan\": [\"pro\"]}'"+business,
		"explain GET /v1/export --claim sub=777 --claim tenant=t --claim billing_day=15"+business,
		"explain GET /v1/export --claim sub=777 --at 2027-01-01T00:00:00Z --rules testdata/business.yaml",
		"explain GET /v1/Hooks/x --claim tenant=probe"+business,
		"explain GET /v1/search --route '/v1/{partner}' --apikey k-17 --claim plan=gold"+business,
		"explain GET /v2 --claim sub=778"+business,
		"explain GET /v2 --rejected"+business,
		"explain GET /v2 --rejected --json"+business,
		"explain GET /v2 --ip 10.0.0.1 -H x-forwarded-for:198.51.100.7"+business,
		"explain GET /%1b%5b31m -H 'x: y' --claim sub=1"+business,
		"explain POST /v1/chat --claim sub=1 --claim tenant=t --rules testdata/costly.yaml",
		"explain GET / --rules testdata/secret.yaml",
	))
}

func TestRequestOfFlags(t *testing.T) {
	for _, tc := range []struct {
		args string // METHOD PATH and flags
		want rules.Request
		err  string
	}{
		{args: "GET /", want: rules.Request{Method: "GET", Path: "/"}},
		{args: "get /a%2Fb?x=1&x=%202", want: rules.Request{Method: "get", Path: "/a%2Fb", Query: map[string][]string{"x": {"1", " 2"}}}},
		{args: "GET / --ip ::ffff:203.0.113.9 --stage prod --apikey k-1", want: rules.Request{
			Method: "GET", Path: "/", IP: netip.MustParseAddr("::ffff:203.0.113.9"), Stage: "prod", APIKey: "k-1"}},
		{args: "GET / -H 'X-A: 1' -H x-a:2 -H 'B:'", want: rules.Request{
			Method: "GET", Path: "/", Headers: map[string][]string{"X-A": {"1"}, "x-a": {"2"}, "B": {""}}}},
		{args: "GET / --claim a=1=2 --claim b=", want: rules.Request{Method: "GET", Path: "/", Claims: map[string]any{"a": "1=2", "b": ""}}},
		{args: "GET / --claims '{\"n\": 12345678901234567890, \"o\": {\"id\": true}}' --claim n=7", want: rules.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": "7", "o": map[string]any{"id": true}}}},
		{args: "GET / --claims '{\"n\": 12345678901234567890}'", want: rules.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": json.Number("12345678901234567890")}}},
		{args: "GET / --claims {}", want: rules.Request{Method: "GET", Path: "/", Claims: map[string]any{}}},
		{args: "GET / --rejected", want: rules.Request{Method: "GET", Path: "/", Rejected: true}},
		{args: "GET / --route $default", want: rules.Request{Method: "GET", Path: "/", Route: "$default"}},
		{args: "GET /users/a%20b --route 'GET /users/{id}'", want: rules.Request{
			Method: "GET", Path: "/users/a%20b", Route: "GET /users/{id}", PathParams: map[string]string{"id": "a b"}}},
		{args: "GET /f/a/b/c --route '/f/{dir}/{rest+}'", want: rules.Request{
			Method: "GET", Path: "/f/a/b/c", Route: "/f/{dir}/{rest+}", PathParams: map[string]string{"dir": "a", "rest": "b/c"}}},

		{args: "GET x", err: "is no path"},
		{args: "GET http://h/x", err: "is no path"},
		{args: "GET /?%zz", err: "the query of"},
		{args: "'G T' /", err: "is no method"},
		{args: "GET / --ip localhost", err: "--ip localhost"},
		{args: "GET / -H x", err: "want 'NAME: VALUE'"},
		{args: "GET / -H ':x'", err: "want 'NAME: VALUE'"},
		{args: "GET / -H 'a b: x'", err: "want 'NAME: VALUE'"},
		{args: "GET / --claim x", err: "want NAME=VALUE"},
		{args: "GET / --claim =x", err: "want NAME=VALUE"},
		{args: "GET / --claim /a/b=x", err: "is given by --claims"},
		{args: "GET / --claims []", err: "want a JSON object"},
		{args: "GET / --claims null", err: "want a JSON object"},
		{args: "GET / --claims {}{}", err: "something follows"},
		{args: "GET / --rejected --apikey k", err: "say nothing"},
		{args: "GET /users --route '/users/{id}'", err: "too short"},
		{args: "GET /users/7/x --route '/users/{id}'", err: "too long"},
		{args: "GET /u/7 --route '/users/{id}'", err: "has u where the template has users"},
		{args: "GET /users/%zz --route '/users/{id}'", err: "invalid URL escape"},
	} {
		t.Run(tc.args, func(t *testing.T) {
			var f explainFlags
			cmd := (&cli{}).explainCommand()
			cmd.ResetFlags()
			f.requestFlags.add(cmd)
			if err := cmd.ParseFlags(words(tc.args)); err != nil {
				t.Fatal(err)
			}
			args := cmd.Flags().Args()
			got, err := f.request(cmd, args[0], args[1])
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q in it", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plainly(tc.want), plainly(*got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// plainly is a request as JSON, in which what is empty is not there.
func plainly(r rules.Request) map[string]any {
	text, _ := json.Marshal(&r)
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var fields map[string]any
	_ = d.Decode(&fields)
	for name, value := range fields {
		if list, ok := value.(map[string]any); ok && len(list) == 0 && name != "Claims" || value == nil {
			delete(fields, name)
		}
	}
	return fields
}
