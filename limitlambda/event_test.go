package limitlambda_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
	"github.com/slidegate/slidegate/limitlambda"
	"github.com/slidegate/slidegate/limittest"
)

// TestMalformed: an event without what rules need is an error that names it. The
// handler does not run.
func TestMalformed(t *testing.T) {
	g := newGate(t, `rules: [{name: all, key: "{ip}", limit: 9/minute}]`)
	for name, test := range map[string]struct {
		wrapped               any
		event, from, to, want string
	}{
		"REST, no address":      {limitlambda.Wrap(g, rest), "rest", `"sourceIp"`, `"x"`, "no requestContext.identity.sourceIp"},
		"REST, the console's":   {limitlambda.Wrap(g, rest), "rest", `"sourceIp": "203.0.113.9"`, `"sourceIp": "test-invoke-source-ip"`, "event is a test by API Gateway"},
		"REST, no method":       {limitlambda.Wrap(g, rest), "rest", `"httpMethod"`, `"x"`, "no httpMethod"},
		"REST event of a queue": {limitlambda.Wrap(g, rest), "sqs", ``, ``, "no httpMethod, no path"},
		"HTTP, no path":         {limitlambda.Wrap(g, httpAPI), "http", `"rawPath"`, `"x"`, "no rawPath"},
		"HTTP, another type":    {limitlambda.Wrap(g, httpAPI), "rest", ``, ``, "no requestContext.http.method, no rawPath"},
		"URL, no address":       {limitlambda.Wrap(g, functionURL), "function-url", `"sourceIp"`, `"x"`, "no requestContext.http.sourceIp"},
		"ALB, no address":       {limitlambda.Wrap(g, alb), "alb", `"x-forwarded-for"`, `"x"`, "header x-forwarded-for does not end with an IP address"},
		"ALB, no balancer":      {limitlambda.Wrap(g, alb), "alb", `"targetGroupArn"`, `"x"`, "no requestContext.elb.targetGroupArn"},
		"WebSocket, no route":   {limitlambda.Wrap(g, webSocket), "websocket-message", `"routeKey"`, `"x"`, "no requestContext.routeKey"},
		"WebSocket, no address": {limitlambda.Wrap(g, webSocket), "websocket-message", `"sourceIp"`, `"x"`, "no requestContext.identity.sourceIp"},
	} {
		event := strings.ReplaceAll(string(eventFile(t, test.event)), test.from, test.to)
		if test.from == "" {
			event = string(eventFile(t, test.event))
		}
		if got := invoke(t, test.wrapped, []byte(event)); !strings.HasPrefix(got, "error: limitlambda: event") || !strings.Contains(got, test.want) {
			t.Errorf("%s: %s; want %s", name, got, test.want)
		}
	}
}

// TestUnmetInMessages: a rule that reads a header cannot apply to messages, and is
// refused instead of counting all of them together.
func TestUnmetInMessages(t *testing.T) {
	g := newGate(t, `rules: [{name: user, key: "{header.x-user}", limit: 9/minute}]`)
	if got := invoke(t, limitlambda.Wrap(g, webSocket), eventFile(t, "websocket-message")); !strings.Contains(got, `"statusCode": 503`) {
		t.Errorf("a message gets %s, want 503", got)
	}
	if got := invoke(t, limitlambda.Wrap(g, webSocket), eventFile(t, "websocket-connect")); !strings.Contains(got, `"statusCode": 200`) {
		t.Errorf("the handshake gets %s, want 200", got)
	}
}

// TestSharedHeaders: a handler may return the same map with every answer.
func TestSharedHeaders(t *testing.T) {
	shared, multi := map[string]string{"x-own": "1", "X-OWN": "2"}, map[string][]string{"Slidegate-Cost": {"all=1"}, "Vary": {"Origin", "Accept"}}
	handler := limitlambda.Wrap(newGate(t, `rules: [{name: all, key: all, limit: 9/minute}]`), answering(httpAnswer{StatusCode: 200, Headers: shared, MultiValueHeaders: multi}, nil))
	for _, want := range []string{"8", "7"} {
		got, err := handler(t.Context(), request("GET", "/", nil))
		if err != nil || got.Headers["X-RateLimit-Remaining"] != want || got.Headers["x-own"] != "1" || got.Headers["X-OWN"] != "2" || len(got.MultiValueHeaders) != 1 {
			t.Errorf("got %v %v, %v", got.Headers, got.MultiValueHeaders, err)
		}
	}
	if len(shared) != 2 || len(multi) != 2 {
		t.Errorf("the handler's maps changed: %v %v", shared, multi)
	}
}

