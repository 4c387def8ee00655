package awscmd

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/attach"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestAttached shows what attach and detach print, and a report as JSON.
func TestAttached(t *testing.T) {
	planned := attach.Report{
		Status: attach.Planned, Protocol: "REST", API: "a1b2c3d4e5", Name: "shop", Stage: "prod", Region: "eu-north-1", Limiter: "stack://slidegate", Table: "slidegate-RateLimitRules",
		Changes: []attach.Change{{Does: "add", What: "authorizer Slidegate"}, {Does: "change", What: "gateway response ACCESS_DENIED"}, {Does: "limit", What: "GET /items"}, {Does: "deploy", What: "stage prod"}},
		Left:    []string{}, Notes: []string{"if Terraform or another tool manages the API, its next run takes this away"},
	}
	attached, unchanged, detached := planned, planned, planned
	attached.Status, unchanged.Status, detached.Status = attach.Attached, attach.Unchanged, attach.Detached
	unchanged.Changes, unchanged.Notes, detached.Notes = []attach.Change{}, nil, nil
	detached.Changes = []attach.Change{{Does: "restore", What: "GET /orders", To: "authorization NONE, as before"}, {Does: "restore", What: "stage prod", To: "deployment d1, as before"}, {Does: "remove", What: "authorizer Slidegate"}}
	left := detached
	left.Left = []string{"GET /items"}
	var b strings.Builder
	forgotten := attach.Report{Status: attach.Forgotten, API: "a1b2c3d4e5", Stage: "$default", Limiter: "stack://shop", Changes: []attach.Change{{Does: "remove", What: "what table rules keeps of it"}}}
	for _, r := range []attach.Report{planned, attached, unchanged, detached, left, forgotten} {
		if err := command.Show(&b, false, &r, printAttached); err != nil {
			t.Fatal(err)
		}
		b.WriteString("--\n")
	}
	for _, r := range []attach.Report{planned, left} {
		if err := command.Show(&b, true, &r, printAttached); err != nil {
			t.Fatal(err)
		}
	}
	golden.Check(t, "testdata/attach.golden", b.String())
}
