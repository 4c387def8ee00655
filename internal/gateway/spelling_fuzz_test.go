package gateway_test

import (
	"bufio"
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/gateway"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/rulefile"
)

// A client can spell a path in many ways, and what answers it may read them in another way than the rules do. These tests
// ask oracles, which know nothing of the rules, where a request is answered. What is answered below /admin must have been
// limited by the rules for it, however it was spelled; what a skip for /health let off must be answered by /health.

// places are where requests are answered, as patterns of net/http, and the rules that must limit them there.
var places = map[string][]string{
	"/":              {"all"},
	"/admin":         {"all", "admin-path", "admin-route"},
	"/admin/":        {"all", "admin-path", "admin-route"},
	"/one/{id}":      {"all", "one"},
	"/one/{id}/deep": {"all", "deep"},
	"/health":        nil,
	"/static":        nil,
	"/static/":       nil,
}

const placesRules = `
skip: [{path: /health}, {route: /static/**}]
rules:
- {name: all, key: all, limits: [{algorithm: fixed_window, capacity: 4000000000, window: 1d}]}
- {name: admin-path, when: {path: /admin/**}, key: all, limits: [{algorithm: fixed_window, capacity: 4000000000, window: 1d}]}
- {name: admin-route, when: {route: /admin/**}, key: all, limits: [{algorithm: fixed_window, capacity: 4000000000, window: 1d}]}
- {name: one, when: {path: /one/*}, key: all, limits: [{algorithm: fixed_window, capacity: 4000000000, window: 1d}]}
- {name: deep, when: {path: /one/*/deep}, key: all, limits: [{algorithm: fixed_window, capacity: 4000000000, window: 1d}]}
`

func placesAuthorizer(t testing.TB) *apigw.Authorizer {
	t.Helper()
	set, err := rulefile.Parse("rules.yaml", []byte(placesRules))
	if err != nil {
		t.Fatal(err)
	}
	e := app.NewEngine(app.Config{Rules: engine.Fixed{Set: set}, Store: memory.New(0), Log: quiet})
	return apigw.NewAuthorizer(e, func() time.Time { return now })
}

func placesGateway(t testing.TB) http.Handler {
	return gateway.New(gateway.Options{Authorizer: placesAuthorizer(t), Log: quiet})
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Errorf(format string, args ...any)
	Context() context.Context
}

// throughGateway sends a request line through the local gateway. Its backend reads the path as one of the oracles does.
func throughGateway(t tester, g http.Handler, method, target string) {
	line := method + " " + target + " HTTP/1.1\r\n"
	if strings.Count(line, "\n") > 1 || method == http.MethodOptions { // preflights are never limited
		return
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + "Host: example.com\r\n\r\n")))
	if err != nil {
		return
	}
	answer := httptest.NewRecorder()
	g.ServeHTTP(answer, r)
	if answer.Code == http.StatusTooManyRequests && len(target) > 300 {
		return // too many ways to read it
	}
	if answer.Code != http.StatusOK {
		t.Errorf("%q: status %d", line, answer.Code)
	}
	limits := strings.Join(answer.Header()[rateLimit], ", ")
	answeredAt(r, func(by, place string) { expectLimits(t, line, limits, by, place) })
}

// rateLimit is the field as the gateway spells it, which is not how net/http would.
var rateLimit = "RateLimit"

// expectLimits looks for the rules of a place in the RateLimit field.
func expectLimits(t tester, request, limits, oracle, place string) {
	for _, rule := range places[place] {
		if !strings.Contains(limits, `"`+rule+`"`) {
			t.Errorf("%q escapes the rule %s: %s answers it by %s", request, rule, oracle, place)
		}
	}
}

var escape = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// throughMiniStack has a path judged as MiniStack has it done: it decodes the path, escapes that are none apart, finds the
// resource by the segments that are not empty, dots among them, and puts the decoded path into the event. What API Gateway
// itself makes of such paths is not documented.
func throughMiniStack(t tester, a *apigw.Authorizer, target string) {
	raw, _, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(raw, "/") {
		return
	}
	decoded := escape.ReplaceAllStringFunc(raw, func(s string) string { text, _ := url.PathUnescape(s); return text })
	decoded = strings.ToValidUTF8(decoded, "\ufffd")
	segments := slices.DeleteFunc(strings.Split(decoded, "/"), func(s string) bool { return s == "" })
	place := placeOf("/" + strings.Join(segments, "/"))
	for _, base := range []string{"", "/base/v1"} { // of a custom domain
		answer, err := a.HandleRequest(t.Context(), placesEvent(base, decoded, place, segments))
		if err != nil {
			t.Errorf("%q: %v", target, err)
		}
		if len(target) > 300 && answer.PolicyDocument.Statement[0].Effect == "Deny" {
			return // too many ways to read it
		}
		limits, _ := answer.Context["rateLimit"].(string)
		expectLimits(t, target, limits, "MiniStack below "+base, place)
	}
}

// placesEvent is that of a REST API with a resource for each of the places. Those that end in a slash are greedy.
func placesEvent(base, decoded, place string, segments []string) apigw.RequestEvent {
	resource, parameters := place, map[string]string{}
	switch before := strings.Count(place, "/") - 1; {
	case strings.Contains(place, "{id}"):
		parameters["id"] = segments[1]
	case strings.HasSuffix(place, "/") && len(segments) > 0:
		resource, parameters["proxy"] = place+"{proxy+}", strings.Join(segments[before:], "/")
	}
	ev := apigw.RequestEvent{
		Type: "REQUEST", MethodArn: "arn:aws:execute-api:local:000000000000:api/prod/GET" + decoded,
		Resource: resource, Path: base + decoded, HTTPMethod: "GET", PathParameters: parameters,
	}
	ev.RequestContext.Stage = "prod"
	return ev
}

