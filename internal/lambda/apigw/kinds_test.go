package apigw_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/test/fakestore"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// The rules of each kind of event allow one request. The keys of
// their counters show what the rules read of the event.
const (
	perItem = `rules: [{name: item, when: {methods: [GET], route: "/v1/items/{id}", path: /v1/items/*},
  key: "{stage}|{route}|{ip}|{path.id}|{header.x-user}|{query.page}", limits: [{capacity: 1, window: 60s}]}]`
	perUser = `rules: [{name: user, when: {path: /v1/items}, key: "{method}|{stage}|{route}|{ip}|{header.x-user}", limits: [{capacity: 1, window: 60s}]}]`
	cookies = `rules: [{name: cookie, key: "{header.cookie}|{header.accept}|{query.q}", limits: [{capacity: 1, window: 60s}]}]`
	byToken = `rules: [{name: token, when: {methods: [GET], path: /v1/items/*}, key: "{method}|{stage}|{route}|{header.authorization}", limits: [{capacity: 1, window: 60s}]}]`
	connect = `rules: [{name: connect, when: {methods: [GET], route: $connect}, key: "{stage}|{route}|{ip}|{header.x-user}|{query.page}", limits: [{capacity: 1, window: 60s}]}]`
	graphQL = `
client_ip: {trusted_hops: 1}
rules: [{name: graphql, when: {methods: [POST], path: /graphql}, key: "{ip}|{header.x-user}|{header.authorization}", limits: [{capacity: 1, window: 60s}]}]`
	mutation = `
rules: [{name: orders, when: {match: {graphql.fields: createOrder}}, key: "{graphql.type}|{graphql.name}|{graphql.fields}",
  cost: {from: graphql.fields, min: 1, max: 9}, limits: [{capacity: 5, window: 60s}]}]`
)

// kinds are the events of every kind of authorizer, by the names of their files.
var kinds = map[string]struct {
	event, rules string
	policies     bool
}{
	"rest":             {"get", perItem, false},
	"http-2.0":         {"http-2.0", perItem, false},
	"http-2.0-iam":     {"http-2.0", perItem, true},
	"http-2.0-default": {"http-2.0-default", perUser, false},
	"http-2.0-cookies": {"http-2.0", cookies, false},
	"http-1.0":         {"http-1.0", perItem, false},
	"http-1.0-both":    {"http-1.0-both", perItem, false}, // as emulators send it
	"token":            {"token", byToken, false},
	"websocket":        {"websocket", connect, false},
	"appsync":          {"appsync", graphQL, false},
	"appsync-mutation": {"appsync-mutation", mutation, false},
}

func kindAuthorizer(t testing.TB, document string) (*apigw.Authorizer, *fakestore.Store) {
	t.Helper()
	return authorizerBy(parse(t, document))
}

func authorizerBy(set *rules.Set) (*apigw.Authorizer, *fakestore.Store) {
	store := fakestore.New(nil)
	e := app.NewEngine(engine.Options{Rules: engine.Fixed{Set: set}, Store: store})
	return apigw.NewAuthorizer(e, func() time.Time { return now }), store
}

// keysOf returns the keys that a store has charged.
func keysOf(store *fakestore.Store) (keys []string) {
	for _, c := range store.Calls(fakestore.Charge) {
		keys = append(keys, c.Keys...)
	}
	return keys
}

