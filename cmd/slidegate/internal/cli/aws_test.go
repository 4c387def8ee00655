package cli

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
)

// The policy is for the partition of the region that the other commands use. It
// needs no credentials.
func TestPolicy(t *testing.T) {
	signedOut(t)
	wantFailure(t, "aws policy", "no AWS region; set AWS_REGION")

	config := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(config, []byte("[profile beijing]\nregion = cn-north-1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_CONFIG_FILE", config)
	t.Setenv("AWS_PROFILE", "beijing")
	if r := slidegate(t.Context(), "", "aws policy"); r.code != 0 || !strings.Contains(r.stdout, `"arn:aws-cn:s3:::slidegate-*"`) {
		t.Errorf("%+v", r)
	}
	t.Setenv("AWS_PROFILE", "")
	t.Setenv("AWS_DEFAULT_REGION", "us-east-1")
	transcript(t, "aws-policy", "", scrubElapsed)
	transcript(t, "aws-policy-role", "", scrubElapsed)
}

// TestConfirmNeedsATerminal: a pipeline that names a wrong region creates nothing.
func TestConfirmNeedsATerminal(t *testing.T) {
	l := &awsListener{cli: &cli{stdin: strings.NewReader("y\n"), stderr: io.Discard}, ctx: t.Context(), confirm: askYes}
	if err := l.Confirm("Create?"); err == nil || err.Error() != "Create? There is no terminal to ask on: give --yes" {
		t.Errorf("without a terminal: %v", err)
	}
	l.yes = true
	if err := l.Confirm("Create?"); err != nil {
		t.Errorf("with --yes: %v", err)
	}
}

// TestHint: a Lambda that publishes rules and takes long gets one hint, and a slow
// table none.
func TestHint(t *testing.T) {
	const local = "RateLimitPublishedRules takes long: CloudFormation waits for the Lambda that publishes the rules. " +
		"See the log of the local AWS, where a Lambda for another architecture never starts\n"
	for _, test := range []struct {
		name, kind, resource string
		local, done          bool
		log                  string
		after                int // seconds
		want                 string
	}{
		{"not yet", "Custom::SlidegateRules", "RateLimitPublishedRules", true, false, "", 29, ""},
		{"finished", "Custom::SlidegateRules", "RateLimitPublishedRules", true, true, "", 60, ""},
		{"a table", "AWS::DynamoDB::Table", "RateLimitRules", true, false, "", 60, ""},
		{"a local AWS", "Custom::SlidegateRules", "RateLimitPublishedRules", true, false, "shop-log", 30, local},
		{"AWS", "Custom::SlidegateRules", "RateLimitPublishedRules", false, false, "shop-log", 30,
			"RateLimitPublishedRules takes long: CloudFormation waits for the Lambda that publishes the rules. See its log group shop-log\n"},
		{"an update of AWS", "Custom::SlidegateRules", "RateLimitPublishedRules", false, false, "", 30,
			"RateLimitPublishedRules takes long: CloudFormation waits for the Lambda that publishes the rules. See its log group\n"},
	} {
		t.Run(test.name, func(t *testing.T) {
			var out strings.Builder
			now := time.Unix(0, 0)
			clock := func() time.Time { return now }
			l := &awsListener{now: clock, local: test.local, out: term.NewPrinter(&out), line: term.NewProgress(&out, clock)}
			if test.log != "" {
				l.Event(aws.Event{Resource: "RateLimitLog", Type: "AWS::Logs::LogGroup", ID: test.log, Status: "CREATE_IN_PROGRESS"})
			}
			l.Event(aws.Event{Resource: test.resource, Type: test.kind, Status: "CREATE_IN_PROGRESS"})
			if test.done {
				l.Event(aws.Event{Resource: test.resource, Type: test.kind, Status: "CREATE_COMPLETE"})
				out.Reset()
			}
			for second := range test.after + 1 {
				now = time.Unix(int64(second), 0)
				l.hint()
			}
			l.hint()
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}

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
		if err := show(&out, false, &test.report, printDeployed); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(test.want, out.String()); diff != "" {
			t.Errorf("-want +got:\n%s", diff)
		}
	}
}
