package awscmd

import (
	"strings"
	"testing"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/doctor"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// TestExamined shows what doctor prints, and its report as JSON.
func TestExamined(t *testing.T) {
	ill := &doctor.Report{
		Stack: "shop", Region: "eu-north-1", Function: "shop-RateLimitFunction1", APIs: []string{"REST API shop (a1)"}, Checks: 20,
		Findings: []doctor.Finding{{Check: "expiry", Where: "table shop-RateLimitCounters1", What: "its TTL is off: counters stay for ever, and cost storage",
			Mend: "aws dynamodb update-time-to-live --table-name shop-RateLimitCounters1 --time-to-live-specification Enabled=true,AttributeName=ttl"}},
		Unchecked: []doctor.Unchecked{{Check: "alarms", Where: "stack shop", Why: "AWS does not permit the call: cloudwatch:DescribeAlarms"}},
	}
	healthy := &doctor.Report{Stack: "shop", Region: "eu-north-1", APIs: []string{"REST API shop (a1)"}, Checks: 21, Findings: []doctor.Finding{}, Unchecked: []doctor.Unchecked{}}
	var b strings.Builder
	for _, r := range []*doctor.Report{ill, healthy} {
		for _, asJSON := range []bool{false, true} {
			if err := command.Show(&b, asJSON, r, printExamined); err != nil {
				t.Fatal(err)
			}
		}
	}
	golden.Check(t, "testdata/doctor.golden", b.String())
	if ill.Healthy() || !healthy.Healthy() {
		t.Error("Healthy is wrong")
	}
}
