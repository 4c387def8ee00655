package awscmd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
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
