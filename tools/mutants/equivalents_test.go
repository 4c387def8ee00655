package main

import (
	"strings"
	"testing"
)

func TestParseEquivalents(t *testing.T) {
	got, err := parseEquivalents("list", `# a comment

internal/limit Slots.take
- if cost != 0 {
+ if (cost != 0) || true {
a charge of nothing
	adds nothing

internal/limit decide
- case a:
	- return b
because
`)
	if err != nil {
		t.Fatal(err)
	}
	want := []equivalent{
		{pkg: "internal/limit", function: "Slots.take", change: change{"if cost != 0 {", "if (cost != 0) || true {"},
			reason: "a charge of nothing\nadds nothing", place: "list:3"},
		{pkg: "internal/limit", function: "decide", change: change{"case a:\nreturn b", ""}, reason: "because", place: "list:9"},
	}
	if len(got) != len(want) {
		t.Fatalf("%d entries, want %d: %+v", len(got), len(want), got)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("entry %d is %+v, want %+v", i, got[i], want[i])
		}
	}
}

func TestParseEquivalentsRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"no function": "internal/limit\n- a\n+ b\nbecause",
		"no original": "internal/limit f\n+ b\nbecause",
		"no reason":   "internal/limit f\n- a\n+ b",
	} {
		if _, err := parseEquivalents("list", text); err == nil || !strings.HasPrefix(err.Error(), "list:1: ") {
			t.Errorf("%s: the error is %v", name, err)
		}
	}
}

// TestListOfEquivalents shows how an entry counts, by what became of its
// mutant.
func TestListOfEquivalents(t *testing.T) {
	m := mutant{Function: "f", change: change{"a", "b"}}
	for _, c := range []struct {
		outcome                     outcome
		equivalent, survived, stale int
	}{
		{survived, 1, 0, 0},
		{unreached, 1, 0, 0},
		{notRun, 0, 0, 0},
		{killed, 0, 0, 1},
		{timedOut, 0, 0, 1},
		{uncompiled, 0, 0, 1},
	} {
		listed := []equivalent{{pkg: "p", function: "f", change: m.change}, {pkg: "other", function: "f", change: m.change}}
		var r report
		r.add("p", []result{{m, c.outcome}}, listed)
		if s := r.Packages[0]; s.Equivalent != c.equivalent || s.Survived != c.survived || len(r.Stale) != c.stale {
			t.Errorf("%s: %+v, stale %q", c.outcome, s, r.Stale)
		}
	}
	for name, other := range map[string]mutant{
		"another function": {Function: "g", change: m.change},
		"another original": {Function: "f", change: change{"x", "b"}},
		"another mutant":   {Function: "f", change: change{"a", "x"}},
	} {
		var r report
		r.add("p", []result{{other, survived}}, []equivalent{{pkg: "p", function: "f", change: m.change}})
		if s := r.Packages[0]; s.Survived != 1 || len(r.Stale) != 1 {
			t.Errorf("%s: %+v, stale %q", name, s, r.Stale)
		}
	}
}
