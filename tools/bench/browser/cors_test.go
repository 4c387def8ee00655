package browser_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// backend answers preflights, and scripts of one origin.
type backend struct {
	origin      string // which may read its answers; "" for none
	credentials bool   // whether requests may carry credentials
	preflights  atomic.Int64
}

func (b *backend) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	if b.origin != "" {
		h.Set("Access-Control-Allow-Origin", b.origin)
	}
	if b.credentials {
		h.Set("Access-Control-Allow-Credentials", "true")
	}
	if r.Method == http.MethodOptions {
		b.preflights.Add(1)
		h.Set("Access-Control-Allow-Methods", "PUT")
		h.Set("Access-Control-Allow-Headers", "X-Tenant")
		h.Set("Access-Control-Max-Age", "0") // or the browser would remember it for 5 s
		w.WriteHeader(http.StatusNoContent)
		return
	}
	if r.URL.Path == "/session" {
		http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
	}
	_, _ = io.WriteString(w, "backend "+r.Header.Get("Cookie"))
}

// TestScriptsReadDenials: a script of another origin reads the whole answer to a
// denied request, and the fields of limits of allowed ones.
func TestScriptsReadDenials(t *testing.T) {
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p := openPage(t)
			url := start(t, 1, &backend{origin: p.origin})
			a := p.fetch(t, url, "{}")
			if a.Status != http.StatusOK || a.Body != "backend " {
				t.Fatalf("the script reads %+v", a)
			}
			a.wantFields(t, map[string]string{
				"ratelimit": `"default";r=0;t=`, "ratelimit-policy": `"default";q=1;w=3600`, "x-ratelimit-limit": "1", "x-ratelimit-remaining": "0",
			})
			a = p.fetch(t, url, "{}")
			var problem struct {
				Type, Title string
				Status      int
				Violated    []string `json:"violated-policies"`
			}
			if err := json.Unmarshal([]byte(a.Body), &problem); err != nil || a.Status != http.StatusTooManyRequests {
				t.Fatalf("the script reads %+v: %v", a, err)
			}
			if problem.Status != http.StatusTooManyRequests || !strings.HasSuffix(problem.Type, "#quota-exceeded") || problem.Title == "" || len(problem.Violated) != 1 {
				t.Errorf("the script reads the problem %+v", problem)
			}
			a.wantFields(t, map[string]string{
				"content-type": "application/problem+json", "retry-after": "36",
				"ratelimit": `"default";r=0;t=36`, "ratelimit-policy": `"default";q=1;w=3600`,
				"x-ratelimit-limit": "1", "x-ratelimit-remaining": "0", "x-ratelimit-retry-after": "36",
			})
		})
	}
}

// wantFields checks the beginnings of fields that a script could read.
func (a answer) wantFields(t *testing.T, want map[string]string) {
	t.Helper()
	for name, value := range want {
		if !strings.HasPrefix(a.Fields[name], value) {
			t.Errorf("the script reads %s: %q, want %q and more", name, a.Fields[name], value)
		}
	}
}

// TestPreflightsAreNotCounted: the browser sends one before each of these
// requests, also once the limit is reached: else a script could not learn that.
func TestPreflightsAreNotCounted(t *testing.T) {
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p := openPage(t)
			b := &backend{origin: p.origin}
			url := start(t, 2, b)
			for i, want := range []struct {
				status    int
				remaining string
			}{{200, "1"}, {200, "0"}, {429, "0"}, {429, "0"}} {
				a := p.fetch(t, url, `{method: "PUT", headers: {"X-Tenant": "acme"}}`)
				if a.Status != want.status || a.Fields["x-ratelimit-remaining"] != want.remaining {
					t.Errorf("request %d: the script reads %+v", i, a)
				}
				if n := b.preflights.Load(); n != int64(i)+1 {
					t.Errorf("the browser sent %d preflights before request %d", n, i)
				}
			}
		})
	}
}

// TestOriginsAreTheBackends: scripts of an origin that the backend has not
// allowed read nothing of its answers. The limiter's own answers are for all.
func TestOriginsAreTheBackends(t *testing.T) {
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p, stranger := openPage(t), openPage(t)
			url := start(t, 3, &backend{origin: p.origin})
			if a := stranger.fetch(t, url, "{}"); a.Error == "" {
				t.Errorf("a script of another origin reads %+v", a)
			}
			if a := stranger.fetch(t, url, `{method: "PUT", headers: {"X-Tenant": "acme"}}`); a.Error == "" {
				t.Errorf("a script of another origin reads %+v after a preflight", a)
			}
			// The refused preflight kept the second request from being sent.
			if a := p.fetch(t, url, "{}"); a.Status != http.StatusOK || a.Fields["x-ratelimit-remaining"] != "1" {
				t.Errorf("the allowed script reads %+v", a)
			}
			p.fetch(t, url, "{}")
			for _, p := range []page{p, stranger} {
				if a := p.fetch(t, url, "{}"); a.Status != http.StatusTooManyRequests {
					t.Errorf("a script of %s reads %+v of a denial", p.origin, a)
				}
			}
		})
	}
}

// TestCredentials: a script that sends cookies reads an answer only if it names
// the script's origin. So it reads answers of such a backend with their fields,
// and a denial if the program around the middleware names the origin.
func TestCredentials(t *testing.T) {
	const include = `{credentials: "include"}`
	for name, start := range doors {
		t.Run(name, func(t *testing.T) {
			p := openPage(t)
			url := start(t, 2, &backend{origin: p.origin, credentials: true})
			p.fetch(t, url+"/session", include)
			a := p.fetch(t, url, include)
			if a.Status != http.StatusOK || a.Fields["x-ratelimit-remaining"] != "0" || a.Body != "backend session=1" {
				t.Errorf("the script reads %+v", a)
			}
			if a := p.fetch(t, url, include); a.Error == "" {
				t.Errorf("the script reads %+v of a denial for every origin", a)
			}
			if a := p.fetch(t, url, "{}"); a.Status != http.StatusTooManyRequests {
				t.Errorf("without cookies, the script reads %+v", a)
			}
		})
	}
	t.Run("a program that names the origin", func(t *testing.T) {
		p := openPage(t)
		limited := limit(t, 1, http.NotFoundHandler())
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Access-Control-Allow-Origin", p.origin)
			w.Header().Set("Access-Control-Allow-Credentials", "true")
			limited.ServeHTTP(w, r)
		}))
		defer server.Close()
		for _, want := range []int{http.StatusNotFound, http.StatusTooManyRequests} {
			if a := p.fetch(t, server.URL, include); a.Status != want || a.Fields["x-ratelimit-remaining"] != "0" {
				t.Errorf("the script reads %+v, want status %d", a, want)
			}
		}
	})
}
