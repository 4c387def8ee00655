package ruletable_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// TestStoredTarget finds keys of the table and of the rules by texts that users
// may type.
func TestStoredTarget(t *testing.T) {
	const text = `
rules:
  - {name: api, key: "user:{jwt.sub}", overrides: true, limits: [{capacity: 5, window: 60s}]}
  - {name: none, key: "ip:{ip}", limits: [{capacity: 5, window: 60s}]}
overrides: {api: {"user:written": {deny: true}, "user:w|ritten": {deny: true}}}
`
	inForce, err := rulefile.Parse("rules.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	table := opened(t)
	publish(t, table, ruletable.Version{Text: []byte(text), Document: inForce.Document(), Note: note(0, "")})
	for _, o := range []ruletable.Override{
		{Rule: "api", Key: "user:a%7Cb"}, {Rule: "api", Key: "user:c|d"}, {Rule: "api", Key: "user:e%7Cf"}, {Rule: "api", Key: "user:e|f"},
		{Rule: "api", Key: "user:w|ritten"}, {Rule: "api", Key: "tenant:x"}, {Rule: "none", Key: "ip:203.0.113.9"}, {Rule: "gone", Key: "user:a%7Cb"},
	} {
		set(t, table, o.Rule, o.Key, `{"deny": true}`)
	}
	long := "user:" + strings.Repeat("x", 2000)
	for _, tc := range []struct {
		rule, text string
		key        string // empty for an error
		unused     bool
		listed     bool // the error names the command that lists keys
	}{
		{rule: "api", text: "user:a|b", key: "user:a%7Cb"},
		{rule: "api", text: "user:a%7Cb", key: "user:a%7Cb"},
		{rule: "api", text: "user:c|d", key: "user:c|d", unused: true},
		{rule: "api", text: "user:e|f", key: "user:e|f", unused: true},
		{rule: "api", text: "user:w|ritten", key: "user:w|ritten", unused: true},
		{rule: "api", text: "user:other", key: "user:other"},
		{rule: "api", text: "user:no|body", key: "user:no%7Cbody"},
		{rule: "api", text: "user:\xff", key: "user:%FF"},
		{rule: "api", text: "tenant:x", key: "tenant:x", unused: true},
		{rule: "api", text: "tenant:y", listed: true},
		{rule: "api", text: "", listed: true},
		{rule: "none", text: "ip:203.0.113.9", key: "ip:203.0.113.9", unused: true},
		{rule: "gone", text: "user:a%7Cb", key: "user:a%7Cb", unused: true},
		{rule: "gone", text: "user:a|b", listed: true},
		{rule: "never", text: "user:a|b"},
	} {
		target, err := table.StoredTarget(t.Context(), tc.rule, tc.text)
		if (err != nil) != (tc.key == "") || strings.Contains(fmt.Sprint(err), "`slidegate overrides list") != tc.listed {
			t.Errorf("%s %q: error %v", tc.rule, tc.text, err)
		}
		if err == nil && (target.Key != tc.key || (target.Unused != nil) != tc.unused) {
			t.Errorf("%s %q: key %q, unused %v; want %+v", tc.rule, tc.text, target.Key, target.Unused, tc)
		}
	}
	if target, err := table.StoredTarget(t.Context(), "api", long); err != nil || len(target.Key) != key.MaxLen {
		t.Errorf("a long key is taken for one of %d bytes, error %v", len(target.Key), err)
	}
}
