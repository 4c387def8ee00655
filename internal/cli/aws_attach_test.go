package cli

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/operator/aws/attach"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestAttached shows what attach and detach print, and a report as JSON.
func TestAttached(t *testing.T) {
	planned := attach.Report{
		Status: attach.Planned, Protocol: "REST", API: "a1b2c3d4e5", Name: "shop", Stage: "prod", Region: "eu-north-1", Limiter: "stack://slidegate", File: "slidegate-a1b2c3d4e5.json",
		Changes: []attach.Change{{Does: "add", What: "authorizer Slidegate"}, {Does: "change", What: "gateway response ACCESS_DENIED"}, {Does: "limit", What: "GET /items"}, {Does: "deploy", What: "stage prod"}},
		Left:    []string{}, Notes: []string{"if Terraform or another tool manages the API, its next run takes this away"},
	}
	attached, unchanged, detached := planned, planned, planned
	attached.Status, unchanged.Status, detached.Status = attach.Attached, attach.Unchanged, attach.Detached
	unchanged.Changes, unchanged.Notes, detached.Notes = []attach.Change{}, nil, nil
	detached.Changes = []attach.Change{{Does: "restore", What: "stage prod"}, {Does: "remove", What: "authorizer Slidegate"}}
	left := detached
	left.Left = []string{"GET /items"}
	var b strings.Builder
	for _, r := range []attach.Report{planned, attached, unchanged, detached, left} {
		if err := show(&b, false, &r, printAttached); err != nil {
			t.Fatal(err)
		}
		b.WriteString("--\n")
	}
	if err := show(&b, true, &planned, printAttached); err != nil {
		t.Fatal(err)
	}
	golden.Check(t, goldenPath("aws-attach"), b.String())
}
