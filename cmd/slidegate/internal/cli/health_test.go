package cli

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// TestHealth: only the answer of serve itself counts.
func TestHealth(t *testing.T) {
	const ok = `{"status":"ok"}` + "\n"
	for _, tc := range []struct {
		status int
		body   string
		want   string // of the error; none if healthy
	}{
		{200, ok, ""},
		{200, `{"method":"GET","path":"/healthz"}`, `200 OK "{\"method\":\"GET\",\"path\":\"/healthz\"}": want the address of serve --admin`},
		{429, "", `429 Too Many Requests ""`},
		{503, "\x1b[2J", `503 Service Unavailable "\x1b[2J"`},
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method != http.MethodGet || r.URL.Path != "/healthz" {
				t.Errorf("asked %s %s", r.Method, r.URL)
			}
			w.WriteHeader(tc.status)
			_, _ = io.WriteString(w, tc.body)
		}))
		command := "health " + strings.TrimPrefix(server.URL, "http://")
		if tc.want != "" {
			wantFailure(t, command, server.URL+"/healthz answers "+tc.want)
		} else if got := mustRun(t, command); got != ok {
			t.Errorf("printed %q", got)
		}
		server.Close()
		wantFailure(t, command, "connection refused: want the address of a running serve --admin or serve --decide")
	}
}
