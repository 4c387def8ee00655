package gateway_test

import (
	"bufio"
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"
	"pgregory.net/rapid"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/internal/decide/headers"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// A client can send many variants of a path, and servers may read them
// differently from the rules. These tests compare the rules with oracles:
// models of servers, which say where a request would be answered.
//
// With ambiguous_paths: deny, a path is either denied as ambiguous, or the rules
// of every place that may answer it limit it. Only /health and /static answer
// requests that are skipped. With ambiguous_paths: clean, no request is denied
// as ambiguous, and the rules match two variants of its path. A server that
// reads a third variant may answer without the rules of that place. But no
// variant gains a skip.

// places maps the places that answer requests, as patterns of net/http, to the
// rules that must limit requests there.
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

// The values of ambiguous_paths.
const (
	deny  = "ambiguous_paths: deny"
	clean = "ambiguous_paths: clean"
)

// limited is a gateway and an authorizer with one policy.
type limited struct {
	policy     string
	authorizer *apigw.Authorizer
	gateway    http.Handler
}

func newLimited(t testing.TB, policy string) limited {
	d := newDecider(t, policy+placesRules, atNow, quiet)
	return limited{policy, apigw.NewAuthorizer(d.Engine, atNow), gateway.New(gateway.Options{Decider: d, Log: quiet})}
}

// rulesOf returns the rules that must limit the requests of a place.
func (l *limited) rulesOf(place string) []string {
	if all := places[place]; l.policy == deny || len(all) == 0 {
		return all
	}
	return []string{"all"}
}

// tester is a *testing.T or a *rapid.T.
type tester interface {
	Errorf(format string, args ...any)
	Context() context.Context
}

// throughGateway sends a request line through the local gateway. Its backend
// reads the path as one of the oracles does.
func throughGateway(t tester, l *limited, method, target string) {
	line := method + " " + target + " HTTP/1.1\r\n"
	if strings.Count(line, "\n") > 1 {
		return
	}
	r, err := http.ReadRequest(bufio.NewReader(strings.NewReader(line + "Host: example.com\r\n\r\n")))
	if err != nil {
		return
	}
	r.RemoteAddr = "203.0.113.9:50000"
	answer := httptest.NewRecorder()
	l.gateway.ServeHTTP(answer, r)
	if answer.Code == http.StatusBadRequest && strings.Contains(answer.Body.String(), headers.AmbiguousPath.Type) {
		l.expectAmbiguous(t, target)
		return
	}
	if answer.Code != http.StatusOK {
		t.Errorf("%q: status %d", line, answer.Code)
	}
	limits := answer.Header().Get("RateLimit")
	answeredAt(r, func(server, place string) { l.expectLimits(t, line, limits, server, place) })
}

// expectLimits checks that the RateLimit field names the rules of a place.
func (l *limited) expectLimits(t tester, request, limits, oracle, place string) {
	for _, rule := range l.rulesOf(place) {
		if !strings.Contains(limits, `"`+rule+`"`) {
			t.Errorf("%s: %q escapes rule %s: %s answers it at %s", l.policy, request, rule, oracle, place)
		}
	}
}

// plainPath matches paths that all servers read in the same way.
var plainPath = regexp.MustCompile(`^(/[A-Za-z0-9_~-]+)*/?([?].*)?$`)

func (l *limited) expectAmbiguous(t tester, target string) {
	if l.policy == clean || plainPath.MatchString(target) {
		t.Errorf("%s: %q is denied as ambiguous", l.policy, target)
	}
}

var escape = regexp.MustCompile("%[0-9A-Fa-f]{2}")

// throughMiniStack sends a path through the authorizer as the emulator MiniStack
// does. MiniStack decodes the valid escapes of the path, and puts the result
// into the event. It finds the resource by the segments that are not empty;
// dots are ordinary segments. AWS does not document how API Gateway itself
// reads such paths.
func throughMiniStack(t tester, l *limited, target string) {
	raw, _, _ := strings.Cut(target, "?")
	if !strings.HasPrefix(raw, "/") {
		return
	}
	decoded := escape.ReplaceAllStringFunc(raw, func(s string) string { text, _ := url.PathUnescape(s); return text })
	decoded = strings.ToValidUTF8(decoded, "\ufffd")
	segments := slices.DeleteFunc(strings.Split(decoded, "/"), func(s string) bool { return s == "" })
	place := placeOf("/" + strings.Join(segments, "/"))
	for _, base := range []string{"", "/base/v1"} { // of a custom domain
		event, _ := json.Marshal(placesEvent(base, decoded, place, segments))
		got, err := l.authorizer.Handle(t.Context(), event)
		if err != nil {
			t.Errorf("%q: %v", target, err)
			return
		}
		answer := got.(apigw.Response)
		if answer.Context.ProblemType == headers.AmbiguousPath.Type {
			l.expectAmbiguous(t, target)
			continue
		}
		limits := answer.Context.RateLimit
		l.expectLimits(t, target, limits, "MiniStack below "+base, place)
	}
}

// placesEvent returns the event of a REST API with a resource for each place.
// Places that end in a slash are greedy resources.
func placesEvent(base, decoded, place string, segments []string) events.APIGatewayCustomAuthorizerRequestTypeRequest {
	resource, parameters := place, map[string]string{}
	switch before := strings.Count(place, "/") - 1; {
	case strings.Contains(place, "{id}"):
		parameters["id"] = segments[1]
	case strings.HasSuffix(place, "/") && len(segments) > 0:
		resource, parameters["proxy"] = place+"{proxy+}", strings.Join(segments[before:], "/")
	}
	ev := events.APIGatewayCustomAuthorizerRequestTypeRequest{
		Type: "REQUEST", MethodArn: "arn:aws:execute-api:local:000000000000:api/prod/GET" + decoded,
		Resource: resource, Path: base + decoded, HTTPMethod: "GET", PathParameters: parameters,
	}
	ev.RequestContext.Stage, ev.RequestContext.Identity.SourceIP = "prod", "203.0.113.9"
	return ev
}

// pathVariants are paths that different servers have read in different ways.
var pathVariants = []string{
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

func FuzzPathVariants(f *testing.F) {
	for _, target := range pathVariants {
		f.Add("GET", target)
		f.Add("CONNECT", target) // net/http cleans no path of CONNECT
	}
	f.Add("CONNECT", "admin:80")
	f.Add("get", "/admin/x")
	f.Add("PROPFIND", "/health")
	denying, cleaning := newLimited(f, deny), newLimited(f, clean)
	f.Fuzz(func(t *testing.T, method, target string) {
		for _, l := range []*limited{&denying, &cleaning} {
			throughGateway(t, l, method, target)
			throughMiniStack(t, l, target)
		}
	})
}

// TestPathVariants combines the parts in which variants of paths differ.
func TestPathVariants(t *testing.T) {
	names := []string{"admin", "one", "x", "deep", "health", "static", "%61dmin", "ADMIN", "dee%70", "x%2Fy", "", ";a", "admin;a", "deep%3Ba", "admin%23a", "deep%23"}
	dots := []string{".", "..", "%2e", "%2e%2e", ".%2E", "..%2f", "%2F..", "%252e%252e", "%2F..%2F", "..;", "..%3Ba"}
	slashes := []string{"/", "/", "/", "/", "//", "%2F", "%2f", "/./", "%252F", "\\", "?"}
	segment := rapid.OneOf(rapid.SampledFrom(names), rapid.SampledFrom(names), rapid.SampledFrom(dots))
	step := rapid.Custom(func(t *rapid.T) string {
		return rapid.SampledFrom(slashes).Draw(t, "slash") + segment.Draw(t, "segment")
	})
	target := rapid.Custom(func(t *rapid.T) string {
		return "/" + segment.Draw(t, "first") + strings.Join(rapid.SliceOfN(step, 0, 8).Draw(t, "rest"), "")
	})
	denying, cleaning := newLimited(t, deny), newLimited(t, clean)
	rapid.Check(t, func(t *rapid.T) {
		method := rapid.SampledFrom([]string{"GET", "GET", "CONNECT", "post"}).Draw(t, "method")
		for _, target := range rapid.SliceOfN(target, 20, 20).Draw(t, "targets") {
			for _, l := range []*limited{&denying, &cleaning} {
				throughGateway(t, l, method, target)
				throughMiniStack(t, l, target)
			}
		}
	})
}
