package command

import (
	"bytes"
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/request"
)

// words splits a command at spaces, except within single quotes.
func words(command string) []string {
	words := []string{}
	for i, part := range strings.Split(command, "'") {
		if i%2 == 0 {
			words = append(words, strings.Fields(part)...)
		} else {
			words = append(words, part)
		}
	}
	return words
}

func TestRequestOfFlags(t *testing.T) {
	for _, tc := range []struct {
		args string // METHOD PATH and flags
		want request.Request
		err  string
	}{
		{args: "GET /", want: request.Request{Method: "GET", Path: "/"}},
		{args: "get /a%2Fb?x=1&x=%202", want: request.Request{Method: "get", Path: "/a%2Fb", Query: map[string][]string{"x": {"1", " 2"}}}},
		{args: "GET / --ip ::ffff:203.0.113.9 --stage prod --apikey k-1", want: request.Request{
			Method: "GET", Path: "/", IP: netip.MustParseAddr("203.0.113.9"), Stage: "prod", APIKey: "k-1"}},
		{args: "GET / -H 'X-A: 1' -H x-a:2 -H 'B:'", want: request.Request{
			Method: "GET", Path: "/", Headers: map[string][]string{"X-A": {"1"}, "x-a": {"2"}, "B": {""}}}},
		{args: "GET / --claim a=1=2 --claim b=", want: request.Request{Method: "GET", Path: "/", Claims: map[string]any{"a": "1=2", "b": ""}}},
		{args: "GET / --claims '{\"n\": 12345678901234567890, \"o\": {\"id\": true}}' --claim n=7", want: request.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": "7", "o": map[string]any{"id": true}}}},
		{args: "GET / --claims '{\"n\": 12345678901234567890}'", want: request.Request{
			Method: "GET", Path: "/", Claims: map[string]any{"n": json.Number("12345678901234567890")}}},
		{args: "GET / --claims {}", want: request.Request{Method: "GET", Path: "/", Claims: map[string]any{}}},
		{args: "GET / --rejected", want: request.Request{Method: "GET", Path: "/", Rejected: true}},
		{args: "GET / --route $default", want: request.Request{Method: "GET", Path: "/", Route: "$default"}},
		{args: "GET /users/a%20b --route 'GET /users/{id}'", want: request.Request{
			Method: "GET", Path: "/users/a%20b", Route: "GET /users/{id}", PathParams: map[string]string{"id": "a b"}}},
		{args: "GET /f/a/b/c --route '/f/{dir}/{rest+}'", want: request.Request{
			Method: "GET", Path: "/f/a/b/c", Route: "/f/{dir}/{rest+}", PathParams: map[string]string{"dir": "a", "rest": "b/c"}}},

		{args: "GET x", err: "is no path"},
		{args: "GET http://h/x", err: "is no path"},
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
			var got request.Request
			cmd := &cobra.Command{SilenceErrors: true, SilenceUsage: true}
			cmd.RunE = func(_ *cobra.Command, args []string) error { return SetTarget(&got, args[0], args[1]) }
			cmd.SetArgs(words(tc.args))
			Request(cmd, &got)
			err := cmd.Execute()
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q in it", err, tc.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(plainly(tc.want), plainly(got)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// plainly returns the fields of a request that are not empty.
func plainly(r request.Request) map[string]any {
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
