package rules

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules/key"
)

// describable has one of everything that can be described.
const describable = `
plan: {from: jwt.plan, overrides: "user:{jwt.sub}"}
plans:
  pro: {api: 600, chat: {requests: 60, tokens: 90000}}
  enterprise: {api: unlimited}
rules:
  - name: api
    key: tenant:{jwt.tenant}|user:{jwt.sub}|{ip}
    overrides: tenant:{jwt.tenant}
    limits: [{capacity: 100, window: 60s, candidate: 80%}]
    refund_on: [5xx, 404]
  - name: chat
    key: user:{jwt.sub}
    overrides: true
    limits:
      - {name: requests, capacity: 10, window: 60s, candidate: 5}
      - {name: tokens, capacity: 4000, window: 60s, cost: {from: header.x-tokens, min: 500, max: 4000, settle: true}}
  - name: export
    key: tenant:{jwt.tenant}
    overrides: region:{jwt.region}
    limits: [{algorithm: fixed_window, capacity: 9, window: 1mo, anchor: {from: jwt.day, default: 3}}]
  - name: plain
    key: all
    limits: [{capacity: 9, window: 60s}]
overrides:
  plan: {"user:7": {plan: pro}}
  api: {"tenant:acme": {capacity: 20000}, "tenant:zeta": {unlimited: true}}
`

func TestDescribe(t *testing.T) {
	s := parse(t, describable)
	type described struct {
		OverrideKeys string
		Overrides    int
		RefundsOn    []string
		Plans        map[string]string // what they make of it
		Candidates   []string
		Costs        []string // where a request states it
		Anchors      []string
	}
	got := map[string]described{}
	for i, r := range s.Rules {
		doc := s.Document().Rules[i]
		d := described{OverrideKeys: s.OverrideKeys(r.Name), Overrides: len(s.Document().Overrides[r.Name]), RefundsOn: doc.RefundOn}
		for _, plan := range s.Plans() {
			if capacity, ok := s.Document().Plans[plan][r.Name]; ok {
				if d.Plans == nil {
					d.Plans = map[string]string{}
				}
				text, _ := capacity.MarshalJSON()
				d.Plans[plan] = string(text)
			}
		}
		for _, c := range r.Candidates {
			d.Candidates = append(d.Candidates, c.String())
		}
		for i := range r.Limits {
			if source := r.Costs[i].Source(); source != "" {
				d.Costs = append(d.Costs, source)
			}
			if anchor := doc.Limits[i].Anchor; anchor != nil && anchor.From != "" {
				d.Anchors = append(d.Anchors, anchor.From)
			}
		}
		got[r.Name] = d
	}
	want := map[string]described{
		"api": {OverrideKeys: "tenant:{jwt.tenant}", Overrides: 2, RefundsOn: []string{"404", "5xx"},
			Plans: map[string]string{"pro": "600", "enterprise": `"unlimited"`}, Candidates: []string{"80%"}},
		"chat": {OverrideKeys: "user:{jwt.sub}", Plans: map[string]string{"pro": `{"requests":60,"tokens":90000}`},
			Candidates: []string{"5", ""}, Costs: []string{"header.x-tokens"}},
		"export": {OverrideKeys: "region:{jwt.region}", Anchors: []string{"jwt.day"}},
		"plain":  {},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := s.Plans(); !slices.Equal(got, []string{"enterprise", "pro"}) || s.Document().Plan.From != "jwt.plan" || s.OverrideKeys(PlanOverrides) != "user:{jwt.sub}" || len(s.Document().Overrides[PlanOverrides]) != 1 {
		t.Errorf("plans %q by %q, overrides by %q", got, s.Document().Plan.From, s.OverrideKeys(PlanOverrides))
	}
	if none := parse(t, "rules: []"); none.Document().Plan != nil || none.OverrideKeys(PlanOverrides) != "" || len(none.Plans()) > 0 {
		t.Error("a document without plans has some")
	}
	if stated := s.Rules[1].Costs[1]; stated.Min != 500 || stated.Max != 4000 {
		t.Errorf("a cost is stated from %d to %d", stated.Min, stated.Max)
	}
}

func TestWhyPlan(t *testing.T) {
	s := parse(t, describable)
	for claims, want := range map[string]string{
		`{"plan": "pro"}`: "jwt.plan is pro", `{"plan": "gold"}`: "jwt.plan is gold, which is no plan", `{}`: "jwt.plan is missing",
		`{"plan": ["pro"]}`: `jwt.plan is ["pro"], which is no plan`, `{"plan": ""}`: `jwt.plan is "", which is no plan`,
	} {
		if got := s.WhyPlan(&request.Request{Claims: claimsOf(t, claims)}); got != want {
			t.Errorf("%s: %q, want %q", claims, got, want)
		}
	}
	if got := parse(t, "rules: []").WhyPlan(&request.Request{}); got != "" {
		t.Errorf("without plans: %q", got)
	}
}

// An operator's override takes precedence over the document's. Of one that has
// ended, the grants remain.
func TestOverlay(t *testing.T) {
	s := parse(t, describable)
	now := time.Unix(1_800_000_000, 0)
	grants := []Grant{{Add: 5, Until: now.Add(time.Hour)}}
	ended := &Override{Deny: true, Until: now, Grants: grants}
	claimSet := &Override{Capacity: map[string]int64{"": 7}, Grants: grants}
	for _, tt := range []struct {
		name, key string
		claimSet  *Override
		want      int64 // the capacity that decides; 0 for none
		grants    int
	}{
		{"nobody", "tenant:new", nil, 0, 0},
		{"the document", "tenant:acme", nil, 20000, 0},
		{"an operator", "tenant:new", claimSet, 7, 1},
		{"an operator before the document", "tenant:acme", claimSet, 7, 1},
		{"an operator's word that has ended", "tenant:acme", ended, 20000, 1},
		{"an operator's word that has ended, and no other", "tenant:new", ended, 0, 1},
		{"grants alone, over the document", "tenant:acme", &Override{Grants: grants}, 20000, 1},
	} {
		o := s.Overlay("api", tt.key, tt.claimSet, now)
		got, granted := int64(0), 0
		if o != nil {
			got, granted = o.Capacity[""], len(o.Grants)
		}
		if got != tt.want || granted != tt.grants {
			t.Errorf("%s: capacity %d and %d grants, want %d and %d", tt.name, got, granted, tt.want, tt.grants)
		}
	}
	if written := s.Override("api", "tenant:acme"); len(written.Grants) > 0 {
		t.Error("the document's own override has changed")
	}
}

// The key of an override follows from the key of a counter, for all kinds of
// requests.
func TestResolveKeysOfOverrides(t *testing.T) {
	s := parse(t, describable)
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{"", "-", "a|b", "user:7", strings.Repeat("x", 600)}))
		req := request.Request{
			Claims: map[string]any{"tenant": text.Draw(t, "tenant"), "sub": text.Draw(t, "sub"), "region": "eu"},
			IP:     netip.MustParseAddr(rapid.SampledFrom([]string{"203.0.113.9", "2001:db8::1"}).Draw(t, "ip")),
		}
		for _, r := range s.Rules {
			made := string(r.AppendKey(nil, &req))
			keys, err := s.ResolveKeys(r, made, &request.Request{})
			if keys.Counter != made || !keys.Exact || err != nil {
				t.Errorf("rule %s: key %q is read as %+v, %v", r.Name, made, keys, err)
			}
			want, has := r.AppendOverrideKey(nil, &req)
			if readable := has && r.Name != "export" && (r.Name == "chat" || len(made) < key.MaxLen); (keys.Override.Key != "") != readable {
				t.Errorf("rule %s: out of %q came the key of overrides %q: want one %t", r.Name, made, keys.Override.Key, readable)
			}
			if (len(keys.Override.Missing) > 0) != (has && keys.Override.Key == "") {
				t.Errorf("rule %s: out of %q came %q, and missing are %q", r.Name, made, keys.Override.Key, keys.Override.Missing)
			}
			if known, err := s.ResolveKeys(r, made, &req); err != nil || known.Override.Key != string(want) || known.Override.Missing != nil {
				t.Errorf("rule %s: out of %q and the request came %+v, %v; want %q", r.Name, made, known, err, want)
			}
			if keys.Override.Key != "" && keys.Override.Key != string(want) {
				t.Errorf("rule %s: out of %q came %q, want %q", r.Name, made, keys.Override.Key, want)
			}
		}
	})
}

