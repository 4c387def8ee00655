package ruletable_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

// TestOverrideCache is a trace of one key: what happens to the table, when it is asked, what it says, how many reads that
// took in all.
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
			{put("{capacity: 5}"), 0, capacityOf(5), nil, 1, 0},
			{put("{capacity: 6}"), 9999 * time.Millisecond, capacityOf(5), nil, 1, 0},
			{always, 10 * time.Second, capacityOf(6), nil, 2, 0},
			{gone, 19 * time.Second, capacityOf(6), nil, 2, 0},
			{always, 20 * time.Second, nil, nil, 3, 0},
		},
		"absence": {
			{always, 0, nil, nil, 1, 0},
			{put("{capacity: 5}"), 9 * time.Second, nil, nil, 1, 0},
			{always, 10 * time.Second, capacityOf(5), nil, 2, 0},
		},
		"the table fails": {
			{put("{capacity: 5}"), 0, capacityOf(5), nil, 1, 0},
			{fail(down), 10 * time.Second, capacityOf(5), nil, 2, 1},
			{always, 19 * time.Second, capacityOf(5), nil, 2, 1}, // it is left alone for ten seconds
			{always, 24 * time.Hour, capacityOf(5), nil, 3, 2},   // however old
			{fail(nil), 24*time.Hour + 9*time.Second, capacityOf(5), nil, 3, 2},
			{put("{capacity: 6}"), 24*time.Hour + 10*time.Second, capacityOf(6), nil, 4, 2},
		},
		"the table fails on an absent one": {
			{always, 0, nil, nil, 1, 0},
			{fail(down), 10 * time.Second, nil, nil, 2, 1},
		},
		"the table fails at first": {
			{fail(down), 0, nil, down, 1, 0},
			{always, 0, nil, down, 2, 0}, // a failed look is not kept
			{fail(nil), 0, nil, nil, 3, 0},
			{put("{capacity: 5}"), 10 * time.Second, capacityOf(5), nil, 4, 0},
		},
		"an invalid document after a valid one": {
			{put("{capacity: 5}"), 0, capacityOf(5), nil, 1, 0},
			{put("{capacity: five}"), 10 * time.Second, capacityOf(5), nil, 2, 1},
			{always, 19 * time.Second, capacityOf(5), nil, 2, 1},
			{put("{capacity: 6}"), 20 * time.Second, capacityOf(6), nil, 3, 1},
		},
		"an invalid document at first": {
			{put("{capacity: five}"), 0, nil, ruletable.ErrUnreadable, 1, 0},
			{always, 9 * time.Second, nil, ruletable.ErrUnreadable, 1, 0}, // and is not read again and again
			{put("{capacity: 6}"), 10 * time.Second, capacityOf(6), nil, 2, 0},
		},
		"an invalid document at first, then a failure": {
			{put("{capacity: five}"), 0, nil, ruletable.ErrUnreadable, 1, 0},
			{fail(down), 10 * time.Second, nil, down, 2, 0},
			{always, 10 * time.Second, nil, down, 3, 0},
			{fail(nil), 10 * time.Second, nil, ruletable.ErrUnreadable, 4, 0},
			{gone, 20 * time.Second, nil, nil, 5, 0},
		},
		"the clock is put back": {
			{put("{capacity: 5}"), 0, capacityOf(5), nil, 1, 0},
			{put("{capacity: 6}"), -9 * time.Second, capacityOf(5), nil, 1, 0}, // as far as requests side by side may differ
			{always, -10 * time.Second, capacityOf(6), nil, 2, 0},
			{put("{capacity: 7}"), -time.Hour, capacityOf(7), nil, 3, 0},
			{put("{capacity: 8}"), -time.Hour + 10*time.Second, capacityOf(8), nil, 4, 0},
		},
		"the clock is put back on an invalid one": {
			{put("{capacity: five}"), 0, nil, ruletable.ErrUnreadable, 1, 0},
			{put("{capacity: 6}"), -time.Hour, capacityOf(6), nil, 2, 0},
		},
	} {
		t.Run(name, func(t *testing.T) {
			api := &shelf{}
			cache, reports := newCache(api, 0)
			told := 0
			for i, s := range trace {
				s.before(api)
				got, err := cache.Override(t.Context(), epoch.Add(s.at), "api", "k")
				told += len(reports.take())
				if !sameOverride(got, s.want) || !errors.Is(err, s.err) || api.read("k") != s.reads || told != s.reports {
					t.Fatalf("step %d: %+v, error %v, %d reads, %d reports; want %+v", i, got, err, api.read("k"), told, s)
				}
			}
		})
	}
}

