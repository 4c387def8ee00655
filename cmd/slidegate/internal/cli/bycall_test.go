package cli

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/gate/rulestable"
)

var billing = rulestable.Note{Who: "billing", Why: "invoice 83"}

func capacity(units int64) rulestable.Override {
	return rulestable.Override{Capacity: map[string]int64{"": units}, Note: billing}
}

// TestRefusedByCall: a Go program cannot set what the command refuses, for the
// same reasons. Nothing is written, and the history stays as it is.
func TestRefusedByCall(t *testing.T) {
	table := newTable(t, rewritten(t, "testdata/business.yaml", "over: clamp, ", ""))
	past := time.Unix(1_700_000_000, 0)
	for _, tc := range []struct {
		rule, key, flags string
		override         rulestable.Override
		command, call    string // the error of the call; "" for that of the command
		kind             error
	}{
		{"nobody", "x", "--deny", rulestable.Override{Deny: true}, `there is no rule "nobody"`, `there is no rule "nobody"`, rulestable.ErrNoRule},
		{"chats", "x", "--deny", rulestable.Override{Deny: true}, `there is no rule "chats"`, "did you mean chat?", rulestable.ErrNoRule},
		{"chat", "user:7", "--capacity request=60", rulestable.Override{Capacity: map[string]int64{"request": 60}}, "did you mean requests?", "", nil},
		{"chat", "user:7", "--capacity 60", capacity(60), "rule chat has several limits", "", nil},
		{"chat", "user:7", "--capacity tokens=499", rulestable.Override{Capacity: map[string]int64{"tokens": 499}}, "500", "", nil},
		{"api", "tenant:a", "--capacity 0", capacity(0), "capacity: 0 is out of range", "", nil},
		{"api", "tenant:a", "--capacity -5", capacity(-5), "capacity: -5 is out of range", "", nil},
		{"api", "tenant:a", "--capacity 1000000000000000000", capacity(1_000_000_000_000_000_000), "out of range", "", nil},
		{"api", "user:7", "--capacity 5", capacity(5), `"user:7" is no key of the overrides of rule api`, "", nil},
		{"api", "tenant:", "--capacity 5", capacity(5), "is no key of the overrides of rule api", "", nil},
		{"anonymous", "ip:203.0.113.9", "--deny", rulestable.Override{Deny: true}, "write overrides: true in the rule", "", nil},
		{"chat", "user:7", "--plan pro", rulestable.Override{Plan: "pro"}, "plan: is for all rules together", "", nil},
		{rulestable.PlanOverrides, "user:7", "--plan gold", rulestable.Override{Plan: "gold"}, `there is no plan "gold"`, "", nil},
		{rulestable.PlanOverrides, "user:7", "--capacity 5", capacity(5), "capacity: is for the keys of one rule", "", nil},
		{"api", "tenant:a", "--deny --why " + strings.Repeat("x", 501), rulestable.Override{Deny: true, Note: rulestable.Note{Who: "a", Why: strings.Repeat("x", 501)}}, "why: ", "", nil},
		{"api", "tenant:a", "", rulestable.Override{}, "want one of --capacity", "says nothing", nil},
		{"api", "tenant:a", "--deny --unlimited", rulestable.Override{Deny: true, Unlimited: true}, "want one of --capacity", "says unlimited and deny", nil},
		{"api", "tenant:a", "--deny --until 2023-11-14T22:13:20Z", rulestable.Override{Deny: true, Until: past}, "which is past", "until: 2023-11-14T22:13:20Z is past", nil},
		{"api", "tenant:a", "--deny --why ''", rulestable.Override{Deny: true, Note: rulestable.Note{Who: "a"}}, "--why is missing", "needs Who and Why", nil},
		{"api", "tenant:a", "--deny --why ''", rulestable.Override{Deny: true, Note: rulestable.Note{Why: "a"}}, "--why is missing", "needs Who and Why", nil},
	} {
		if tc.override.Who+tc.override.Why == "" {
			tc.override.Note = billing
		}
		if !strings.Contains(tc.flags, "--why") {
			tc.flags += " --why x"
		}
		command := fmt.Sprintf("overrides set %s %s %s%s", tc.rule, tc.key, tc.flags, table.at)
		printed := slidegate(t.Context(), "", command)
		if printed.code == 0 || !strings.Contains(printed.stderr, tc.command) {
			t.Errorf("%s: exit %d, %s", command, printed.code, printed.stderr)
		}
		err := rulestable.Open(table.client.Client, table.name).SetOverride(t.Context(), tc.rule, tc.key, tc.override)
		same := printed.stderr == fmt.Sprintf("slidegate: %v\n", err)
		if err == nil || !strings.Contains(err.Error(), tc.call) || tc.call == "" && !same || tc.kind != nil && !errors.Is(err, tc.kind) {
			t.Errorf("%s: a call fails by %v, the command by %s", command, err, printed.stderr)
		}
	}
	table.wantInForce(t, 1, 1)
}

