//go:build e2e

package e2e

import (
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
)

// writesMetrics: under traffic, the metrics of the authorizer reach the log of the
// stack's function. The emulator makes no metrics of them.
func (d *deployment) writesMetrics(t *testing.T, user string) {
	logs := cloudwatchlogs.NewFromConfig(aws.Config{
		Region: region, BaseEndpoint: aws.String(localEndpoint(t)), Credentials: credentials.NewStaticCredentialsProvider("test", "test", ""),
	})
	groups, err := logs.DescribeLogGroups(t.Context(), &cloudwatchlogs.DescribeLogGroupsInput{})
	if err != nil || len(groups.LogGroups) == 0 {
		t.Fatalf("the local AWS has no log groups: error %v", err)
	}
	f := d.traffic(t, user)
	f.until(t, "after a line of metrics", func(seen) bool {
		return slices.ContainsFunc(groups.LogGroups, func(g types.LogGroup) bool {
			lines, err := logs.FilterLogEvents(t.Context(), &cloudwatchlogs.FilterLogEventsInput{
				LogGroupName: g.LogGroupName, FilterPattern: aws.String(`{ $.Limiter = "` + stack + `/RateLimit" }`),
			})
			if err != nil {
				t.Fatal(err)
			}
			return slices.ContainsFunc(lines.Events, func(e types.FilteredLogEvent) bool {
				return strings.Contains(aws.ToString(e.Message), `"Decisions":`)
			})
		})
	})
	f.stop(t)
}