// spellings are the tricks of old.
var spellings = []string{
	"/admin", "/admin/", "/admin/x", "/ADMIN/x", "//admin/x", "/./admin/x", "/x/../admin/x", "/admin/../admin/x",
	"/%61dmin/x", "/%2561dmin/x", "/admin%2Fx", "/admin%2fx", "/%2Fadmin/x", "/admin;a=b/x", "/admin/x;a=b", "/admin/x?y=/health",
	"/admin/..", "/admin/../x", "/admin/%2e%2e/x", "/admin/%2E./x", "/admin/.%2e/x", "/admin/%252e%252e/x", "/admin/..%2fx",
	"/admin%2F..%2Fx", "/admin/%2F../x", "/admin//../x", "/admin/x/..//../y", "/admin/%2e%2e/health", "/admin/..%2Fhealth",
	"/admin/%2e%2e/static/x", "/admin/..;/x", "/health;/x/..;/admin/x",
	"/x/../admin//../y", "/x/../one/x//../deep", "/x%2Fy/../admin%2Fx", "/x/../admin/y/%2e%2e/..", "//x/admin", "//x/y/../admin/z",
	"//x/y/%2e%2e/one%2Fz", "/x%2Fy/../static/..%2Fadmin", "/x%2Fy/%2E%2E/static/..;/admin%2Fx", "/x%2Fy/../static%5C..%5Cadmin",
	"/x//..%2Fadmin/y%2F%2F../..", "/x/..//../admin//%2F../..",
	"/static/..;/admin/x", "/static/..%3Ba/admin;b/x", "/static;x%2F../admin;y", "/;/admin;x", "/one;a/x;b/deep;c", "/one/..;/admin", "/health;x",
	"/static/..\\admin\\x", "/static/..%5Cadmin", "/admin\\x", "/admin/\\..\\x", "/admin#/x", "/%23/admin", "/admin/%3F/x", "/admin%20/x",
	"/admin%00/x", "/admin/%00/../x", "/adm\u0131n/x", "/\xff/admin", "/admin/\xff", "/admin/%ff", "/%ff/../admin", "/admin/%", "/%/../admin/%zz",
	"/one/x", "/one/x%2Fy", "/one/%2F", "/one/..", "/one/%2e", "/one/%2e%2e", "/one//", "/one/x/", "/one/x%2F..", "/one//x", "/one/%2F/",
	"/one/x/deep", "/one//deep", "/one/./deep", "/one/%2e/deep", "/one/x%2fy/deep", "/one/%2e%2e/deep", "/one/x/../deep", "/one/..%2fx/deep",
	"/one/x/%2e%2e/deep", "/one/x/deep%2f", "/one/x/deep/..", "/one/x/%64eep/%2e",
	"/health", "/health/", "/Health", "/healt%68", "//health", "/x/../health", "/health%00", "/health%2F..%2Fadmin", "/health/../admin/x",
	"/health/%2e%2e/admin/x", "/health?/admin", "/health;/../admin", "/%68ealth/..%2fadmin", "/health/.", "/health%2f",
	"/static/x", "/static/../admin/x", "/static/%2e%2e/admin/x", "/static/..%2Fadmin", "/static/%252e%252e/admin", "/static/%", "/static/%zz",
	"http://elsewhere/admin/x", "http://elsewhere/health/../admin", "http://elsewhere", "http:admin/x", "*", "admin/x", "/", "//", "/%2F", "/..", "/%2e%2e/admin",
}

func FuzzSpellings(f *testing.F) {
	for _, target := range spellings {
		f.Add("GET", target)
		f.Add("CONNECT", target) // net/http goes another way
	}
	f.Add("CONNECT", "admin:80")
	f.Add("get", "/admin/x")
	f.Add("PROPFIND", "/health")
	g, a := placesGateway(f), placesAuthorizer(f)
	f.Fuzz(func(t *testing.T, method, target string) {
		throughGateway(t, g, method, target)
		throughMiniStack(t, a, target)
	})
}

// TestSpellings makes spellings up of what they are made of.
func TestSpellings(t *testing.T) {
	names := []string{"admin", "one", "x", "deep", "health", "static", "%61dmin", "ADMIN", "dee%70", "x%2Fy", "", ";a", "admin;a", "deep%3Ba"}
	dots := []string{".", "..", "%2e", "%2e%2e", ".%2E", "..%2f", "%2F..", "%252e%252e", "%2F..%2F", "..;", "..%3Ba"}
	slashes := []string{"/", "/", "/", "/", "//", "%2F", "%2f", "/./", "%252F", "\\", "?"}
	segment := rapid.OneOf(rapid.SampledFrom(names), rapid.SampledFrom(names), rapid.SampledFrom(dots))
	step := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom(slashes).Draw(t, "slash") + segment.Draw(t, "segment")
	})
	target := rapid.Custom(func(t *rapid.T) string {
		return "/" + segment.Draw(t, "first") + strings.Join(rapid.SliceOfN(step, 0, 8).Draw(t, "rest"), "")
	})
	g, a := placesGateway(t), placesAuthorizer(t)
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]string{"GET", "GET", "CONNECT", "post"}).Draw(t, "method")
		for _, target := range rapid.SliceOfN(target, 20, 20).Draw(t, "targets") {
			throughGateway(t, g, method, target)
			throughMiniStack(t, a, target)
		}
	})
}
