package ruletable_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// TestOverrideCache is a trace of one key: what happens to the table, the time
// of the request, its answer, the reads so far and the reports so far. The
// tests of package cache have more of them.
func TestOverrideCache(t *testing.T) {
	down := errors.New("no answer")
	always := func(*shelf) {}
	put := func(document string) func(*shelf) { return func(s *shelf) { s.put("k", document) } }
	fail := func(err error) func(*shelf) { return func(s *shelf) { s.set(err, nil) } }
	gone := func(s *shelf) { s.remove("k") }
	type step struct {
		before  func(*shelf)
		at      time.Duration
		want    *rules.Override
		err     error
		reads   int
		reports int
	}
	for name, trace := range map[string][]step{
		"a document": {
			{put(`{"capacity": 5}`), 0, capacityOf(5), nil, 1, 0},
			{put(`{"capacity": 6}`), 9999 * time.Millisecond, capacityOf(5), nil, 1, 0},
			{always, 10 * time.Second, capacityOf(6), nil, 2, 0},
			{gone, 19 * time.Second, capacityOf(6), nil, 2, 0},
			{always, 20 * time.Second, nil, nil, 3, 0},
		},
		"absence": {
			{always, 0, nil, nil, 1, 0},
			{put(`{"capacity": 5}`), 9 * time.Second, nil, nil, 1, 0},
			{always, 10 * time.Second, capacityOf(5), nil, 2, 0},
		},
		"the table fails": {
			{put(`{"capacity": 5}`), 0, capacityOf(5), nil, 1, 0},
			{fail(down), 10 * time.Second, capacityOf(5), nil, 2, 1},
			{fail(nil), 20 * time.Second, capacityOf(5), nil, 3, 1},
		},
		"an invalid document after a valid one": {
			{put(`{"capacity": 5}`), 0, capacityOf(5), nil, 1, 0},
			{put(`{"capacity": "five"}`), 10 * time.Second, capacityOf(5), nil, 2, 1},
			{always, 19 * time.Second, capacityOf(5), nil, 2, 1},
			{put(`{"capacity": 6}`), 20 * time.Second, capacityOf(6), nil, 3, 1},
		},
		"an invalid document at first": {
			{put(`{"capacity": "five"}`), 0, nil, ruletable.ErrUnreadable, 1, 0},
			{always, 9 * time.Second, nil, ruletable.ErrUnreadable, 1, 0}, // the cache keeps the answer
			{put(`{"capacity": 6}`), 10 * time.Second, capacityOf(6), nil, 2, 0},
		},
		"an invalid document at first, then a failure": {
			{put(`{"capacity": "five"}`), 0, nil, ruletable.ErrUnreadable, 1, 0},
			{fail(down), 10 * time.Second, nil, down, 2, 0},
			{always, 10 * time.Second, nil, down, 3, 0},
			{fail(nil), 10 * time.Second, nil, ruletable.ErrUnreadable, 4, 0},
			{gone, 20 * time.Second, nil, nil, 5, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := &shelf{}
			cache, reports := newCache(api, ruletable.DefaultMaxOverrides)
			reported := 0
			for i, s := range trace {
				s.before(api)
				got, err := cache.Override(t.Context(), epoch.Add(s.at), "api", "k")
				reported += len(reports.take())
				if !sameOverride(got, s.want) || !errors.Is(err, s.err) || api.read("k") != s.reads || reported != s.reports {
					t.Fatalf("step %d: %+v, error %v, %d reads, %d reports; want %+v", i, got, err, api.read("k"), reported, s)
				}
			}
		})
	}
}

func TestOverrideCacheErrors(t *testing.T) {
	api := &shelf{}
	cache, reports := newCache(api, ruletable.DefaultMaxOverrides)
	api.put("tenant:acme", `{"capacity": -5}`)
	_, err := cache.Override(t.Context(), epoch, "api", "tenant:acme")
	if want := `dynamodb://rules override of rule api for key "tenant:acme": capacity: `; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "overrides delete") {
		t.Errorf("error %v, want %s and what to do", err, want)
	}
	if _, err := cache.Override(t.Context(), epoch, "api", "a\xff"); err == nil || api.read("a\xff") != 0 {
		t.Errorf("a key that no item can have: error %v", err)
	}
	api.put("k", `{"capacity": 5}`)
	_, err = cache.Override(t.Context(), epoch, "api", "k")
	must(t, err)
	api.put("k", `{"capacity": "five"}`)
	_, err = cache.Override(t.Context(), epoch.Add(time.Minute), "api", "k")
	must(t, err)
	if errs := reports.take(); len(errs) != 1 || !strings.Contains(errs[0].Error(), `"k"`) || !errors.Is(errs[0], ruletable.ErrUnreadable) {
		t.Errorf("reported %v", errs)
	}
}

// TestGrantsReachRequests: an override has the grants of its item, with a
// document and without.
func TestGrantsReachRequests(t *testing.T) {
	table := opened(t)
	set(t, table, "api", "both", `{"capacity": 5}`)
	for _, key := range []string{"both", "granted"} {
		must(t, table.Grant(t.Context(), "api", key, grant("hour", 50, 0, 60)))
		must(t, table.Grant(t.Context(), "api", key, grant("", 7, 0, 90)))
	}
	grants := []rules.Grant{
		{Limit: "hour", Add: 50, Until: epoch.Add(time.Minute), From: epoch}, {Add: 7, Until: epoch.Add(90 * time.Second), From: epoch},
	}
	cache := ruletable.NewOverrideCache(table, ruletable.DefaultMaxOverrides, func(err error) { t.Error(err) })
	for key, want := range map[string]*rules.Override{
		"both": {Capacity: map[string]int64{"": 5}, Grants: grants}, "granted": {Grants: grants}, "none": nil,
	} {
		got, err := cache.Override(t.Context(), epoch, "api", key)
		if err != nil || !sameOverride(got, want) {
			t.Errorf("%s: %+v, error %v; want %+v", key, got, err, want)
		}
	}
	if got, err := cache.Override(t.Context(), epoch, "other", "both"); got != nil || err != nil {
		t.Errorf("another rule has %+v, error %v", got, err)
	}
}

// TestFlood looks up made-up keys between the keys of known callers. The cache
// keeps its bound, each made-up key costs one read, and known keys cost few.
func TestFlood(t *testing.T) {
	const size, known, made, times = 500, 50, 20_000, 400
	api := &shelf{}
	cache, _ := newCache(api, size)
	lookUp := func(key string) {
		if _, err := cache.Override(t.Context(), epoch, "api", key); err != nil {
			t.Fatal(err)
		}
	}
	for i := range known * times {
		lookUp(fmt.Sprint("known:", i%known))
		lookUp(fmt.Sprint("made:", i%made))
	}
	reads := 0
	for i := range known {
		reads += api.read(fmt.Sprint("known:", i))
	}
	if n := api.readInAll() - reads; n != made {
		t.Errorf("%d reads for %d made-up keys", n, made)
	}
	if reads > known*times/20 { // eviction is partly random; by age alone it would evict all of them
		t.Errorf("%d reads for %d known keys, each looked up %d times", reads, known, times)
	}
	if n := cache.Len(); n > size {
		t.Errorf("%d entries, want %d at most", n, size)
	}
}

// TestOverrideKeys: different keys are different overrides, and come back
// unchanged.
func TestOverrideKeys(t *testing.T) {
	table := opened(t)
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
	table := opened(t)
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