func rawEvent(t testing.TB, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", name+".event.json"))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestKinds sends an event of each kind twice, and compares both answers and the
// keys with a file.
func TestKinds(t *testing.T) {
	for name, test := range kinds {
		t.Run(name, func(t *testing.T) {
			a, store := kindAuthorizer(t, test.rules)
			a.Policies = test.policies
			var got string
			for range 2 {
				answer, err := a.Handle(t.Context(), rawEvent(t, test.event))
				if err != nil {
					t.Fatal(err)
				}
				got += indented(t, answer)
			}
			golden.Check(t, filepath.Join("testdata", "kind-"+name+".golden"), got+strings.Join(keysOf(store), "\n")+"\n")
		})
	}
}

// TestUnmet: rules that read what an event lacks are refused, because they would
// count all clients together or ban none. The error names the rule.
func TestUnmet(t *testing.T) {
	const limits = "limits: [{capacity: 1, window: 60s}]"
	rule := func(fields string) string { return "rules: [{name: r, " + fields + ", " + limits + "}]" }
	for name, test := range map[string]struct{ event, rules, want string }{
		"an address":           {"token", rule(`key: "{ip}"`), "rule r reads {ip}, which the event of a TOKEN authorizer lacks: use an authorizer of type REQUEST"},
		"an override":          {"token", rule(`key: all, overrides: "{ip}"`), "rule r reads {ip}"},
		"a header":             {"token", rule(`key: "{header.x-user}"`), "rule r reads {header.x-user}"},
		"a query":              {"token", rule(`key: "{query.page}"`), "rule r reads {query.page}"},
		"a path parameter":     {"token", rule(`key: "{path.id}"`), "rule r reads {path.id}"},
		"a network":            {"token", rule(`key: all, when: {cidrs: [10.0.0.0/8]}`), "rule r reads cidrs"},
		"an exemption":         {"token", rule(`key: all, unless: {cidrs: [10.0.0.0/8]}`), "rule r reads cidrs"},
		"a cost":               {"token", `rules: [{name: r, key: all, limits: [{capacity: 9, window: 60s, cost: {from: header.x-n, min: 1, max: 5}}]}]`, "rule r reads header.x-n"},
		"a required caller":    {"token", "authentication: {api_key: {from: api_gateway}, required: [{cidrs: [10.0.0.0/8]}]}\nrules: []", "authentication.required[0] reads cidrs"},
		"a ban":                {"token", "deny: [{path: /a}, {cidrs: [10.0.0.0/8]}]\nrules: []", "deny[1] reads cidrs"},
		"a shadow rule":        {"token", rule(`key: "{ip}", mode: shadow`), "rule r reads {ip}"},
		"an API key":           {"token", rule(`key: "{apikey}"`), "rule r reads {apikey}"},
		"a country":            {"token", "client_ip: {header: cloudfront-viewer-address, secret: {header: x-s, env: S}}\ndeny: [{match: {country: DE}}]\nrules: []", "deny[0] reads country"},
		"a rule that is off":   {"token", rule(`key: "{ip}", mode: "off"`), ""},
		"the token":            {"token", rule(`key: "{header.authorization}"`), ""},
		"no proxy":             {"appsync", rule(`key: "{ip}"`), "rule r reads {ip}, which the event of an AppSync authorizer lacks: set client_ip: {trusted_hops: 1}"},
		"a proxy":              {"appsync", "client_ip: {trusted_hops: 1}\n" + rule(`key: "{ip}"`), ""},
		"GraphQL has no query": {"appsync", rule(`key: "{query.page}"`), "rule r reads {query.page}"},
		"a handshake":          {"websocket", rule(`key: "{ip}|{stage}|{header.x-user}|{query.page}"`), ""},
	} {
		a, _ := kindAuthorizer(t, test.rules)
		answer, err := a.Handle(t.Context(), rawEvent(t, test.event))
		if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want) || answer != nil) {
			t.Errorf("%s: answer %v, error %v; want %q", name, answer, err, test.want)
		}
	}
}