// TestOptions: those of the middleware see the event's request.
func TestOptions(t *testing.T) {
	g := newGate(t, `rules: [{name: all, key: "{jwt.sub}", limit: 1/minute}]`)
	handler := limitlambda.Wrap(g, answering(httpAnswer{StatusCode: 200}, nil),
		limithttp.SkipIf(func(r *http.Request) bool { return r.URL.Path == "/a b" && r.Host == "api.example" }),
		limithttp.WithRequest(func(r *http.Request, of *gate.Request) {
			of.Claims = map[string]any{"sub": r.Header.Get("X-User") + r.URL.Query().Get("q") + of.Stage}
		}),
		limithttp.OnDenied(func(w http.ResponseWriter, _ *http.Request, d *gate.Decision) {
			http.Error(w, "no more for "+d.Key, http.StatusServiceUnavailable)
		}))
	health := request("GET", "/a%20b", map[string]string{"host": "api.example"})
	user := request("GET", "/", map[string]string{"x-user": "alice"})
	user.RawQueryString = "q=1"
	for i, test := range []struct {
		event  httpRequest
		status int
		body   string
	}{{user, 200, ""}, {user, 503, "no more for alice1$default\n"}, {health, 200, ""}} {
		got, err := handler(t.Context(), test.event)
		if err != nil || got.StatusCode != test.status || got.Body != test.body {
			t.Errorf("event %d: %d %q, %v", i, got.StatusCode, got.Body, err)
		}
	}
}

// TestWrapLimiter counts by the event's own type, by a header, and by the address.
func TestWrapLimiter(t *testing.T) {
	bySub := func(ev httpRequest) string { return ev.RequestContext.Authorizer.JWT.Claims["sub"] }
	for name, test := range map[string]struct {
		key     func(httpRequest) string
		options []limithttp.Option
		want    string
	}{
		"a claim":          {bySub, nil, "9b2f0d5e"},
		"the address":      {nil, nil, "ip:203.0.113.9"},
		"a header":         {nil, []limithttp.Option{limithttp.ByHeader("X-User")}, "x-user:alice"},
		"the proxy before": {nil, []limithttp.Option{limithttp.ByForwardedIP(1)}, "ip:198.51.100.7"},
	} {
		var seen limittest.Recorder
		lim, err := slidegate.New(slidegate.SlidingWindow(1, time.Minute), slidegate.WithObserver(seen.Observe), slidegate.WithClock(limittest.NewClock(noon).Now))
		if err != nil {
			t.Fatal(err)
		}
		handler := limitlambda.WrapLimiter(lim, test.key, httpAPI, test.options...)
		first, second := invoke(t, handler, eventFile(t, "http")), invoke(t, handler, eventFile(t, "http"))
		if !strings.Contains(first, `"statusCode": 200`) || !strings.Contains(second, `"statusCode": 429`) || seen.Events()[0].Key != test.want {
			t.Errorf("%s: %s, then %s, counted by %s", name, first, second, seen.Events()[0].Key)
		}
	}
}

// TestHealthChecks of a load balancer are not counted. A client cannot send one:
// the balancer adds its address.
func TestHealthChecks(t *testing.T) {
	handler := limitlambda.Wrap(newGate(t, `rules: [{name: all, key: all, limit: 1/minute}]`), alb)
	const check = `{"requestContext": {"elb": {"targetGroupArn": "arn"}}, "httpMethod": "GET", "path": "/", "headers": {"user-agent": "ELB-HealthChecker/2.0"%s}}`
	for i, test := range []struct{ more, want string }{
		{``, `"statusCode": 200`}, {``, `"statusCode": 200`},
		{`, "x-forwarded-for": "203.0.113.9"`, `"statusCode": 200`}, {`, "x-forwarded-for": "203.0.113.9"`, `"statusCode": 429`},
		{``, `"statusCode": 200`},
	} {
		if got := invoke(t, handler, []byte(strings.Replace(check, "%s", test.more, 1))); !strings.Contains(got, test.want) {
			t.Errorf("event %d: %s; want %s", i, got, test.want)
		}
	}
}

// TestGuests: a guest of a Cognito identity pool signs its requests, and can get a
// new identity for each of them.
func TestGuests(t *testing.T) {
	const rules = `rules: [{name: known, when: {caller: known}, key: "{jwt.cognitoIdentityId}", limit: 9/minute}, {name: anonymous, when: {caller: anonymous}, key: "{ip}", limit: 9/minute}]`
	for name, test := range map[string]struct{ event, from, to, want string }{
		"REST, a user":  {"rest-iam", "", "", "known us-east-1%3A3f291106"},
		"REST, a guest": {"rest-iam", `"cognitoAuthenticationType": null`, `"cognitoAuthenticationType": "unauthenticated"`, "anonymous 203.0.113.9"},
		"HTTP, a user":  {"http-iam", "", "", "known us-east-1%3A3f291106"},
		"HTTP, a guest": {"http-iam", `"foo"`, `"unauthenticated"`, "anonymous 203.0.113.9"},
	} {
		var seen limittest.Recorder
		g := newGate(t, rules, slidegate.WithObserver(seen.Observe))
		wrapped := any(limitlambda.Wrap(g, rest))
		if test.event == "http-iam" {
			wrapped = limitlambda.Wrap(g, httpAPI)
		}
		invoke(t, wrapped, []byte(strings.Replace(string(eventFile(t, test.event)), test.from, test.to, 1)))
		if e := seen.Events()[0]; e.Rule+" "+e.Key != test.want {
			t.Errorf("%s: counted by %s %s, want %s", name, e.Rule, e.Key, test.want)
		}
	}
}
