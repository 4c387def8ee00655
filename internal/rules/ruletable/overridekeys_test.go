package ruletable_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// TestOverrideKeys: different keys are different overrides, and come back
// unchanged.
func TestOverrideKeys(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	places := [][2]string{
		{"api", "a"}, {"api", "a#"}, {"api", "#a"}, {"api#a", "a"}, {"api#", "a"}, {"api", "override#api"}, {"set", "current"},
		{"api", "a\n"}, {"api", "a\r\nb"}, {"api", "\x00"}, {"api", " "}, {"api", "a "}, {"api", `a"\`}, {"api", "%23"}, {"api", "tenant:a|user:b"},
		{"api", "é"}, {"api", "e\u0301"}, {"api", "\ufffd"}, // composed, decomposed, and the replacement for a broken byte
		{"api", strings.Repeat("x", 503)}, {"api", strings.Repeat("x", 504)}, {"api", strings.Repeat("x", 505)}, {"api", strings.Repeat("é", 512)},
	}
	for i, at := range places {
		set(t, table, at[0], at[1], fmt.Sprintf(`{"capacity": %d}`, i+1))
	}
	for i, at := range places {
		o := stored(t, table, at[0], at[1])
		if o == nil || o.Rule != at[0] || o.Key != at[1] || o.Document != fmt.Sprintf(`{"capacity": %d}`, i+1) {
			t.Errorf("rule %q key %.20q: %+v", at[0], at[1], o)
		}
	}
	if n := len(collected(t, table.History(t.Context()))); n != len(places) {
		t.Errorf("%d events, want %d", n, len(places))
	}
}

func TestBadOverrides(t *testing.T) {
	table := ruletable.New(empty{}, "rules") // takes no writes
	long := strings.Repeat("x", 1025)
	for _, test := range []struct {
		rule, key, document, want string
	}{
		{"", "k", "{}", "needs a rule and a key"},
		{"api", "", "{}", "needs a rule and a key"},
		{"api", long, "{}", "at most 1024 bytes"},
		{long, "k", "{}", "at most 1024 bytes"},
		{"api", "a\xff", "{}", "escape other bytes as %XX"},
		{"a\xff", "k", "{}", "escape other bytes as %XX"},
		{"api", "k", "", "delete the override instead"},
		{"api", "k", strings.Repeat("x", 33<<10), "32768 bytes"},
	} {
		err := table.SetOverride(t.Context(), ruletable.Override{Rule: test.rule, Key: test.key, Document: test.document})
		if err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%.20q %.20q %.20q: error %v, want %q", test.rule, test.key, test.document, err, test.want)
		}
		if test.document != "{}" {
			continue
		}
		for what, err := range map[string]error{
			"reading": second(table.Override(t.Context(), test.rule, test.key)), "deleting": table.DeleteOverride(t.Context(), test.rule, test.key, note(0, "")),
			"granting": table.Grant(t.Context(), test.rule, test.key, grant("", 1, 0, 60)),
		} {
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%s %.20q %.20q: error %v, want %q", what, test.rule, test.key, err, test.want)
			}
		}
	}
}

// TestTooManyGrants: the size of an item bounds the grants of a key. Ended
// grants do not count.
func TestTooManyGrants(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	wordy := grant("", 1, 0, 60)
	wordy.Why = strings.Repeat("x", 9<<10) // the note of the first grant is the item's too
	must(t, table.Grant(t.Context(), "api", "k", wordy))
	wordy.When = epoch.Add(time.Second)
	must(t, table.Grant(t.Context(), "api", "k", wordy))
	if err := table.Grant(t.Context(), "api", "k", wordy); !errors.Is(err, ruletable.ErrTooLarge) {
		t.Errorf("error %v, want ErrTooLarge", err)
	}
	wordy.When, wordy.Until = epoch.Add(60*time.Second), epoch.Add(90*time.Second)
	must(t, table.Grant(t.Context(), "api", "k", wordy))
}