// TestOperationElsewhere: only AppSync's events state a GraphQL operation. A rule
// that counts by one is refused for other events, because it would count all
// clients together. One that selects by one covers none of them, as a warning
// says once.
func TestOperationElsewhere(t *testing.T) {
	const limit, others = ", limit: 9/minute}", ", {name: others, key: all, limit: 9/minute}]"
	const selected = "rules: [{name: r, when: {match: {graphql.type: [query, mutation, subscription]}}, "
	for _, test := range []struct{ document, refused, warned string }{
		{"rules: [{name: r, key: '{graphql.name}'" + limit + others, "rule r reads {graphql.name}, which only a request of AppSync has: limit the rule to operations by when: {match: {graphql.type: [", ""},
		{"rules: [{name: r, key: '{header.authorization}|{graphql.type}', unless: {match: {graphql.type: query}}" + limit + others, "rule r reads {graphql.type}", ""},
		{"rules: [{name: r, key: all, overrides: '{graphql.fields}'" + limit + others, "rule r reads {graphql.fields}", ""},
		{"rules: [{name: r, key: all, cost: {from: graphql.fields, min: 1, max: 5}" + limit + others, "rule r reads graphql.fields", ""},
		{"rules: [{name: r, key: '{graphql.name}', mode: shadow" + limit + others, "rule r reads {graphql.name}", ""},
		{"rules: [{name: r, key: '{graphql.name}', mode: 'off'" + limit + others, "", ""},
		{selected + "key: '{graphql.name}', cost: {from: graphql.fields, min: 1, max: 5}" + limit + others, "", "rule r reads {graphql.name}"},
		{selected + "key: all, mode: shadow" + limit + others, "", "rule r reads graphql.type"},
		{"deny: [{match: {graphql.fields: [__schema]}}]\nrules: [{name: others, key: all, limit: 9/minute}]", "", "deny[0] reads graphql.fields"},
		{"skip: [{match: {graphql.fields: ping}}]\nrules: [{name: others, key: all, limit: 9/minute}]", "", "skip[0] reads graphql.fields"},
		{"rules: [{name: others, key: all, limit: 9/minute}]", "", ""},
	} {
		for _, event := range []string{"get", "http-1.0", "http-2.0", "websocket", "token", "appsync"} {
			a, store := kindAuthorizer(t, test.document)
			var log strings.Builder
			a.Log = slog.New(slog.NewTextHandler(&log, nil))
			refused, warned := test.refused, test.warned
			if event == "appsync" {
				refused, warned = "", ""
			}
			for range 2 {
				if _, err := a.Handle(t.Context(), rawEvent(t, event)); (err != nil) != (refused != "") || err != nil && !strings.Contains(err.Error(), refused) {
					t.Errorf("%s, %s: error %v, want %q", event, test.document, err, refused)
				}
			}
			charged := fmt.Sprint(keysOf(store))
			if event != "appsync" && (strings.Contains(charged, "[others|") != (refused == "") || strings.Contains(charged, "r|")) {
				t.Errorf("%s, %s: charged %s", event, test.document, charged)
			}
			if lines := strings.Count(log.String(), "sees GraphQL operations"); !strings.Contains(log.String(), warned) || lines != min(len(warned), 1) {
				t.Errorf("%s, %s: logged %q, want %q once", event, test.document, log.String(), warned)
			}
		}
	}
}

// TestAppSyncConnections: AppSync asks once for a connection of subscriptions,
// which has no query, and names the operation itself. Without X-Forwarded-For,
// client_ip finds no address in its events.
func TestAppSyncConnections(t *testing.T) {
	const connect, fields = `"operationName": "DeepDish:Connect"`, `"X-User": "alice", "x-forwarded-for": "203.0.113.9, 130.176.1.1"`
	for _, test := range []struct{ about, fields, want string }{
		{`"queryString": "", ` + connect + `, "variables": {}`, fields, "[graphql|203.0.113.9|alice|t|"}, {connect, fields, "[graphql|203.0.113.9|alice|t|"},
		{connect, `"X-User": "alice"`, "rule graphql reads {ip}"},
	} {
		a, store := kindAuthorizer(t, graphQL)
		_, err := a.Handle(t.Context(), []byte(`{"authorizationToken": "t", "requestContext": {"apiId": "a", `+test.about+`}, "requestHeaders": {`+test.fields+`}}`))
		if got := fmt.Sprint(keysOf(store), err); !strings.Contains(got, test.want) {
			t.Errorf("%s, %s: %s, want %s", test.about, test.fields, got, test.want)
		}
	}
}

