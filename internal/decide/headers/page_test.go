package headers

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules"
)

// TestPage lists what clients ask for, and what a denied one gets.
func TestPage(t *testing.T) {
	const browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
	limited := Answer{Problem: QuotaExceeded, Rule: "per-ip", RetryAfter: "11"}
	never, banned, own := limited, Answer{Problem: Blocked, Rule: RuleDeny}, limited
	never.RetryAfter, own.Denied = "", &rules.Denied{Body: "slow down", ContentType: "text/plain"}
	stated, onlyStatus := limited, limited
	stated.Denied = &rules.Denied{Status: 402, Title: "Spent & gone", Detail: "Buy 'more'."}
	stated.stateProblem()
	onlyStatus.Denied = &rules.Denied{Status: 503}
	for _, test := range []struct {
		accept string
		of     Answer
		status int
		kind   string
		body   string
	}{
		{"", limited, 429, ProblemType, `"status":429`},
		{"*/*", limited, 429, ProblemType, `"status":429`},
		{"application/json, text/html", limited, 429, ProblemType, `"status":429`},
		{"text/html, application/problem+json;q=0.5", limited, 429, ProblemType, `"status":429`},
		{"text/html", limited, 429, PageType, "<p>Please come back in 11 seconds.</p>"},
		{browser, limited, 429, PageType, "<title>Too Many Requests</title>"},
		{"Text/HTML ;q=1", limited, 429, PageType, "<h1>Too Many Requests</h1>"},
		{browser, never, 429, PageType, "<p>This request is larger than the limit ever allows.</p>"},
		{browser, banned, 403, PageType, "<h1>Forbidden</h1>\n<p>Requests from this client are blocked.</p>"},
		{browser, own, 429, "text/plain", "slow down"},
		{browser, stated, 402, PageType, "<h1>Spent &amp; gone</h1>\n<p>Buy &#39;more&#39;.</p>"},
		{browser, onlyStatus, 503, PageType, "<h1>Service Unavailable</h1>\n<p>Please come back in 11 seconds.</p>"},
	} {
		d := test.of.DenialFor(http.Header{"Accept": {test.accept}})
		if d.Status != test.status || d.ContentType != test.kind || !strings.Contains(d.Body, test.body) {
			t.Errorf("Accept: %s: %+v, want %d, %s, %s", test.accept, d, test.status, test.kind, test.body)
		}
	}
	if d := limited.DenialFor(http.Header{"Accept": {"application/xml", "text/html"}}); d.ContentType != PageType {
		t.Errorf("two fields: %s", d.ContentType)
	}
}

func TestInWords(t *testing.T) {
	for seconds, want := range map[int]string{
		1: "1 second", 2: "2 seconds", 120: "120 seconds", 121: "3 minutes", 7200: "120 minutes", 7201: "3 hours",
		172_800: "48 hours", 172_801: "3 days",
	} {
		if got := inWords(time.Duration(seconds) * time.Second); got != want {
			t.Errorf("%d s: %s, want %s", seconds, got, want)
		}
	}
}
