package examples_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
)

// TestLambda starts the function as Lambda does, twice, before one table: a local
// Lambda Runtime API gives both instances events in turn.
func TestLambda(t *testing.T) {
	binary, counters := build(t, "lambda"), dynamotest.Counters(t, dynamotest.Connect(t))
	one, two := startLambda(t, binary, counters), startLambda(t, binary, counters)
	for i, test := range []struct {
		instance *servers.Lambda
		user     string
		want     string
	}{
		{one, "7", `200 "per-user";r=2 hello`}, {two, "7", `200 "per-user";r=1 hello`}, {one, "7", `200 "per-user";r=0 hello`},
		{two, "7", `429 "per-user";r=0 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`},
		{one, "7", `429 "per-user";r=0 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`},
		{two, "8", `200 "per-user";r=2 hello`},
	} {
		if got := send(t, test.instance, test.user); !strings.HasPrefix(got, test.want) {
			t.Errorf("event %d: %s, want %s", i, got, test.want)
		}
	}
}

func startLambda(t *testing.T, binary, counters string) *servers.Lambda {
	t.Helper()
	command := exec.Command(binary)
	command.Env, command.Stderr = append(os.Environ(), "COUNTERS="+counters), os.Stderr
	function, err := servers.StartLambda(command)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(function.Stop)
	return function
}

// send sends a user's request, and returns the status, the RateLimit field without
// its time, and the body of the answer.
func send(t *testing.T, function *servers.Lambda, user string) string {
	t.Helper()
	event := fmt.Sprintf(`{"version": "2.0", "routeKey": "GET /", "rawPath": "/", "requestContext": {"stage": "$default",
		"authorizer": {"jwt": {"claims": {"sub": %q}}}, "http": {"method": "GET", "path": "/", "sourceIp": "203.0.113.9"}}}`, user)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	text, err := function.Invoke(ctx, []byte(event))
	if err != nil {
		t.Fatal(err)
	}
	var answer struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal(text, &answer); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	left, _, _ := strings.Cut(answer.Headers["RateLimit"], ";t=")
	return fmt.Sprint(answer.StatusCode, " ", left, " ", answer.Body)
}
