package awscmd

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
)

// TestConfirmNeedsATerminal: a pipeline that names a wrong region creates nothing.
func TestConfirmNeedsATerminal(t *testing.T) {
	l := &listener{Console: &command.Console{Stdin: strings.NewReader("y\n"), Stderr: io.Discard}, ctx: t.Context(), confirm: askYes}
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
			l := &listener{now: clock, local: test.local, out: term.NewPrinter(&out), line: term.NewProgress(&out, clock)}
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
