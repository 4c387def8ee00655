package limithttp

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/kit/clock"
)

const (
	// maxPause bounds what another side may ask for: a wrong answer must not
	// stop a client for good.
	maxPause = time.Hour
	// maxDrain bounds what is read of an answer that is retried. Reading it all
	// lets the connection be used again; of a long one, a new connection is
	// cheaper.
	maxDrain = 64 << 10
)

// Transport is an [http.RoundTripper] for a client that keeps to limits: its own,
// and those of the other side. Each request waits for its Limiter. After an
// answer 429, 403 or 503 that asks to wait, all requests with the same key wait as
// long as it says, but an hour at most. After that they wait for turns of the
// Limiter again, so that they leave at its rate. Without one, all leave at once.
//
// An answer asks by Retry-After, in seconds or by a date. Or it asks by
// X-RateLimit-Reset, X-Rate-Limit-Reset or RateLimit-Reset, unless the field that
// ends in Remaining instead is at least 1. Services send seconds there, or a Unix
// time in seconds or milliseconds.
//
// A request waits no longer than its context. If the context, or the Timeout of
// the http.Client, would end before its turn, the request fails at once, with an
// error that wraps context.DeadlineExceeded.
//
// [slidegate.LeakyBucket] sends requests evenly; a window sends them in bursts. Each
// process has limits and waits of its own, unless the Limiter counts in a
// shared store: then they share the limits, not the waits.
//
//	lim, err := slidegate.New(slidegate.LeakyBucket(10, time.Second, 10))
//	client := &http.Client{Transport: &limithttp.Transport{Limiter: lim}}
//
// It is safe for concurrent use once its fields are set. It must not be copied.
type Transport struct {
	// Limiter limits each key. Each attempt and each redirect takes one unit, and
	// another one after a pause that begins while it waits. Nil stands for none:
	// requests then wait only if the other side asks.
	Limiter *slidegate.Limiter
	// Base sends the requests; nil stands for http.DefaultTransport.
	Base http.RoundTripper
	// Key returns what a request counts by, such as the name of an account of
	// the other side; nil stands for the host, with its port if the URL has one.
	Key func(*http.Request) string
	// Retries is how often a request is sent again after an answer that asks to
	// wait; 0 for never. The last answer is returned, as is one that asks to wait
	// beyond the request's context.
	//
	// A request is sent again only if that can do no harm: its body, if any, can
	// be had again by GetBody, and the answer was 429 or 403, or 503 to a request
	// that is idempotent, by its method or an Idempotency-Key.
	Retries int

	mu     sync.Mutex
	pauses map[string]time.Time // until when requests of a key wait
}

// RoundTrip waits, and sends a request.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	ctx, key := r.Context(), t.key(r)
	for attempt := 0; ; attempt++ {
		if err := t.wait(ctx, key); err != nil {
			if r.Body != nil {
				_ = r.Body.Close() // as every RoundTripper must
			}
			return nil, err
		}
		response, err := t.base().RoundTrip(r)
		if err != nil {
			return response, err
		}
		pause, asked := retryAfter(response)
		if !asked {
			return response, nil
		}
		t.pause(key, pause)
		if attempt >= t.Retries || clock.EndsBefore(ctx, pause) || !repeatable(r, response.StatusCode) {
			return response, nil
		}
		again := rewind(r)
		if again == nil {
			return response, nil
		}
		_, _ = io.CopyN(io.Discard, response.Body, maxDrain)
		_ = response.Body.Close()
		r = again
	}
}

// CloseIdleConnections closes those of Base. It is for http.Client.
func (t *Transport) CloseIdleConnections() {
	if base, ok := t.base().(interface{ CloseIdleConnections() }); ok {
		base.CloseIdleConnections()
	}
}

func (t *Transport) base() http.RoundTripper {
	return cmp.Or(t.Base, http.DefaultTransport)
}

