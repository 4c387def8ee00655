package dynamotest

import (
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// Endpoint is an HTTP server in place of DynamoDB. It answers as a test says,
// and keeps the requests.
type Endpoint struct {
	*httptest.Server
	Requests []*http.Request
	Bodies   []string

	mu     sync.Mutex // an answer that is cut off goes on beside the test
	answer http.HandlerFunc
}

// NewEndpoint starts an endpoint. A nil answer is Succeed.
func NewEndpoint(t testing.TB, answer http.HandlerFunc) *Endpoint {
	e := &Endpoint{answer: answer}
	if answer == nil {
		e.answer = Succeed
	}
	e.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		e.mu.Lock()
		e.Requests, e.Bodies = append(e.Requests, r), append(e.Bodies, string(body))
		answer := e.answer
		e.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(e.Close)
	return e
}

// Set sets the answer to later requests.
func (e *Endpoint) Set(answer http.HandlerFunc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.answer = answer
}

// Count returns the number of requests so far.
func (e *Endpoint) Count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.Requests)
}

// Options returns the options of a client of the endpoint.
func (e *Endpoint) Options() dynamodb.Options {
	return dynamodb.Options{
		BaseEndpoint: &e.URL, Region: "eu-north-1", HTTPClient: awshttp.NewBuildableClient(),
		Credentials: credentials.NewStaticCredentialsProvider("AKIDEXAMPLE", "secret", "token"),
	}
}

// Client returns a client of the endpoint, with changes to its options.
func (e *Endpoint) Client(changes ...func(*dynamodb.Options)) *dynamo.Client {
	return dynamo.NewClient(dynamodb.New(e.Options(), changes...), time.Now)
}

// Succeed answers a write with an item without attributes.
func Succeed(w http.ResponseWriter, _ *http.Request) {
	_, _ = io.WriteString(w, `{"Attributes":{}}`)
}

// Fail returns an answer of a status and a body, such as Error's.
func Fail(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Amzn-Requestid", "request")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// Error returns the body of an error of DynamoDB. fields, which may be empty,
// follow its code: `"message":"no"`.
func Error(code, fields string) string {
	if fields != "" {
		fields = "," + fields
	}
	return `{"__type":"com.amazonaws.dynamodb.v20120810#` + code + `"` + fields + `}`
}

// Drop drops the connection.
func Drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }
