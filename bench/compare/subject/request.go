package subject

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/decideapi"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/oplog"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
)

// operation returns a subject that needs no limit.
func operation(name string, open func() (measure.Decide, error)) measure.Subject {
	return measure.Subject{Name: name, Open: func(context.Context, measure.Limit) (*measure.Limiter, error) {
		decide, err := open()
		return &measure.Limiter{Decide: decide}, err
	}}
}

var discarded = slog.New(slog.DiscardHandler)

func engineFor(set *rules.Set) *engine.Engine {
	return app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Observer: oplog.NewObserver(discarded)})
}

// Rules decides a request that one of n rules covers, in memory. The bare
// operation is the store's call alone.
func Rules(n int) []measure.Subject {
	return []measure.Subject{
		operation(Bare, func() (measure.Decide, error) {
			set, err := manyRules(n)
			if err != nil {
				return nil, err
			}
			store, rule := memory.New(0), set.Rules[len(set.Rules)-1]
			terms := rule.Terms(visitor(), "pro", nil, time.Now())
			c := &limit.Charge{Key: rule.Item("user:7", terms), Limits: terms.Limits, Costs: terms.Costs}
			var v limit.Verdict
			return func(ctx context.Context, _ string) (bool, error) {
				err := store.Charge(ctx, time.Now(), c, &v)
				return v.Allowed, err
			}, nil
		}),
		operation(Slidegate, func() (measure.Decide, error) {
			set, err := manyRules(n)
			if err != nil {
				return nil, err
			}
			return decideOne(set), nil
		}),
	}
}

// decideOne decides a request that one rule of a set has to cover.
func decideOne(set *rules.Set) measure.Decide {
	e, visit := engineFor(set), visitor()
	return func(ctx context.Context, _ string) (bool, error) {
		req := *visit
		d, err := e.Decide(ctx, time.Now(), &req)
		if err == nil && len(d.Verdicts) != 1 {
			err = fmt.Errorf("%d rules cover the request, want 1", len(d.Verdicts))
		}
		return err == nil && d.Allowed, err
	}
}

func visitor() *request.Request {
	return &request.Request{
		Method: "GET", Path: "/v1/service-777/items/42", IP: netip.MustParseAddr("203.0.113.9"),
		Claims: map[string]any{"sub": "7", "plan": "pro"},
	}
}

// manyRules returns n rules by path, method, caller and plan. The last one
// covers the visitor.
func manyRules(n int) (*rules.Set, error) {
	var text strings.Builder
	text.WriteString("plan: {from: jwt.plan}\nplans:\n  pro:\n")
	for i := range n {
		fmt.Fprintf(&text, "    service-%d: 4000000000\n", 777+(i+1)%n)
	}
	text.WriteString("rules:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {name: service-%d, when: {methods: [GET], path: /v1/service-%[1]d/**, caller: known}, "+
			"key: 'user:{jwt.sub}', limits: [{capacity: 1000000000, window: 60s}]}\n", 777+(i+1)%n)
	}
	return rulefile.Parse("rules.yaml", []byte(text.String()))
}

// Overrides decides a request by a rule of whose keys n have an override. The
// bare operation is the same decision without overrides.
func Overrides(n int) []measure.Subject {
	open := func(n int) func() (measure.Decide, error) {
		return func() (measure.Decide, error) {
			set, err := rulefile.Parse("rules.yaml", []byte(overridden(n)))
			if err != nil {
				return nil, err
			}
			return decideOne(set), nil
		}
	}
	return []measure.Subject{operation(Bare, open(0)), operation(Slidegate, open(n))}
}

func overridden(n int) string {
	var text strings.Builder
	text.WriteString("rules: [{name: api, key: 'user:{jwt.sub}', overrides: true, limits: [{capacity: 1000000000, window: 60s}]}]\n")
	for i := range n {
		if i == 0 {
			text.WriteString("overrides:\n  api:\n")
		}
		fmt.Fprintf(&text, "    'user:%d': {capacity: 4000000000}\n", 7+i)
	}
	return text.String()
}

const twoRules = `rules:
  - {name: per-ip, key: "ip:{ip}", limits: [{capacity: 4000000000, window: 60s}]}
  - {name: per-user, when: {route: /v1/**}, key: "user:{header.x-user}", limits: [{capacity: 4000000000, window: 60s}]}
`

func authorizer() (*apigw.Authorizer, error) {
	set, err := rulefile.Parse("rules.yaml", []byte(twoRules))
	if err != nil {
		return nil, err
	}
	return apigw.NewAuthorizer(engineFor(set), time.Now), nil
}

//go:embed get.event.json
var event []byte

// Handler answers the event of a REST API under two rules, with the memory
// store. The bare operation decodes the event from JSON.
func Handler() []measure.Subject {
	return []measure.Subject{
		operation(Bare, func() (measure.Decide, error) {
			return func(context.Context, string) (bool, error) {
				var e apigw.RequestEvent
				return true, json.Unmarshal(event, &e)
			}, nil
		}),
		operation(Slidegate, func() (measure.Decide, error) {
			a, err := authorizer()
			if err != nil {
				return nil, err
			}
			var e apigw.RequestEvent
			if err := json.Unmarshal(event, &e); err != nil {
				return nil, err
			}
			return func(ctx context.Context, _ string) (bool, error) {
				_, _, err := a.Decide(ctx, e)
				return err == nil, err
			}, nil
		}),
	}
}

// DecideAPI asks for decisions over HTTP on the loopback interface, under two
// rules with the memory store. The bare server reads the same request, and
// answers as many bytes.
func DecideAPI() []measure.Subject {
	return []measure.Subject{
		{Name: Bare, Open: func(ctx context.Context, _ measure.Limit) (*measure.Limiter, error) {
			decides, err := decideHandler()
			if err != nil {
				return nil, err
			}
			server := httptest.NewServer(decides)
			answer, err := post(ctx, server.URL)
			server.Close()
			if err != nil {
				return nil, err
			}
			return served(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				_, _ = io.Copy(io.Discard, r.Body)
				_, _ = io.WriteString(w, answer)
			})), nil
		}},
		{Name: Slidegate, Open: func(context.Context, measure.Limit) (*measure.Limiter, error) {
			decides, err := decideHandler()
			if err != nil {
				return nil, err
			}
			return served(decides), nil
		}},
	}
}

func decideHandler() (http.Handler, error) {
	a, err := authorizer()
	if err != nil {
		return nil, err
	}
	return decideapi.New(a, discarded), nil
}

func served(h http.Handler) *measure.Limiter {
	server := httptest.NewServer(h)
	return &measure.Limiter{Close: server.Close, Decide: func(ctx context.Context, _ string) (bool, error) {
		_, err := post(ctx, server.URL)
		return err == nil, err
	}}
}

func post(ctx context.Context, url string) (answer string, err error) {
	const body = `{"method": "POST", "path": "/v1/items?page=2", "ip": "203.0.113.9", "headers": {"x-user": "7", "accept": "*/*"}}`
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/decisions", strings.NewReader(body))
	if err != nil {
		return "", err
	}
	r.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		return "", err
	}
	text, err := io.ReadAll(response.Body)
	if response.StatusCode != http.StatusOK {
		err = errors.Join(err, errors.New(response.Status))
	}
	return string(text), errors.Join(err, response.Body.Close())
}
