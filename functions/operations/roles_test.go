package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/lambda"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

const chat = `
rules:
  - {name: chat, when: {path: /chat}, key: "{apikey}", limit: {capacity: 9000, window: 1h, cost: {from: header.x-max-tokens, min: 1, max: 4000, settle: true}}}
  - {name: jobs, when: {path: /jobs}, key: "{apikey}", limit: {in_flight: 1, expires: 90s}}
`

// roles are both functions over tables with rules.
type roles struct {
	testing.TB
	all             map[string]lambda.Handler
	counters, rules string
	log             bytes.Buffer
}

func newRoles(t testing.TB, document string) *roles {
	t.Helper()
	client := dynamotest.Connect(t)
	r := &roles{TB: t, all: map[string]lambda.Handler{}, counters: dynamotest.Counters(t, client)}
	r.rules = dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	set, err := rulefile.Parse("rules.yaml", []byte(document))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ruletable.New(client, r.rules).Publish(t.Context(), ruletable.Version{Text: []byte(document), Document: set.Document()}, 0); err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		"SLIDEGATE_COUNTERS": r.counters, "SLIDEGATE_RULES": r.rules, "SLIDEGATE_DEADLINE": "5s", "SLIDEGATE_RECEIPT_SECRET": "0123456789abcdef",
	} {
		t.(interface{ Setenv(string, string) }).Setenv(name, value)
	}
	return r
}

// invoke has a role answer a call, and returns the answer's line. What follows the
// name of the role tells its processes apart.
func (r *roles) invoke(role, payload string) string {
	r.Helper()
	if r.all[role] == nil {
		name, _, _ := strings.Cut(role, " ")
		handler, err := build(r.Context(), name, slog.New(slog.NewTextHandler(&r.log, nil)))
		if err != nil {
			r.Fatal(err)
		}
		r.all[role] = lambda.NewHandler(handler) // as Lambda starts it
	}
	got, err := r.all[role].Invoke(r.Context(), []byte(payload))
	if err != nil {
		r.Fatalf("%s fails for %s: %v", role, payload, err)
	}
	return string(got)
}

// TestRoles: a call gets the status and body that HTTP gives. A denial, bad input
// and a call of the other role are answers, not failures. The construct's policies
// grant what these calls of AWS need, and TransactWriteItems needs UpdateItem.
func TestRoles(t *testing.T) {
	r := newRoles(t, chat)
	var mu sync.Mutex
	seen := map[string]bool{}
	role := ""
	dynamotest.Between(t, func(_ http.ResponseWriter, q *http.Request, body []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		table := "counters"
		if bytes.Contains(body, []byte(r.rules)) {
			table = "rules"
		}
		seen[role+": "+table+": "+callOf(q, body)] = true
		return false
	})
	const ask = `"method": "POST", "path": "/chat", "ip": "203.0.113.1", "apikey": "acme", "headers": {"X-Max-Tokens": "4000"}`
	receipts := map[string]string{}
	for _, step := range []struct{ role, payload, want string }{
		{"decide", `{"decisions": {` + ask + `, "id": "a"}}`, `{"status":200,"body":{"allowed":true,`},
		{"decide", `{"decisions": {` + ask + `, "id": "a"}}`, `"before":true`},
		{"decide elsewhere", `{"decisions": {` + ask + `, "id": "a"}}`, `"before":true`},
		{"decide", `{"usage": {` + ask + `}}`, `"used":4000,`},
		{"settle", `{"settlements": {"receipt": "RECEIPT", "costs": {"chat": 812}}}`, `{"status":200,"body":{"limits":{"chat":{"charged":4000,"cost":812,"returned":3188}}}}`},
		{"settle", `{"settlements": {"receipt": "RECEIPT", "costs": {"chat": 812}}}`, `{"status":200,"body":{"before":true}}`},
		{"settle elsewhere", `{"settlements": {"receipt": "RECEIPT", "costs": {"chat": 812}}}`, `{"status":200,"body":{"before":true}}`},
		{"decide elsewhere", `{"usage": {` + ask + `}}`, `"used":812,`}, // which has not read it yet
		{"decide", `{"decisions": {` + strings.Replace(ask, "/chat", "/jobs", 1) + `}}`, `"allowed":true,`},
		{"settle", `{"renewals": {"receipt": "RECEIPT"}}`, `{"status":200,"body":{"settle_by":"`},
		{"decide", `{"decisions": {` + strings.Replace(ask, "/chat", "/jobs", 1) + `}}`, `{"status":200,"body":{"allowed":false,"reason":"limited"`},
		{"settle", `{"settlements": {"receipt": "RECEIPT"}}`, `"jobs":{"charged":1,"returned":1}`},
		{"settle", `{"settlements": {"receipt": "x"}}`, `{"status":400,"body":{"type":"https://`},
		{"decide", `{"decisions": {"method": "GET"}}`, `"pointer":"/decisions/path"`},
		{"decide", `{"settlements": {"receipt": "RECEIPT"}}`, `the calls are decisions, usage"`},
		{"settle", `{"decisions": {` + ask + `}}`, `the calls are settlements, renewals"`},
		{"settle", `[`, `{"status":400,`},
	} {
		mu.Lock()
		role, _, _ = strings.Cut(step.role, " ")
		mu.Unlock()
		got := r.invoke(step.role, strings.Replace(step.payload, "RECEIPT", receipts["last"], 1))
		if !strings.Contains(got, step.want) {
			t.Errorf("%s answers %s with %s; want %s\n%s", step.role, step.payload, got, step.want, &r.log)
		}
		var answer struct {
			Body struct{ Receipt string }
		}
		if err := json.Unmarshal([]byte(got), &answer); err != nil {
			t.Fatal(err)
		}
		if answer.Body.Receipt != "" {
			receipts["last"] = answer.Body.Receipt
		}
	}
	want := []string{
		"decide: counters: dynamodb:GetItem", "decide: counters: dynamodb:UpdateItem", "decide: rules: dynamodb:GetItem",
		"settle: counters: dynamodb:UpdateItem",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

// TestRolesDeadline: SLIDEGATE_DEADLINE bounds decisions and reports of usage.
func TestRolesDeadline(t *testing.T) {
	r := newRoles(t, chat)
	t.Setenv("SLIDEGATE_DEADLINE", "1ns")
	for call, want := range map[string]string{"decisions": `"degraded":true`, "usage": `{"status":503,`} {
		if got := r.invoke("decide", `{"`+call+`": {"method": "POST", "path": "/chat", "ip": "203.0.113.1", "apikey": "acme"}}`); !strings.Contains(got, want) {
			t.Errorf("%s: %s, want %s", call, got, want)
		}
	}
}

// TestRolesRefuse: a function without what its role needs does not start, and says
// which variable is missing.
func TestRolesRefuse(t *testing.T) {
	for _, test := range []struct{ role, variable, want string }{
		{"decide", "SLIDEGATE_RECEIPT_SECRET", "SLIDEGATE_RECEIPT_SECRET is missing"},
		{"decide", "SLIDEGATE_RULES", "SLIDEGATE_COUNTERS and SLIDEGATE_RULES must name the tables"},
		{"settle", "SLIDEGATE_RECEIPT_SECRET", "SLIDEGATE_RECEIPT_SECRET is missing"},
		{"settle", "SLIDEGATE_COUNTERS", "SLIDEGATE_COUNTERS must name the table"},
	} {
		t.Run(fmt.Sprint(test.role, " without ", test.variable), func(t *testing.T) {
			for _, name := range []string{"SLIDEGATE_COUNTERS", "SLIDEGATE_RULES", "SLIDEGATE_RECEIPT_SECRET"} {
				t.Setenv(name, "0123456789abcdef")
			}
			t.Setenv(test.variable, "")
			if _, err := build(t.Context(), test.role, slog.New(slog.NewTextHandler(io.Discard, nil))); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}
