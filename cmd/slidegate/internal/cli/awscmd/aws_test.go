package awscmd

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/attach"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/doctor"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestDeployed shows what deploy prints at its end.
func TestDeployed(t *testing.T) {
	for _, test := range []struct {
		report aws.DeployReport
		want   string
	}{
		{aws.DeployReport{Stack: "slidegate", Status: aws.Created, Region: "eu-north-1", Version: "v1.2.0", Outputs: []aws.Output{{Name: "RateLimitFunction", Value: "f"}}, Next: "slidegate rules list --rules stack://slidegate/RateLimit"},
			"created stack slidegate of version v1.2.0 in region eu-north-1\n\n  RateLimitFunction  f\n\nnext: slidegate rules list --rules stack://slidegate/RateLimit\nnext, for an API that exists: slidegate aws attach API-ID --stage NAME\n"},
		{aws.DeployReport{Stack: "shop", Status: aws.Unchanged, Outputs: []aws.Output{{Name: "RateLimitFunction", Value: "f"}}},
			"nothing to update: stack shop has all of it\n\n  RateLimitFunction  f\n\nnext, for an API that exists: slidegate aws attach API-ID --stage NAME --limiter stack://shop\n"},
	} {
		var out strings.Builder
		if err := command.Show(&out, false, &test.report, printDeployed); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}

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

// TestExamined shows what doctor prints, and its report as JSON.
func TestExamined(t *testing.T) {
	ill := &doctor.Report{
		Stack: "shop", Region: "eu-north-1", Function: "shop-RateLimitFunction1", APIs: []string{"REST API shop (a1)"}, Checks: 20,
		Notes: []doctor.Finding{}, Findings: []doctor.Finding{{Check: "expiry", Where: "table shop-RateLimitCounters1", What: "its TTL is off: counters stay for ever, and cost storage",
			Mend: "aws dynamodb update-time-to-live --table-name shop-RateLimitCounters1 --time-to-live-specification Enabled=true,AttributeName=ttl"}},
		Unchecked: []doctor.Unchecked{{Check: "alarms", Where: "stack shop", Why: "AWS does not permit the call: cloudwatch:DescribeAlarms"}},
	}
	healthy := &doctor.Report{Stack: "shop", Region: "eu-north-1", APIs: []string{"REST API shop (a1)"}, Checks: 21, Findings: []doctor.Finding{}, Notes: []doctor.Finding{}, Unchecked: []doctor.Unchecked{}}
	noted := *healthy
	noted.Notes = []doctor.Finding{
		{Check: "emulator", Where: "region eu-north-1", What: "MiniStack 1.5.33 at 127.0.0.1:4566 stands in for AWS: what it lacks is a note"},
		{Check: "alarms", Where: "stack shop", What: "alarms without a target, so they send no message: shop-RateLimitDegraded", Mend: "slidegate aws deploy --stack shop --alarm-topic ARN"},
		{Check: "deployment", Where: "REST API shop (a1), stage prod", What: "MiniStack 1.5.33 at 127.0.0.1:4566 exports no gateway responses, so those that the stage serves are not compared"},
	}
	var b strings.Builder
	for _, r := range []*doctor.Report{ill, healthy, &noted} {
		for _, asJSON := range []bool{false, true} {
			if err := command.Show(&b, asJSON, r, printExamined); err != nil {
				t.Fatal(err)
			}
		}
	}
	golden.Check(t, "testdata/doctor.golden", b.String())
	if ill.Healthy() || !healthy.Healthy() || !noted.Healthy() {
		t.Error("Healthy is wrong")
	}
}

// TestConfirmNeedsATerminal: a pipeline that names a wrong region creates nothing.
func TestConfirmNeedsATerminal(t *testing.T) {
	l := &listener{Console: &command.Console{Stdin: strings.NewReader("y\n"), Stderr: io.Discard}, ctx: t.Context()}
	if err := l.Confirm("Create?"); err == nil || err.Error() != "Create? There is no terminal to ask on: give --yes" {
		t.Errorf("without a terminal: %v", err)
	}
	l.yes = true
	if err := l.Confirm("Create?"); err != nil {
		t.Errorf("with --yes: %v", err)
	}
}

// TestEvents: a line for each resource that is finished, and one for a failure of
// the stack.
func TestEvents(t *testing.T) {
	var out strings.Builder
	l := &listener{Console: &command.Console{Stderr: &out}}
	for i, e := range []aws.Event{
		{Resource: "shop", Status: "CREATE_IN_PROGRESS", Stack: true}, {Resource: "RateLimitRules", Type: "AWS::DynamoDB::Table", Status: "CREATE_IN_PROGRESS"},
		{Resource: "RateLimitRules", Type: "AWS::DynamoDB::Table", Status: "CREATE_COMPLETE"}, {Resource: "RateLimitFunction", Type: "AWS::Lambda::Function", Status: "CREATE_FAILED"},
		{Resource: "shop", Status: "ROLLBACK_IN_PROGRESS", Stack: true}, {Resource: "RateLimitRules", Type: "AWS::DynamoDB::Table", Status: "DELETE_SKIPPED"},
		{Resource: "shop", Status: "ROLLBACK_COMPLETE", Stack: true},
	} {
		e.At = time.Unix(int64(i), 0)
		l.Event(e)
	}
	want := `   2 s  created  AWS::DynamoDB::Table            RateLimitRules
   3 s  failed   AWS::Lambda::Function           RateLimitFunction
failed: AWS takes it back
   5 s  kept     AWS::DynamoDB::Table            RateLimitRules
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}
