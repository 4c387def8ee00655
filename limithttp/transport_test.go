package limithttp_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/limithttp"
)

var errDown = errors.New("connection refused")

// newLimiter returns a limiter by the machine's time.
func newLimiter(t testing.TB, options ...slidegate.Option) *slidegate.Limiter {
	t.Helper()
	lim, err := slidegate.New(options...)
	if err != nil {
		t.Fatal(err)
	}
	return lim
}

// otherSide answers the requests of a Transport, the last answer for ever, and
// notes when each came and what it carried.
type otherSide struct {
	answers []answer

	mu     sync.Mutex
	start  time.Time
	came   []string
	bodies []*body
}

// answer is a status with a Retry-After, if any, or with other fields, such as
// "A: 1; B: 2". DATE+1m stands for the date in a minute.
type answer struct {
	status     int
	retryAfter string
	date       string // of the answer, relative to now; "" for none
}

// body notes how much of an answer was read, and that it was closed.
type body struct {
	io.Reader
	closed atomic.Bool
}

func (b *body) Close() error { b.closed.Store(true); return nil }

func (o *otherSide) RoundTrip(r *http.Request) (*http.Response, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	sent := ""
	if r.Body != nil {
		text, err := io.ReadAll(r.Body)
		if err != nil {
			return nil, err
		}
		_ = r.Body.Close()
		sent = " " + string(text)
	}
	o.came = append(o.came, fmt.Sprint(time.Since(o.start), sent))
	a := o.answers[0]
	if len(o.answers) > 1 {
		o.answers = o.answers[1:]
	}
	header := http.Header{}
	for field := range strings.SplitSeq(a.retryAfter, "; ") {
		name, value, ok := strings.Cut(field, ": ")
		if !ok {
			name, value = "Retry-After", field
		}
		if in, ok := strings.CutPrefix(value, "DATE"); ok {
			value = httpDate(in)
		}
		header.Set(name, value)
	}
	if a.date != "" {
		header.Set("Date", httpDate(a.date))
	}
	b := &body{Reader: strings.NewReader("answer")}
	o.bodies = append(o.bodies, b)
	return &http.Response{StatusCode: a.status, Header: header, Body: b, Request: r}, nil
}

func httpDate(in string) string {
	d, err := time.ParseDuration(in)
	if err != nil {
		panic(err)
	}
	return time.Now().Add(d).UTC().Format(http.TimeFormat)
}