// TestOperations: the authorizer of an AppSync API limits mutations, whatever a
// client calls them, and denies what it cannot read if rules read operations.
func TestOperations(t *testing.T) {
	const document = `rules:
  - {name: orders, when: {match: {graphql.fields: createOrder}}, key: all, cost: {from: graphql.fields, min: 1, max: 9}, limit: 3/minute}
  - {name: others, key: all, limit: 99/minute}`
	a, _ := kindAuthorizer(t, document)
	unlimited, _ := kindAuthorizer(t, "rules: [{name: others, key: all, limit: 99/minute}]")
	for _, tt := range []struct{ query, operation, want string }{
		{"mutation { createOrder { id } }", "", "true orders"},
		{"query Orders { orders { id } }", "", "true others"},
		{"mutation Harmless { ping: createOrder { id } }", "", "true orders"},
		{"mutation { a: createOrder { id } b: createOrder { id } }", "", "false orders"}, // one is left
		{"mutation { ...F } fragment F on Mutation { createOrder { id } }", "", "true orders"},
		{"mutation { createOrder { id } }", "", "false orders"},
		{"query Orders { orders { id } } mutation Save { createOrder { id } }", "Save", "false orders"},
		{"query Orders { orders { id } } mutation Save { createOrder { id } }", "Orders", "true others"},
		{"query Orders { orders { id } } mutation Save { createOrder { id } }", "", "false ambiguous_paths"},
		{"mutation { createOrder", "", "false ambiguous_paths"},
		{"{" + strings.Repeat("orders ", 15_000) + "}", "", "false ambiguous_paths"},
		{"", "DeepDish:Connect", "true others"},
	} {
		event, err := json.Marshal(map[string]any{
			"authorizationToken": "t", "requestContext": map[string]any{"queryString": tt.query, "operationName": tt.operation},
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []*apigw.Authorizer{a, unlimited} {
			var got struct {
				IsAuthorized    bool `json:"isAuthorized"`
				ResolverContext struct {
					Rule string `json:"rule"`
				} `json:"resolverContext"`
			}
			answer, err := a.Handle(t.Context(), event)
			if err == nil {
				err = json.Unmarshal([]byte(indented(t, answer)), &got)
			}
			text := fmt.Sprint(got.IsAuthorized, " ", got.ResolverContext.Rule)
			if err != nil || a == unlimited && text != "true others" || a != unlimited && text != tt.want {
				t.Errorf("%.99s: %s, %v, want %s", tt.query, text, err, tt.want)
			}
		}
	}
}

// TestUnknownKinds: an event of another kind is an error that names what was
// seen, but no value that may be secret.
func TestUnknownKinds(t *testing.T) {
	for name, test := range map[string]struct{ event, want string }{
		"an ALB":          {`{"requestContext": {"elb": {"targetGroupArn": "secret"}}, "httpMethod": "GET", "path": "/"}`, `type "", version "", fields [httpMethod path requestContext]: attach`},
		"a function URL":  {`{"version": "2.0", "routeKey": "$default", "rawPath": "/secret", "isBase64Encoded": false}`, `type "", version "2.0", fields [isBase64Encoded rawPath routeKey version]`},
		"a queue":         {`{"Records": [{"body": "secret"}]}`, "fields [Records]"},
		"a newer version": {`{"type": "REQUEST", "version": "3.0"}`, `type "REQUEST", version "3.0"`},
		"no object":       {`[1]`, "event is no authorizer's"},
		"many fields":     {`{"a1":1,"a2":1,"a3":1,"a4":1,"a5":1,"a6":1,"a7":1,"a8":1,"a9":1,"b1":1,"b2":1,"b3":1,"b4":1,"b5":1,"b6":1,"b7":1,"b8":1,"b9":1,"c1":1,"c2":1,"c3":1}`, "c2 …]"},
		"AppSync Events":  {`{"authorizationToken": "secret", "requestContext": {"apiId": "a", "operation": "EVENT_CONNECT"}}`, "fields [authorizationToken requestContext]"},
	} {
		a, _ := kindAuthorizer(t, "rules: []")
		answer, err := a.Handle(t.Context(), []byte(test.event))
		if err == nil || answer != nil || !strings.Contains(err.Error(), test.want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: answer %v, error %v; want %s", name, answer, err, test.want)
		}
	}
}

// TestSpoiltKinds: an event without a field that rules need is an error that
// names it.
func TestSpoiltKinds(t *testing.T) {
	for name, test := range map[string]struct{ event, from, to, want string }{
		"2.0, no address":              {"http-2.0", `"sourceIp"`, `"x"`, "event has no requestContext.http.sourceIp"},
		"2.0, an address as IP":        {"http-2.0", `"203.0.113.9"`, `"IP"`, `event's requestContext.http.sourceIp "IP" is not an IP address`},
		"REST, the console's test":     {"get", `"203.0.113.9"`, `"test-invoke-source-ip"`, "a test by API Gateway (test-invoke-source-ip), which has no client to count: send a request to the stage"},
		"2.0, no path":                 {"http-2.0", `"rawPath"`, `"x"`, "event has no rawPath"},
		"2.0, headers as a list":       {"http-2.0", `"headers": {`, `"headers": [], "x": {`, "another form"},
		"1.0, no ARN":                  {"http-1.0", `"methodArn"`, `"x"`, "no methodArn"},
		"REST, no address":             {"get", `"sourceIp"`, `"x"`, "event has no requestContext.identity.sourceIp"},
		"REST, an ARN without a stage": {"get", `"arn:aws:`, `"arn:aws:execute-api:eu-central-1:1:abc", "x": "`, "no methodArn"},
		"REST, no method and no path":  {"get", `"httpMethod": "GET"`, `"path": ""`, "event has no httpMethod, no path"},
		"TOKEN, no method":             {"token", `/test/GET/v1/items/42`, `/test`, "event's methodArn names no method"},
		"a message":                    {"websocket", `"routeKey": "$connect"`, `"routeKey": "$default"`, `event is for the route "$default"`},
		"a handshake, no address":      {"websocket", `"sourceIp"`, `"x"`, "event has no requestContext.identity.sourceIp"},
	} {
		event := strings.ReplaceAll(string(rawEvent(t, test.event)), test.from, test.to)
		a, _ := kindAuthorizer(t, "rules: []")
		answer, err := a.Handle(t.Context(), []byte(event))
		if err == nil || answer != nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%s: answer %v, error %v; want %s", name, answer, err, test.want)
		}
	}
}

// FuzzHandle: every event causes an error or an answer of one form, which says
// the same as its context.
func FuzzHandle(f *testing.F) {
	for _, test := range kinds {
		f.Add(rawEvent(f, test.event))
	}
	set := parse(f, `
client_ip: {trusted_hops: 1}
deny: [{path: /banned}]
rules: [{name: r, key: "{method}|{route}|{header.authorization}", limits: [{capacity: 5, window: 60s}]}]`)
	f.Fuzz(func(t *testing.T, data []byte) {
		a, _ := authorizerBy(set)
		answer, err := a.Handle(t.Context(), data)
		if err != nil {
			if answer != nil {
				t.Errorf("answer %v and error %v", answer, err)
			}
			return
		}
		encoded, err := json.Marshal(answer)
		if err != nil {
			t.Fatal(err)
		}
		var read struct {
			IsAuthorized *bool
			Policy       *struct{ Statement []struct{ Effect string } } `json:"policyDocument"`
			Context      map[string]any
			Resolver     map[string]any `json:"resolverContext"`
			TTL          *int           `json:"ttlOverride"`
		}
		if err := json.Unmarshal(encoded, &read); err != nil {
			t.Fatal(err)
		}
		context := read.Context
		if read.Resolver != nil {
			context = read.Resolver
			if read.TTL == nil || *read.TTL != 0 {
				t.Errorf("AppSync may cache %s", encoded)
			}
		}
		checkContext(t, context)
		allowed := context["allowed"] == "true"
		switch {
		case (read.IsAuthorized == nil) == (read.Policy == nil):
			t.Errorf("neither or both forms: %s", encoded)
		case read.IsAuthorized != nil && *read.IsAuthorized != allowed:
			t.Errorf("isAuthorized differs from the context: %s", encoded)
		case read.Policy != nil && (read.Policy.Statement[0].Effect == "Allow") != allowed:
			t.Errorf("the policy differs from the context: %s", encoded)
		}
	})
}
