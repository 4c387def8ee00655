package examples_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/dynamotest"
)

// TestLambda starts the function as Lambda does, twice, before one table: a local
// Lambda Runtime API gives both instances events in turn.
func TestLambda(t *testing.T) {
	binary, counters := build(t, "lambda"), dynamotest.Counters(t, dynamotest.Connect(t))
	one, two := startLambda(t, binary, counters), startLambda(t, binary, counters)
	for i, test := range []struct {
		instance *instance
		user     string
		want     string
	}{
		{one, "7", `200 "per-user";r=2 hello`}, {two, "7", `200 "per-user";r=1 hello`}, {one, "7", `200 "per-user";r=0 hello`},
		{two, "7", `429 "per-user";r=0 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`},
		{one, "7", `429 "per-user";r=0 {"type":"https://iana.org/assignments/http-problem-types#quota-exceeded"`},
		{two, "8", `200 "per-user";r=2 hello`},
	} {
		if got := test.instance.send(t, test.user); !strings.HasPrefix(got, test.want) {
			t.Errorf("event %d: %s, want %s", i, got, test.want)
		}
	}
}

// instance is a running function, and its part of the Lambda Runtime API.
type instance struct {
	events, answers chan string
}

func startLambda(t *testing.T, binary, counters string) *instance {
	t.Helper()
	i := &instance{make(chan string), make(chan string)}
	runtime := httptest.NewServer(i)
	function := exec.Command(binary)
	function.Env = append(os.Environ(), "COUNTERS="+counters, "AWS_LAMBDA_RUNTIME_API="+strings.TrimPrefix(runtime.URL, "http://"))
	function.Stderr = os.Stderr
	if err := function.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = function.Process.Kill()
		_ = function.Wait()
		runtime.CloseClientConnections()
		runtime.Close()
	})
	return i
}

// ServeHTTP follows "Using the Lambda runtime API for custom runtimes".
func (i *instance) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost { // .../response or .../error
		body, _ := io.ReadAll(r.Body)
		i.answers <- string(body)
		w.WriteHeader(http.StatusAccepted)
		return
	}
	select {
	case event := <-i.events:
		w.Header().Set("Lambda-Runtime-Aws-Request-Id", "8476a536-e9f4-11e8-9739-2dfe598c3fcd")
		w.Header().Set("Lambda-Runtime-Deadline-Ms", fmt.Sprint(time.Now().Add(10*time.Second).UnixMilli()))
		w.Header().Set("Lambda-Runtime-Invoked-Function-Arn", "arn:aws:lambda:us-east-1:123456789012:function:hello")
		_, _ = io.WriteString(w, event)
	case <-r.Context().Done():
	}
}

// send sends a user's request, and returns the status, the RateLimit field without
// its time, and the body of the answer.
func (i *instance) send(t *testing.T, user string) string {
	t.Helper()
	event := fmt.Sprintf(`{"version": "2.0", "routeKey": "GET /", "rawPath": "/", "requestContext": {"stage": "$default",
		"authorizer": {"jwt": {"claims": {"sub": %q}}}, "http": {"method": "GET", "path": "/", "sourceIp": "203.0.113.9"}}}`, user)
	limit := time.After(time.Minute)
	var text string
	select {
	case i.events <- event:
	case <-limit:
		t.Fatal("the function asks for no event")
	}
	select {
	case text = <-i.answers:
	case <-limit:
		t.Fatal("the function does not answer")
	}
	var answer struct {
		StatusCode int
		Headers    map[string]string
		Body       string
	}
	if err := json.Unmarshal([]byte(text), &answer); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	left, _, _ := strings.Cut(answer.Headers["RateLimit"], ";t=")
	return fmt.Sprint(answer.StatusCode, " ", left, " ", answer.Body)
}