// TestTransport sends requests one after the other to another side with scripted
// answers: when each comes there, and what the client gets.
func TestTransport(t *testing.T) {
	perSecond := slidegate.FixedWindow(2, time.Second)
	evenly := slidegate.LeakyBucket(10, time.Second, 10)
	ok, busy := answer{status: 200}, answer{429, "30", ""}
	for _, test := range []struct {
		name     string
		limit    slidegate.Option // nil for none
		answers  []answer
		requests []string // method, path and body
		came     string
		got      string
	}{
		{"requests wait for the limit", perSecond, []answer{ok}, []string{"GET", "GET", "GET", "GET", "GET"}, "0s 0s 1s 1s 2s", "200 200 200 200 200"},
		{"a leaky bucket sends evenly", evenly, []answer{ok}, []string{"GET", "GET", "GET"}, "0s 100ms 200ms", "200 200 200"},
		{"429 with seconds", nil, []answer{busy, ok}, []string{"GET", "GET", "GET"}, "0s 30s 30s", "429 200 200"},
		{"a date", nil, []answer{{429, "DATE+30s", ""}, ok}, []string{"GET", "GET"}, "0s 30s", "429 200"},
		{"a date by another clock", nil, []answer{{429, "DATE+1h30s", "1h"}, ok}, []string{"GET", "GET"}, "0s 30s", "429 200"},
		{"a date in the past", nil, []answer{{429, "DATE-30s", ""}, ok}, []string{"GET", "GET"}, "0s 0s", "429 200"},
		{"no seconds", nil, []answer{{429, "0", ""}, ok}, []string{"GET", "GET"}, "0s 0s", "429 200"},
		{"an hour at most", nil, []answer{{429, "86400", ""}, ok}, []string{"GET", "GET"}, "0s 1h0m0s", "429 200"},
		{"an hour at most, whatever the number", nil, []answer{{429, "99999999999999999999", ""}, ok}, []string{"GET", "GET"}, "0s 1h0m0s", "429 200"},
		{"429 without Retry-After", nil, []answer{{429, "", ""}, ok}, []string{"GET", "GET"}, "0s 0s", "429 200"},
		{"nonsense", nil, []answer{{429, "soon", ""}, {429, "-5", ""}, {429, "1e3", ""}, {429, "Inf", ""}, {429, "1.5.2", ""}, ok}, []string{"GET", "GET", "GET", "GET", "GET", "GET"}, "0s 0s 0s 0s 0s 0s", "429 429 429 429 429 200"},
		{"a fraction of a second", nil, []answer{{429, "1.2", ""}, {503, ".5", ""}, ok}, []string{"GET", "GET", "GET"}, "0s 1.2s 1.7s", "429 503 200"},
		{"403 with seconds", nil, []answer{{403, "30", ""}, ok}, []string{"GET", "GET"}, "0s 30s", "403 200"},
		{"403 without", nil, []answer{{403, "", ""}, ok}, []string{"GET", "GET"}, "0s 0s", "403 200"},
		{"the end of a limit, in seconds", nil, []answer{{429, "X-RateLimit-Reset: 29.5; X-RateLimit-Remaining: 0.0", ""}, ok}, []string{"GET", "GET"}, "0s 29.5s", "429 200"},
		{"the end of a limit, as a Unix time", nil, []answer{{403, "X-RateLimit-Reset: 946684830; X-RateLimit-Remaining: 0", ""}, ok}, []string{"GET", "GET"}, "0s 30s", "403 200"},
		{"the end of a limit, in milliseconds", nil, []answer{{503, "X-Rate-Limit-Reset: 946684830500", ""}, ok}, []string{"GET", "GET"}, "0s 30.5s", "503 200"},
		{"the end of a limit, by another clock", nil, []answer{{429, "RateLimit-Reset: 946688430", "1h"}, ok}, []string{"GET", "GET"}, "0s 30s", "429 200"},
		{"the end of a limit, before now", nil, []answer{{429, "X-RateLimit-Reset: 946684000", ""}, ok}, []string{"GET", "GET"}, "0s 0s", "429 200"},
		{"the end of a limit that is not reached", nil, []answer{{403, "X-RateLimit-Reset: 946684830; X-RateLimit-Remaining: 59", ""}, ok}, []string{"GET", "GET"}, "0s 0s", "403 200"},
		{"Retry-After comes first", nil, []answer{{429, "X-RateLimit-Reset: 30; Retry-After: 2", ""}, {429, "X-RateLimit-Reset: 30; Retry-After: soon", ""}, ok}, []string{"GET", "GET", "GET"}, "0s 2s 32s", "429 429 200"},
		{"other statuses", nil, []answer{{500, "30", ""}, {301, "30", ""}, ok}, []string{"GET", "GET", "GET"}, "0s 0s 0s", "500 301 200"},
		{"another host does not wait", nil, []answer{busy, ok}, []string{"GET", "GET other", "GET"}, "0s 0s 30s", "429 200 200"},
		{"hosts have each their limit", perSecond, []answer{ok}, []string{"GET", "GET", "GET other", "GET"}, "0s 0s 0s 1s", "200 200 200 200"},
		{"hosts are the same in upper case", perSecond, []answer{ok}, []string{"GET", "GET API", "GET"}, "0s 0s 1s", "200 200 200"},
		{"the limit is charged after the wait", perSecond, []answer{busy, ok}, []string{"GET", "GET", "GET", "GET"}, "0s 30s 30s 31s", "429 200 200 200"},
		{"nothing is sent again by default", nil, []answer{busy, ok}, []string{"GET", "POST api body"}, "0s 30s body", "429 200"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				o := &otherSide{answers: test.answers, start: time.Now()}
				transport := &limithttp.Transport{Base: o}
				if test.limit != nil {
					transport.Limiter = newLimiter(t, test.limit)
				}
				var got []string
				for _, r := range test.requests {
					got = append(got, send(t, transport, r))
				}
				if came := strings.Join(o.came, " "); came != test.came {
					t.Errorf("came at %s; want %s", came, test.came)
				}
				if got := strings.Join(got, " "); got != test.got {
					t.Errorf("answers %s; want %s", got, test.got)
				}
			})
		})
	}
}

// send sends a request such as "POST api body", and returns the status or the
// error.
func send(t *testing.T, transport *limithttp.Transport, request string) string {
	t.Helper()
	fields := append(strings.Fields(request), "", "")
	host := "api"
	if fields[1] != "" {
		host = fields[1]
	}
	var content io.Reader
	if fields[2] != "" {
		content = strings.NewReader(fields[2])
	}
	r, err := http.NewRequestWithContext(t.Context(), fields[0], "http://"+host+"/", content)
	if err != nil {
		t.Fatal(err)
	}
	response, err := transport.RoundTrip(r)
	if err != nil {
		return err.Error()
	}
	_ = response.Body.Close()
	return fmt.Sprint(response.StatusCode)
}

// TestTransportBaseFails returns the error of Base, and waits for nothing.
func TestTransportBaseFails(t *testing.T) {
	transport := &limithttp.Transport{Retries: 3, Base: roundTripper(func(*http.Request) (*http.Response, error) { return nil, errDown })}
	if got := send(t, transport, "GET"); got != errDown.Error() {
		t.Error(got)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// TestTransportKey counts by what Key returns.
func TestTransportKey(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		o := &otherSide{answers: []answer{{status: 200}}, start: time.Now()}
		transport := &limithttp.Transport{Base: o, Limiter: newLimiter(t, slidegate.FixedWindow(1, time.Second)),
			Key: func(r *http.Request) string { return r.Method }}
		for _, request := range []string{"GET", "PUT", "GET other", "PUT other"} {
			send(t, transport, request)
		}
		if came := strings.Join(o.came, " "); came != "0s 0s 1s 1s" {
			t.Errorf("came at %s", came)
		}
	})
}
