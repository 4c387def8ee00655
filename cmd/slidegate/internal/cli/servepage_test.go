package cli

import (
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
)

// TestServePage: the admin address has the page, as a gateway and with --decide,
// with a denial that happened. The form tries a request by the counters of serve.
// A browser that watches does not delay the end of serve: its events end well,
// and are not cut off once serve has waited for 15 seconds.
func TestServePage(t *testing.T) {
	rules := file(t, "rules.yaml", "rules: [{name: api, key: 'user:{header.x-user}', limit: 2/hour}]")
	for _, decide := range []bool{false, true} {
		args := []string{"--rules", rules}
		if decide {
			args = append(args, "--decide")
		}
		address, base, stop := serveWithAdmin(t, args...)
		for range 3 {
			if !decide {
				visit(t, address+"/v1", "ada")
				continue
			}
			body := `{"method": "GET", "path": "/v1", "ip": "203.0.113.9", "headers": {"x-user": "ada"}}`
			response, err := http.Post(address+"/v1/decisions", "application/json", strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			response.Body.Close()
		}
		if page := get(t, base+"/"); !strings.Contains(page, "<title>Slidegate, live") || !strings.Contains(page, "user:ada") {
			t.Errorf("--decide %t: the page is %s", decide, page)
		}
		for range 2 { // the second answer is the first one's
			response, err := http.PostForm(base+"/live/try", url.Values{"method": {"GET"}, "path": {"/v1"}, "headers": {"x-user: ada"}})
			if err != nil {
				t.Fatal(err)
			}
			body, _ := io.ReadAll(response.Body)
			response.Body.Close()
			if !strings.Contains(string(body), "denied</strong> by api, again allowed in") {
				t.Errorf("--decide %t: tried, it is %s", decide, body)
			}
		}
		events, err := http.Get(base + "/live/events")
		if err != nil || events.StatusCode != 200 {
			t.Fatal(events, err)
		}
		stop()
		if _, err := io.ReadAll(events.Body); err != nil {
			t.Errorf("the events were cut off: %v", err)
		}
		events.Body.Close()
	}
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
