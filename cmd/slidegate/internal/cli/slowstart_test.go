package cli

import (
	"fmt"
	"strings"
	"testing"
)

// TestApplyTooManyRules: apply refuses rules that the construct's Lambda could
// not read in time, before it reads the table, and in a dry run too. validate
// warns: serve takes them.
func TestApplyTooManyRules(t *testing.T) {
	var document strings.Builder
	document.WriteString("rules:\n")
	for i := range 5_001 {
		fmt.Fprintf(&document, "  - {name: r%d, when: {path: /v1/service-%d/**}, key: 'ip:{ip}', limits: [{capacity: 100, window: 60s}]}\n", i, i)
	}
	path := file(t, "many.yaml", document.String())
	for _, command := range []string{"rules apply %s --why x --rules dynamodb://none", "rules apply %s --dry-run --rules dynamodb://none"} {
		wantFailure(t, fmt.Sprintf(command, path), "many.yaml: 10002 rules, limits, capacities of plans and overrides, and 10000 is the limit",
			"a Lambda of 256 MB would take more than 2 s to start", "slidegate overrides import")
	}
	if r := slidegate(t.Context(), "", "rules validate "+path); r.code != 0 || !strings.Contains(r.stderr, "many.yaml: apply would refuse the rules: 10002 rules, ") {
		t.Errorf("validate exits with %d and warns: %.300s", r.code, r.stderr)
	}
}
