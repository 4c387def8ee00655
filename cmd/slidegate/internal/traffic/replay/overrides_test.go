package replay

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/store/memory"
)

// fakeSource has overrides by rule and key, and records the time of each
// lookup.
type fakeSource struct {
	overrides map[string]*rules.Override
	lookups   map[string][]time.Time
}

func (s *fakeSource) Override(_ context.Context, now time.Time, rule, key string) (*rules.Override, error) {
	name := rule + " " + key
	if s.lookups == nil {
		s.lookups = map[string][]time.Time{}
	}
	s.lookups[name] = append(s.lookups[name], now)
	if name == "api broken" {
		return nil, errDown
	}
	return s.overrides[name], nil
}

func capacityOf(n int64) map[string]int64 { return map[string]int64{"": n} }

// Overrides and grants end by the log's clock, but are looked up at one time.
func TestOverridesFollowTheLogsClock(t *testing.T) {
	at := time.Unix(2_000_000_000, 0)
	source := &fakeSource{overrides: map[string]*rules.Override{
		"api raised": {Capacity: capacityOf(2)},
		"api ends":   {Capacity: capacityOf(2), Until: time.Unix(130, 0)},
		"api granted": {Grants: []rules.Grant{
			{Add: 1, From: time.Unix(60, 0), Until: time.Unix(120, 0)}, {Add: 1, From: time.Unix(120, 0), Until: time.Unix(240, 0)},
			{Add: 1, From: time.Unix(180, 0), Until: time.Unix(240, 0)},
		}},
		"api undated": {Grants: []rules.Grant{{Add: 1, Until: time.Unix(120, 0)}}},
		"plan moved":  {Plan: "pro", Until: time.Unix(120, 0)},
	}}
	set, err := rulefile.Parse("rules.yaml", []byte(`
plan: {from: jwt.plan, overrides: "{jwt.sub}"}
plans: {pro: {api: 2}}
rules: [{name: api, key: "{jwt.sub}", overrides: true, limits: [{algorithm: fixed_window, capacity: 1, window: 60s}]}]
`))
	if err != nil {
		t.Fatal(err)
	}
	e := engine.New(engine.Options{
		Rules: engine.Fixed{Set: set}, Overrides: Overrides{Source: source, At: at}, Store: memory.New(0), Local: memory.New(0), Observer: &Failures{},
	})
	keys := []string{"plain", "raised", "ends", "granted", "undated", "moved"}
	var log strings.Builder
	for _, minute := range []string{"0", "60", "120", "180"} {
		for _, key := range keys {
			log.WriteString(strings.Repeat(`{"time":`+minute+`,"path":"/","jwt":{"sub":"`+key+`"}}`+"\n", 5))
		}
	}
	got := map[string][4]int{} // how many of five were allowed in each minute
	decide := deciderFunc(func(now time.Time, req *request.Request) (*engine.Decision, error) {
		d, err := e.Decide(t.Context(), now, req)
		if err == nil && d.Allowed {
			sub := req.Claims["sub"].(string)
			n := got[sub]
			n[now.Unix()/60]++
			got[sub] = n
		}
		return d, err
	})
	if _, err := Run(t.Context(), &logs.Traffic{Logs: []logs.Log{text(log.String())}}, Options{Engine: decide}); err != nil {
		t.Fatal(err)
	}
	want := map[string][4]int{
		"plain": {1, 1, 1, 1}, "raised": {2, 2, 2, 2}, "ends": {2, 2, 2, 1},
		"granted": {1, 2, 2, 3}, "undated": {2, 2, 1, 1}, "moved": {2, 2, 1, 1},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, times := range source.lookups {
		for _, lookup := range times {
			if !lookup.Equal(at) {
				t.Errorf("%s was looked up at %v, want %v", name, lookup, at)
			}
		}
	}
	if n := len(source.overrides["api granted"].Grants); n != 3 {
		t.Errorf("the shared override has %d grants left", n)
	}
}
