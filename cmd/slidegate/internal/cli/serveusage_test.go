package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// With --usage-path, the gateway and the server of decisions show what they have
// counted themselves.
func TestServeUsagePath(t *testing.T) {
	rules := file(t, "rules.yaml", `rules: [{name: api, key: "ip:{ip}", limit: 5/hour}]`)
	const caller = `{"method": "GET", "path": "/", "ip": "127.0.0.1"}`
	for _, tc := range []struct{ flag, method, charged, body string }{
		{"--log=summary", "GET", "/", ""}, {"--decide", "POST", "/v1/decisions", caller},
	} {
		cmd := program(t, "serve", tc.flag, "--usage-path", "/usage", "--rules", rules, "--listen", "127.0.0.1:0", "--json")
		_, _, stderr := pipes(t, cmd)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		var line struct{ URL string }
		if err := json.Unmarshal([]byte(readLine(t, stderr)), &line); err != nil {
			t.Fatal(err)
		}
		var last string
		for _, path := range []string{tc.charged, tc.charged, "/usage"} {
			r, _ := http.NewRequestWithContext(t.Context(), tc.method, line.URL+path, strings.NewReader(tc.body))
			r.Header.Set("Content-Type", "application/json")
			response, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			text, _ := io.ReadAll(response.Body)
			response.Body.Close()
			last = string(text)
		}
		if !strings.Contains(last, `"used":2,"remaining":3`) {
			t.Errorf("%s: %s", tc.flag, last)
		}
		interrupt(t, cmd, stderr)
	}
}