func (t *Transport) key(r *http.Request) string {
	if t.Key == nil {
		return strings.ToLower(r.URL.Host)
	}
	return t.Key(r)
}

// wait blocks until a request may be sent. One that had its turn when the other
// side asked to wait takes another one: otherwise all would leave at once.
func (t *Transport) wait(ctx context.Context, key string) error {
	for turn := t.Limiter == nil; ; turn = true {
		for {
			t.mu.Lock()
			left := time.Until(t.pauses[key])
			t.mu.Unlock()
			if left <= 0 {
				break
			}
			if err := clock.AwaitTurn(ctx, left); err != nil {
				return fmt.Errorf("slidegate: %s asked to wait: %w", key, err)
			}
			turn = t.Limiter == nil
		}
		if turn {
			return nil
		}
		if err := t.Limiter.Wait(ctx, key); err != nil {
			return err
		}
	}
}

// pause extends the key's pause to d; a longer one stays.
func (t *Transport) pause(key string, d time.Duration) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := time.Now()
	maps.DeleteFunc(t.pauses, func(_ string, end time.Time) bool { return !end.After(now) })
	if end := now.Add(d); d > 0 && end.After(t.pauses[key]) {
		if t.pauses == nil {
			t.pauses = map[string]time.Time{}
		}
		t.pauses[key] = end
	}
}

// retryAfter returns how long an answer asks to wait, at most maxPause: by its
// Retry-After, or else by the end of a limit of which nothing remains.
func retryAfter(r *http.Response) (d time.Duration, asked bool) {
	if s := r.StatusCode; s != http.StatusTooManyRequests && s != http.StatusForbidden && s != http.StatusServiceUnavailable {
		return 0, false
	}
	now, err := http.ParseTime(r.Header.Get("Date")) // by the same clock
	if err != nil {
		now = time.Now()
	}
	d, asked = until(r.Header.Get("Retry-After"), now)
	for _, limit := range []string{"X-RateLimit-", "X-Rate-Limit-", "RateLimit-"} {
		if left, err := strconv.ParseFloat(r.Header.Get(limit+"Remaining"), 64); !asked && (err != nil || left < 1) {
			d, asked = until(r.Header.Get(limit+"Reset"), now)
		}
	}
	return d, asked
}

// until returns the time from now that a field states, at most maxPause: by a
// date, or a number. From 1973 on that is a Unix time, in seconds or milliseconds;
// below, seconds to wait, which may have a fraction.
func until(text string, now time.Time) (d time.Duration, ok bool) {
	n, err := strconv.ParseFloat(text, 64)
	switch {
	case strings.Trim(text, ".0123456789") != "": // or a sign, or one of Go's forms
		end, dateErr := http.ParseTime(text)
		n, err = end.Sub(now).Seconds(), dateErr
	case n >= 1e11:
		n = n/1e3 - float64(now.Unix())
	case n >= 1e8:
		n -= float64(now.Unix())
	}
	return time.Duration(math.Ceil(max(0, min(n, maxPause.Seconds())) * 1e9)), err == nil
}

// repeatable reports whether a request may be sent again after an answer of this
// status. A server that limits has not begun; one that is unavailable may have.
func repeatable(r *http.Request, status int) bool {
	if r.Body != nil && r.Body != http.NoBody && r.GetBody == nil {
		return false
	}
	idempotent := []string{"", http.MethodGet, http.MethodHead, http.MethodOptions, http.MethodTrace, http.MethodPut, http.MethodDelete}
	return status != http.StatusServiceUnavailable || slices.Contains(idempotent, r.Method) || r.Header.Get("Idempotency-Key") != ""
}

// rewind returns the request with its body from the start; nil if that cannot be
// had.
func rewind(r *http.Request) *http.Request {
	if r.Body == nil || r.Body == http.NoBody {
		return r
	}
	body, err := r.GetBody()
	if err != nil {
		return nil
	}
	again := *r
	again.Body = body
	return &again
}