// The key of a plan's override is found if its values are known, and is empty if not.
func TestResolveKeysOfPlans(t *testing.T) {
	s := parse(t, describable)
	for _, tt := range []struct{ rule, key, claims, want string }{
		{"chat", "user:7", "{}", "user:7"},
		{"api", "tenant:a|user:b%7Cc|203.0.113.9", "{}", "user:b%7Cc"},
		{"plain", "all", `{"sub": "8"}`, "user:8"},
		{"plain", "all", "{}", ""},
		{"export", "tenant:a", `{"tenant": "a"}`, ""},
	} {
		r, _ := s.Rule(tt.rule)
		keys, err := s.ResolveKeys(r, tt.key, &request.Request{Claims: claimsOf(t, tt.claims)})
		if err != nil || keys.Plan.Key != tt.want || (tt.want == "") != slices.Equal(keys.Plan.Missing, []string{"jwt.sub"}) {
			t.Errorf("%s of %s: %+v, %v; want %q", tt.key, tt.rule, keys.Plan, err, tt.want)
		}
	}
	r := parse(t, "rules: [{name: r, key: all, limits: [{capacity: 1, window: 1s}]}]")
	if keys, err := r.ResolveKeys(r.Rules[0], "all", &request.Request{}); err != nil || keys.Plan.Key != "" || keys.Plan.Missing != nil {
		t.Errorf("without overrides of plans: %+v, %v", keys, err)
	}
}

func TestResolveKeys(t *testing.T) {
	s := parse(t, describable)
	for _, tt := range []struct{ rule, typed, want, problem string }{
		{"chat", "user:7", "user:7", ""},
		{"chat", "user:auth0|7", "user:auth0%7C7", ""},
		{"chat", "user:auth0%7C7", "user:auth0%7C7", ""},
		{"chat", "user:-", "user:-", ""},
		{"api", "tenant:a|user:7|2001:db8::1", "tenant:a|user:7|2001%3Adb8%3A%3A/64", ""},
		{"plain", "all", "all", ""},
		{"chat", "tenant:7", "", `"tenant:7" is no key of rule chat, whose keys look like user:{jwt.sub}: "user:" is missing`},
		{"api", "tenant:a|user:7|here", "", `"tenant:a|user:7|here" is no key of rule api, whose keys look like tenant:{jwt.tenant}|user:{jwt.sub}|{ip}: {ip} is an address`},
	} {
		r, _ := s.Rule(tt.rule)
		keys, err := s.ResolveKeys(r, tt.typed, &request.Request{})
		if keys.Counter != tt.want || err == nil && keys.Exact != (tt.typed == tt.want) || (err == nil) != (tt.problem == "") || err != nil && !strings.HasPrefix(err.Error(), tt.problem) {
			t.Errorf("%s of rule %s: %+v, %v; want %q, %q", tt.typed, tt.rule, keys, err, tt.want, tt.problem)
		}
	}
}
