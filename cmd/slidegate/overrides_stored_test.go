package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamotest"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// rewritten returns the path of a copy of a rules file, with some of its text replaced.
func rewritten(t *testing.T, file string, pairs ...string) (path string) {
	t.Helper()
	document, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	path = filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(strings.NewReplacer(pairs...).Replace(string(document))), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// What was set before a rule hashed its keys is told from what requests look up, and neither is taken for the other.
func TestLeftByHashing(t *testing.T) {
	t.Setenv("KEY_SECRET", "correct horse battery staple")
	plain := rewritten(t, "testdata/hashed.yaml", ", hash: true", "", "hash_secret: {env: KEY_SECRET, check: c4bbcb1f}", "")
	table, place := published(t, dynamotest.Connect(t), plain)
	for _, name := range []string{"ann", "bob", "eve"} {
		mustRun(t, "overrides", "set", "by-mail", "mail:"+name+"@example.com", "--deny", "--why", "old", "--who", "jo", "--rules", place)
	}
	mustRun(t, "rules", "apply", "testdata/hashed.yaml", "--rules", place)
	const at = " --rules dynamodb://TABLE"
	const said = at + " --who jo --why 'ticket 87'"
	text := session(t, table,
		"overrides get by-mail mail:ann@example.com"+at,
		"overrides get by-mail mail:ann@example.com --json"+at,
		"overrides set by-mail mail:ann@example.com --capacity 20000"+said,
		"overrides get by-mail mail:ann@example.com"+at,
		"overrides get by-mail mail:ann@example.com --json"+at,
		"overrides get by-mail mail:ann@example.com --as-listed"+at,
		"overrides get by-mail mail:bob@example.com"+at,
		"overrides list by-mail"+at,
		"overrides list by-mail --limit 2 --json"+at,
		"overrides list by-mail --prefix mail:"+at,
		"overrides list by-mail --prefix tel:"+at,
		"overrides list by-mail --prefix %hmac-4"+at,
		"overrides list by-mail --prefix %hmac-5"+at,
		"overrides list plan --prefix mail:"+at,
		"overrides delete by-mail mail:ann@example.com --as-listed"+said,
		"overrides delete by-mail mail:ann@example.com --as-listed"+said,
		"overrides delete by-mail mail:ann@example.com"+said,
		"overrides delete by-mail mail:ann@example.com"+said,
		"overrides delete by-mail mail:bob@example.com"+said,
		"overrides delete by-mail mail:eve@example.com"+said,
		"overrides set by-mail mail:ann@example.com --capacity 20000"+said,
		"overrides get by-mail %hmac-49089c9db944259ecf9ee8f475060259"+at,
	)
	os.Unsetenv("KEY_SECRET") // what a hash is of is not known now
	text += session(t, table,
		"overrides get by-mail mail:bob@example.com"+at,
		"overrides get by-mail mail:bob@example.com --as-listed"+at,
		"overrides get by-mail %hmac-49089c9db944259ecf9ee8f475060259"+at,
		"overrides delete by-mail mail:bob@example.com"+said,
	)
	golden(t, "left-by-hashing", text)
}

// What a rule had under its old name is found by the keys that are listed.
func TestLeftByARename(t *testing.T) {
	table, place := published(t, dynamotest.Connect(t), "testdata/business.yaml")
	mustRun(t, "overrides", "set", "chat", "user:auth0|7", "--deny", "--why", "x", "--who", "jo", "--rules", place)
	mustRun(t, "rules", "apply", rewritten(t, "testdata/business.yaml", "chat", "chats"), "--rules", place)
	const at = " --rules dynamodb://TABLE"
	const said = at + " --who jo --why 'ticket 88'"
	golden(t, "left-by-a-rename", session(t, table,
		"overrides get chat 'user:auth0|7'"+at,
		"overrides delete chat 'user:auth0|7'"+said,
		"overrides delete chats 'user:auth0|7'"+said,
		"overrides delete cats 'user:auth0|7'"+said,
		"overrides list chat"+at,
		"overrides list chat --prefix user:b"+at,
		"overrides delete chat user:auth0%7C7"+said,
		"overrides delete chat user:auth0%7C7"+said,
		"overrides delete chat user:auth0%7C7 --as-listed"+said,
		"overrides list chat"+at,
	))
}

// TestFindOverride has keys in the table and in the rules, and types texts for them.
func TestFindOverride(t *testing.T) {
	const document = `
rules:
  - {name: api, key: "user:{jwt.sub}", overrides: true, limits: [{capacity: 5, window: 60s}]}
  - {name: none, key: "ip:{ip}", limits: [{capacity: 5, window: 60s}]}
overrides: {api: {"user:written": {deny: true}, "user:w|ritten": {deny: true}}}
`
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	client := dynamotest.Connect(t)
	table := ruletable.New(client, rulesTable(t, client))
	for _, o := range []ruletable.Override{
		{Rule: "api", Key: "user:a%7Cb"}, {Rule: "api", Key: "user:c|d"}, {Rule: "api", Key: "user:e%7Cf"}, {Rule: "api", Key: "user:e|f"},
		{Rule: "api", Key: "user:w|ritten"}, {Rule: "api", Key: "tenant:x"}, {Rule: "none", Key: "ip:203.0.113.9"}, {Rule: "gone", Key: "user:a%7Cb"},
	} {
		o.Document, o.Note = `{"deny": true}`, ruletable.Note{Who: "jo", When: time.Unix(1_800_000_000, 0)}
		if err := table.SetOverride(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
	long := "user:" + strings.Repeat("x", 2000)
	for _, tc := range []struct {
		rule, text string
		key        string // empty for an error
		other      string
		unused     bool
		listed     bool // the error says where to look
	}{
		{rule: "api", text: "user:a|b", key: "user:a%7Cb"},
		{rule: "api", text: "user:a%7Cb", key: "user:a%7Cb"},
		{rule: "api", text: "user:c|d", key: "user:c|d", unused: true},
		{rule: "api", text: "user:c%7Cd", key: "user:c%7Cd"},
		{rule: "api", text: "user:e|f", key: "user:e%7Cf", other: "user:e|f"},
		{rule: "api", text: "user:e%7Cf", key: "user:e%7Cf"},
		{rule: "api", text: "user:w|ritten", key: "user:w%7Critten", other: "user:w|ritten"},
		{rule: "api", text: "user:nobody", key: "user:nobody"},
		{rule: "api", text: "user:no|body", key: "user:no%7Cbody"},
		{rule: "api", text: "user:\xff", key: "user:%FF"},
		{rule: "api", text: "tenant:x", key: "tenant:x", unused: true},
		{rule: "api", text: "tenant:y", listed: true},
		{rule: "api", text: "", listed: true},
		{rule: "none", text: "ip:203.0.113.9", key: "ip:203.0.113.9", unused: true},
		{rule: "none", text: "ip:203.0.113.8", listed: true},
		{rule: "gone", text: "user:a%7Cb", key: "user:a%7Cb", unused: true},
		{rule: "gone", text: "user:a|b", listed: true},
		{rule: "never", text: "user:a|b"},
		{rule: "plan", text: "user:a|b"},
	} {
		target := overrideTarget{table: table, set: set, rule: tc.rule}
		err := target.find(t.Context(), tc.text)
		var told faults
		if (err != nil) != (tc.key == "") || errors.As(err, &told) != tc.listed {
			t.Errorf("%s %q: error %v", tc.rule, tc.text, err)
		}
		if err == nil && (target.key != tc.key || target.other != tc.other || (target.unused != "") != tc.unused) {
			t.Errorf("%s %q: key %q, other %q, unused %q; want %+v", tc.rule, tc.text, target.key, target.other, target.unused, tc)
		}
	}
	target := overrideTarget{table: table, set: set, rule: "api"}
	if err := target.find(t.Context(), long); err != nil || len(target.key) != rules.MaxKey || target.other != "" {
		t.Errorf("a long key is taken for one of %d bytes, error %v", len(target.key), err)
	}
}