// TestOverridesByCall: a program and operators change the same override in turn, and
// the history has all of them.
func TestOverridesByCall(t *testing.T) {
	table, ctx := newTable(t, "testdata/business.yaml"), t.Context()
	by := rulestable.Open(table.client.Client, table.name)
	want := func(err, kind error) {
		t.Helper()
		if !errors.Is(err, kind) {
			t.Errorf("error %v, want %v", err, kind)
		}
	}
	set := func(who string, units int64, revision int64) error {
		return by.SetOverride(ctx, "chat", "user:auth0|7", rulestable.Override{
			Capacity: map[string]int64{"tokens": units}, Until: time.Date(2199, 12, 31, 0, 0, 0, 0, time.FixedZone("", 3600)),
			Note: rulestable.Note{Who: who, Why: "invoice 83"}, Revision: revision,
		})
	}
	read := func() *rulestable.Override {
		t.Helper()
		o, err := by.Override(ctx, "chat", "user:auth0|7")
		if err != nil {
			t.Fatal(err)
		}
		if o.When.Before(time.Now().Add(-time.Hour)) || o.Unused != nil {
			t.Errorf("set at %v, unused: %v", o.When, o.Unused)
		}
		return o
	}
	_, err := by.Override(ctx, "chat", "user:auth0|7")
	want(err, rulestable.ErrNoOverride)
	want(by.DeleteOverride(ctx, "chat", "user:auth0|7", billing), rulestable.ErrNoOverride)
	want(set("billing", 20_000, 0), nil)
	first := read()
	want(set("sales", 30_000, 0), nil) // the last writer wins
	want(set("billing", 25_000, first.Revision), rulestable.ErrConflict)
	mustRun(t, "overrides set chat user:auth0|7 --capacity tokens=40000 --who jo --why ticket"+table.at)
	second := read()
	want(set("billing", 50_000, second.Revision), nil)
	mustRun(t, "grant chat.tokens user:auth0|7 +5 --for 1h --who jo --why ticket"+table.at)
	last := read()
	got := fmt.Sprintf("%v %v %v", last.Capacity, last.Until, last.Note.Who+last.Note.Why)
	wantSame(t, "the override", "map[tokens:50000] 2199-12-30 23:00:00 +0000 UTC billinginvoice 83", got)
	wantSame(t, "its document", `{"capacity":{"tokens":50000},"until":"2199-12-30T23:00:00Z","why":"invoice 83"}`, last.Document)
	want(by.DeleteOverride(ctx, "chat", "user:auth0%7C7", billing), nil)
	want(by.DeleteOverride(ctx, "chat", "user:auth0|7", billing), rulestable.ErrNoOverride)

	// What a rename has left is shown, said to be unused, and deleted by the key as listed.
	mustRun(t, "overrides set plan user:7 --deny --who jo --why x"+table.at)
	mustRun(t, "overrides set chat user:a|b --limits '[{\"capacity\":5,\"window\":\"1s\"}]' --who jo --why x"+table.at)
	table.apply(t, rewritten(t, "testdata/business.yaml", "chat", "chats"))
	_, err = by.Override(ctx, "chat", "user:a|b")
	want(err, rulestable.ErrNoRule)
	left, err := by.Override(ctx, "chat", "user:a%7Cb")
	if err != nil || !errors.Is(left.Unused, rulestable.ErrNoRule) || left.Document != `{"limits":[{"capacity":5,"window":"1s"}],"why":"x"}` {
		t.Errorf("left %+v, %v", left, err)
	}
	want(by.DeleteOverride(ctx, "chat", "user:a%7Cb", billing), nil)
	if plan, err := by.Override(ctx, rulestable.PlanOverrides, "user:7"); err != nil || !plan.Deny {
		t.Errorf("plan %+v, %v", plan, err)
	}
	table.set(t, "api", "tenant:broken", `{"capacty": 5}`)
	table.transcript(t, "by-call")
}

// TestNoTableByCall: a program is told what a table or rules lack, as commands are.
func TestNoTableByCall(t *testing.T) {
	table := newTable(t)
	for name, part := range map[string]string{"no-such-table": "table does not exist", table.name: "no rules are published"} {
		by := rulestable.Open(table.client.Client, name)
		_, read := by.Override(t.Context(), "api", "tenant:a")
		for _, err := range []error{read, by.SetOverride(t.Context(), "api", "tenant:a", capacity(5)), by.DeleteOverride(t.Context(), "api", "tenant:a", billing)} {
			if err == nil || !strings.Contains(err.Error(), part) || !strings.Contains(err.Error(), name) {
				t.Errorf("error %v, want %s: %s", err, name, part)
			}
		}
	}
}
