package cli

import (
	"regexp"
	"strings"
	"testing"
)

var contextVariable = regexp.MustCompile(`\$context\.[\w.]+`)

// A log in the format that the guide recommends shows what the guide's own rules
// decide. API Gateway writes a hyphen for what a request lacks, and the path with
// the stage.
func TestGuidesLogFormat(t *testing.T) {
	guide := read(t, "../../../../docs/guide.md")
	format, files := "", map[string]string{}
	for _, part := range splitGuide(guide) {
		if strings.Contains(part.body, "$context.") {
			format = part.body
		}
		if part.file != "" {
			files[part.file] = part.body
		}
	}
	var log strings.Builder
	logged := func(times int, path, sub, plan string) {
		for range times {
			log.WriteString(contextVariable.ReplaceAllStringFunc(format, func(name string) string {
				value, known := map[string]string{
					"$context.requestId": "c6af", "$context.requestTime": "04/May/2026:09:00:00 +0000", "$context.httpMethod": "GET",
					"$context.path": "/prod" + path, "$context.stage": "prod", "$context.resourcePath": "/{proxy+}",
					"$context.identity.sourceIp": "203.0.113.9", "$context.authorizer.claim_sub": sub, "$context.authorizer.claim_plan": plan,
				}[name]
				if !known {
					t.Errorf("the guide logs %s, which is not known", name)
				}
				return value
			}))
		}
	}
	logged(4, "/v1/items", "-", "-")
	logged(12, "/v1/items", "5", "-")
	logged(12, "/v1/items", "7", "pro")
	logged(7, "/v1/export", "-", "-")
	type decided struct {
		Allowed, Denied int64
		WouldDeny       int64 `json:"would_deny"`
	}
	for name, want := range map[string]map[string]decided{
		"rules.yaml": {"api": {Allowed: 3, Denied: 32}},
		"plans.yaml": {"anonymous": {Allowed: 3, Denied: 8}, "api": {Allowed: 22, Denied: 2}},
		// As the gateway of the guide decides: the plan gives user 7 all of its requests.
		"shadow.yaml": {"anonymous": {Allowed: 8, Denied: 3}, "export": {Allowed: 2, WouldDeny: 2}, "api": {Allowed: 22, Denied: 2}},
	} {
		report := mustReport[struct{ Rules map[string]decided }](t, "replay "+file(t, "access.jsonl", log.String())+" --rules "+file(t, name, files[name]))
		wantSame(t, name, want, report.Rules)
	}
}
