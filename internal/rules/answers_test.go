package rules

import (
	"strings"
	"testing"
	"time"
)

func TestCompileAnswers(t *testing.T) {
	a := parse(t, "{headers: both, retry_jitter: 1m30s, denied: {body: hi, content_type: text/plain}, rules: []}").Answers
	if a.Fields != BothFields || a.RetryJitter != 90*time.Second || *a.Denied != (Denied{Status: 429, ContentType: "text/plain", Body: "hi"}) {
		t.Errorf("%+v, denied %+v", a, a.Denied)
	}
	for _, tt := range []struct{ fields, want string }{
		{"headers: x-ratelimit", `headers: unknown value "x-ratelimit": write legacy`},
		{"retry_jitter: 500ms", `retry_jitter: "500ms" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"retry_jitter: 1500ms", `retry_jitter: "1500ms" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"retry_jitter: 2h", `retry_jitter: "2h" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"retry_jitter: 10%", `retry_jitter: "10%" is no time from 1s to 1h in whole seconds: write one such as 10s`},
		{"denied: {}", "denied: is empty: write a status, or a content_type and a body, or remove it"},
		{"denied: {status: 200}", "denied.status: 200 is out of range: write a number from 400 to 599"},
		{"denied: {body: x}", "denied: has a body of unknown type: write content_type: application/json, or another type"},
		{"denied: {content_type: json}", `denied.content_type: "json" is no media type: write one such as application/json or text/html; charset=utf-8`},
		{`denied: {content_type: "text/plain\r\nX: y"}`, `denied.content_type: "text/plain\r\nX: y" is no media type: write one such as application/json or text/html; charset=utf-8`},
		{"denied: {content_type: text/plain, body: é}", "denied.body: has other characters than plain ASCII: write them as \\u00e9 in JSON, or as &eacute; in HTML"},
		{"denied: {content_type: text/plain, body: " + strings.Repeat("a", 2049) + "}", "denied.body: has 2049 bytes, and 2048 is the most: shorten it"},
		{"denied: {content_type: text/plain, body: '{rule} {rateLimit}'}",
			"denied.body: unknown value {rateLimit}: there are {rule}, {limit}, {remaining}, {reset}, {retryAfter}, {degraded}, {problemType}, {problemTitle}"},
	} {
		_, err := read(t, "f", "{rules: [], "+tt.fields+"}")
		if err == nil || strings.Contains(err.Error(), "\n") || !strings.HasSuffix(err.Error(), ": "+tt.want) {
			t.Errorf("%s:\ngot  %v\nwant %s", tt.fields, err, tt.want)
		}
	}
}
