package awscmd

import (
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
)

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
