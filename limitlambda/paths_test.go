package limitlambda_test

import (
	"context"
	"net/url"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/slidegate/slidegate/limitlambda"
)

// TestSamePath: the same request gets the same answer behind every kind of API. REST
// APIs and function URLs state its path as sent, and HTTP APIs decoded.
func TestSamePath(t *testing.T) {
	g := newGate(t, `
deny: [{path: /admin}]
skip: [{path: /health}]
rules: [{name: tags, when: {path: [/tags/**, /health*]}, key: all, limit: 1000/minute}]`)
	rest := limitlambda.Wrap(g, func(context.Context, restRequest) (restAnswer, error) { return restAnswer{StatusCode: 200}, nil })
	api := limitlambda.Wrap(g, answering(httpAnswer{StatusCode: 200}, nil))
	functionURL := limitlambda.Wrap(g, func(context.Context, events.LambdaFunctionURLRequest) (httpAnswer, error) {
		return httpAnswer{StatusCode: 200}, nil
	})
	statusOf := map[string]func(sent, decoded string) (int, string, error){
		"REST":         func(sent, _ string) (int, string, error) { return ofREST(t, rest, "/{proxy+}", sent) },
		"HTTP 1.0":     func(_, decoded string) (int, string, error) { return ofREST(t, rest, "/{proxy+}", decoded) },
		"1.0 $default": func(_, decoded string) (int, string, error) { return ofREST(t, rest, "$default", decoded) },
		"HTTP 2.0": func(_, decoded string) (int, string, error) {
			a, err := api(t.Context(), request("GET", decoded, nil))
			return a.StatusCode, a.Headers["RateLimit"], err
		},
		"function URL": func(sent, _ string) (int, string, error) {
			ev := events.LambdaFunctionURLRequest{RawPath: sent}
			ev.RequestContext.HTTP.Method, ev.RequestContext.HTTP.SourceIP = "GET", "203.0.113.9"
			a, err := functionURL(t.Context(), ev)
			return a.StatusCode, a.Headers["RateLimit"], err
		},
	}
	for sent, want := range map[string]int{
		"/tags/c%23": 200, "/tags/%23": 200, "/tags/%23/b": 200, "/tags/a%20b": 200, "/tags/%C3%A9": 200, "/health%23": 200, // limited, not skipped
		"/admin": 403, "/admin%23": 403, "/ADMIN%23x": 403, "/admin/%23/x": 403, "/x/..%23": 400, "/tags/../admin%23": 400,
		"/tags/100%25": 400, "/tags/a%3Fb": 400, "/tags/a%5Cb": 400, "/tags/a%3Bb": 400,
	} {
		decoded, err := url.PathUnescape(sent)
		if err != nil {
			t.Fatal(err)
		}
		for kind, status := range statusOf {
			got, limits, err := status(sent, decoded)
			if err != nil || got != want || (limits != "") != (want == 200) {
				t.Errorf("%s: %s is answered %d with limits %q, error %v; want %d", kind, sent, got, limits, err, want)
			}
		}
	}
}

type restAnswer = events.APIGatewayProxyResponse

func ofREST(t *testing.T, rest limitlambda.Handler[restRequest, restAnswer], resource, path string) (int, string, error) {
	ev := restRequest{HTTPMethod: "GET", Resource: resource, Path: path, PathParameters: map[string]string{"proxy": strings.TrimPrefix(path, "/")}}
	ev.RequestContext.Identity.SourceIP = "203.0.113.9"
	a, err := rest(t.Context(), ev)
	return a.StatusCode, a.Headers["RateLimit"], err
}
