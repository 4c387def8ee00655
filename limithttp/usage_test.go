package limithttp_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/limithttp"
)

// ask sends a request, and returns the status and the first line of the body.
func ask(t *testing.T, h http.Handler, path, user string) (status int, body string, header http.Header) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), "GET", path, nil)
	r.Header.Set("X-User", user)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code, strings.TrimSpace(w.Body.String()), w.Header()
}

var handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("handled")) })

// A gate's callers see numbers by what the program has verified, and none by a
// header.
func TestUsageOfGate(t *testing.T) {
	g, err := gate.New(gate.Rules{Rules: []gate.Rule{
		{Name: "per-user", Key: "user:{jwt.sub}", Limits: []slidegate.Limit{slidegate.SlidingWindow(5, time.Minute)}},
		{Name: "by-header", Key: "user:{header.x-user}", Limits: []slidegate.Limit{slidegate.SlidingWindow(9, time.Minute)}},
	}})
	if err != nil {
		t.Fatal(err)
	}
	verified := "ann"
	h := limithttp.GateMiddleware(g, limithttp.UsagePath("/usage"), limithttp.WithRequest(func(_ *http.Request, r *gate.Request) {
		r.Claims, r.Rejected = map[string]any{"sub": verified}, verified == ""
	}))(handler)
	ask(t, h, "/", "ann")
	for _, step := range []struct{ verified, header, want string }{
		{"ann", "bob", `{"rules":[{"rule":"per-user","key":"user:{jwt.sub}","limits":[{"capacity":5,"window_s":60,"used":1,`},
		{"bob", "ann", `{"rules":[{"rule":"per-user","key":"user:{jwt.sub}","limits":[{"capacity":5,"window_s":60,"used":0,`},
		{"bob", "ann", `{"rule":"by-header","key":"user:{header.x-user}"}`},
		{"", "ann", "handled"}, // invalid credentials: the handler answers, as always
	} {
		verified = step.verified
		if status, body, _ := ask(t, h, "/usage", step.header); status != 200 || !strings.Contains(body, step.want) {
			t.Errorf("%q with X-User %s: %d %s", step.verified, step.header, status, body)
		}
	}
}

func TestUsagePathPanics(t *testing.T) {
	for _, path := range []string{"usage", "/usage/*", "/", ""} {
		func() {
			defer func() {
				if text, _ := recover().(string); !strings.Contains(text, "want a fixed path") {
					t.Errorf("%s: panics with %q", path, text)
				}
			}()
			limithttp.UsagePath(path)
		}()
	}
}
