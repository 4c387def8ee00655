package engine_test

import (
	"context"
	"slices"
	"testing"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
)

// settled has limits that settle and limits that do not, in rules of all modes.
const settled = `
skip: [{path: /health}]
deny: [{path: /banned}]
plan: {from: jwt.plan}
plans: {free: {chat: unlimited}}
rules:
  - name: chat
    when: {path: [/chat, /free]}
    key: "user:{header.x-user}"
    trusted: [header.x-user]
    limits:
      - {name: requests, capacity: 10, window: 60s}
      - {name: tokens, capacity: 4000, window: 60s, cost: {from: header.x-tokens, min: 1, max: 400, settle: true}}
  - {name: export, key: all, when: {path: /export}, cost: {from: header.x-rows, min: 1, max: 40, settle: true}, limits: [{capacity: 100, window: 1h}]}
  - {name: shadow, key: all, mode: shadow, when: {path: /chat}, cost: {from: header.x-rows, min: 1, max: 40, settle: true}, limits: [{capacity: 100, window: 1h}]}
  - {name: resting, key: all, mode: off, when: {path: /chat}, cost: {from: header.x-rows, min: 1, max: 40, settle: true}, limits: [{capacity: 100, window: 1h}]}
  - {name: chatter, key: all, when: {path: /chat}, limits: [{capacity: 100, window: 1h}]}
overrides:
  chat: {"user:7": {limits: [{name: words, capacity: 100, window: 60s, cost: {from: header.x-words, min: 1, max: 9, settle: true}}, {name: requests, capacity: 100, window: 60s}]}}
`

// TestUnknownCosts names costs after every answer: of limits that settle,
// limits that do not, and unknown limits.
func TestUnknownCosts(t *testing.T) {
	known := []string{"chat.tokens", "export", "resting", "shadow"}
	for name, test := range map[string]struct {
		req   request.Request
		costs []string
		want  []string
		known []string
	}{
		"limits that settle":        {requestTo("/chat"), known, nil, known},
		"a misspelled name":         {requestTo("/chat"), []string{"chat.token"}, []string{"chat.token"}, known},
		"several, in order":         {requestTo("/chat"), []string{"z", "a", "chat.tokens"}, []string{"a", "z"}, known},
		"limits that do not settle": {requestTo("/chat"), []string{"chat.requests", "chatter"}, []string{"chat.requests", "chatter"}, known},
		"less or more than a name":  {requestTo("/chat"), []string{"", "chat", "chat.", "export.", "export.hour", "chat.tokens.x"}, []string{"", "chat", "chat.", "chat.tokens.x", "export.", "export.hour"}, known},
		"another route's":           {requestTo("/export"), []string{"chat.tokens"}, nil, known},
		"no rule covers it":         {requestTo("/other"), []string{"chat.tokens", "chat.token"}, []string{"chat.token"}, known},
		"skipped":                   {requestTo("/health"), []string{"chat.tokens", "chat.token"}, []string{"chat.token"}, known},
		"a plan lifts it":           {freed(requestTo("/free")), []string{"chat.tokens", "chat.token"}, []string{"chat.token"}, known},
		"an override's limits":      {of("7"), []string{"chat.words", "chat.tokens"}, nil, []string{"chat.tokens", "chat.words", "export", "resting", "shadow"}},
		"an override's, of another": {of("8"), []string{"chat.words"}, []string{"chat.words"}, known},
		"another letter case":       {requestTo("/chat"), []string{"Chat.tokens"}, []string{"Chat.tokens"}, known},
		"none":                      {requestTo("/chat"), nil, nil, known},
	} {
		t.Run(name, func(t *testing.T) {
			b := newFixture(t, settled)
			d, err := b.engine.Decide(context.Background(), epoch, &test.req)
			if err != nil || !d.Allowed {
				t.Fatalf("decision %+v, error %v", d, err)
			}
			costs := map[string]int64{}
			for _, name := range test.costs {
				costs[name] = 1
			}
			if got := d.UnknownCosts(costs); !slices.Equal(got, test.want) {
				t.Errorf("unknown are %q, want %q", got, test.want)
			}
			if got := d.SettlingLimits(); !slices.Equal(got, test.known) {
				t.Errorf("the limits that settle are %q, want %q", got, test.known)
			}
		})
	}
}

// TestUnknownCostsWithoutRules: a decision that no engine made has no limits that
// settle.
func TestUnknownCostsWithoutRules(t *testing.T) {
	d := &engine.Decision{Allowed: true}
	if got := d.UnknownCosts(map[string]int64{"chat": 1}); !slices.Equal(got, []string{"chat"}) || d.SettlingLimits() != nil {
		t.Errorf("unknown are %q; the limits that settle are %q", got, d.SettlingLimits())
	}
}

func requestTo(path string) request.Request { return request.Request{Method: "POST", Path: path} }

func of(user string) request.Request {
	r := requestTo("/chat")
	r.Headers = map[string][]string{"x-user": {user}}
	return r
}

func freed(r request.Request) request.Request {
	r.Claims = map[string]any{"plan": "free"}
	return r
}