func TestOverrideCacheErrors(t *testing.T) {
	api := &shelf{}
	cache, reports := newCache(api, 0)
	api.put("tenant:acme", "{capacity: five}")
	_, err := cache.Override(t.Context(), epoch, "api", "tenant:acme")
	if want := `dynamodb://rules override of rule api for key "tenant:acme":1:12: capacity: `; err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "overrides delete") {
		t.Errorf("error %v, want %s and what to do", err, want)
	}
	if _, err := cache.Override(t.Context(), epoch, "api", "a\xff"); err == nil || api.read("a\xff") != 0 {
		t.Errorf("a key that no item can have: error %v", err)
	}
	api.put("k", "{capacity: 5}")
	_, err = cache.Override(t.Context(), epoch, "api", "k")
	must(t, err)
	api.put("k", "{capacity: five}")
	_, err = cache.Override(t.Context(), epoch.Add(time.Minute), "api", "k")
	must(t, err)
	if errs := reports.take(); len(errs) != 1 || !strings.Contains(errs[0].Error(), `"k"`) || !errors.Is(errs[0], ruletable.ErrUnreadable) {
		t.Errorf("reported %v", errs)
	}
}

// TestGrantsReachRequests: the grants of an item are those of the override, with a document and without.
func TestGrantsReachRequests(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	set(t, table, "api", "both", "{capacity: 5}")
	for _, key := range []string{"both", "granted"} {
		must(t, table.Grant(t.Context(), "api", key, grant("hour", 50, 0, 60)))
		must(t, table.Grant(t.Context(), "api", key, grant("", 7, 0, 90)))
	}
	grants := []rules.Grant{
		{Limit: "hour", Add: 50, Until: epoch.Add(time.Minute), From: epoch}, {Add: 7, Until: epoch.Add(90 * time.Second), From: epoch},
	}
	cache := ruletable.NewOverrideCache(table, ruletable.OverrideCacheOptions{Report: func(err error) { t.Error(err) }})
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

// TestOverrideCacheReportsSparingly: while the table fails for a thousand keys, one report in ten seconds stands for all of
// them, and does not hide that items cannot be read.
func TestOverrideCacheReportsSparingly(t *testing.T) {
	api, down := &shelf{}, errors.New("no answer")
	cache, reports := newCache(api, 0)
	ask := func(at time.Duration, broken error) (errs []error) {
		t.Helper()
		for i := range 1000 {
			api.set(broken, nil)
			if i%100 == 99 {
				api.set(nil, nil)
			}
			if _, err := cache.Override(t.Context(), epoch.Add(at), "api", fmt.Sprint("k", i)); err != nil {
				t.Fatal(err)
			}
		}
		return reports.take()
	}
	if errs := ask(0, nil); len(errs) != 0 {
		t.Fatalf("reported %v", errs)
	}
	for i := 99; i < 1000; i += 100 {
		api.put(fmt.Sprint("k", i), "{capacity: five}")
	}
	for round, more := range [][2]string{{"", ""}, {"and 989 more", "and 9 more"}, {"and 989 more", "and 9 more"}} {
		errs := ask(time.Duration(round+1)*10*time.Second, down)
		if len(errs) != 2 || !errors.Is(errs[0], down) || !errors.Is(errs[1], ruletable.ErrUnreadable) {
			t.Fatalf("round %d: %d reports: %v", round, len(errs), errs)
		}
		for i, err := range errs {
			if !strings.Contains(err.Error(), more[i]) || strings.Contains(err.Error(), "more like it") != (round > 0) {
				t.Errorf("round %d: reported %v, want %q", round, err, more[i])
			}
		}
	}
	if errs := ask(39*time.Second, down); len(errs) != 0 {
		t.Errorf("reported %v, but nothing was looked up", errs)
	}
}
