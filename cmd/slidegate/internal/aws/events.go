package aws

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

const (
	// pollEvery is how often the events of a stack are read. AWS throttles
	// faster readers.
	pollEvery = 2 * time.Second
	// maxMisses is how many reads of events may fail in a row.
	maxMisses = 5
)

// Event is a step of an operation on a stack.
type Event struct {
	At       time.Time
	Resource string // its logical id without CDK's hash; the stack's name for the stack
	Type     string // such as AWS::DynamoDB::Table
	ID       string // of the resource in AWS; empty until it has one
	Status   string // such as CREATE_COMPLETE
	Reason   string // why it failed; may be empty
	Stack    bool   // whether this is a step of the stack itself
}

// Done reports whether the resource is finished, well or not.
func (e *Event) Done() bool { return !strings.HasSuffix(e.Status, "_IN_PROGRESS") }

// Failed reports whether the step failed.
func (e *Event) Failed() bool { return strings.HasSuffix(e.Status, "_FAILED") }

// operation is a change of a stack that AWS carries out.
type operation struct {
	stack string   // its ARN, by which also a deleted stack is found
	after string   // the id of the last event before it; empty for none
	ends  []string // the states of the stack that end it
}

// follow shows the events of an operation until it ends, and returns them all.
func (a *Account) follow(ctx context.Context, op operation, show func(Event)) (all []Event, err error) {
	for misses := 0; ; {
		fresh, newest, err := a.eventsAfter(ctx, op)
		switch {
		case err == nil:
			misses, op.after = 0, newest
		case ctx.Err() != nil:
			return all, ctx.Err()
		default:
			if misses++; misses == maxMisses || errors.Is(err, ErrNotPermitted) {
				return all, err
			}
		}
		for _, e := range fresh {
			show(e)
			all = append(all, e)
			if e.Stack && slices.Contains(op.ends, e.Status) {
				return all, nil
			}
		}
		if err := a.Wait(ctx, pollEvery); err != nil {
			return all, err
		}
	}
}

// eventsAfter returns the events that follow op.after, the earliest first, and the
// id of the last one.
func (a *Account) eventsAfter(ctx context.Context, op operation) (events []Event, newest string, err error) {
	newest = op.after
	for page := (*string)(nil); ; {
		answer, err := a.CloudFormation.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &op.stack, NextToken: page})
		if err != nil {
			return nil, op.after, Explain(err)
		}
		for _, e := range answer.StackEvents { // the newest first
			if aws.ToString(e.EventId) == op.after {
				slices.Reverse(events)
				return events, newest, nil
			}
			if newest == op.after {
				newest = aws.ToString(e.EventId)
			}
			events = append(events, newEvent(e))
		}
		if page = answer.NextToken; page == nil {
			slices.Reverse(events)
			return events, newest, nil
		}
	}
}

// lastEvent returns the id of a stack's newest event; empty for none.
func (a *Account) lastEvent(ctx context.Context, stack string) (string, error) {
	answer, err := a.CloudFormation.DescribeStackEvents(ctx, &cloudformation.DescribeStackEventsInput{StackName: &stack})
	if err != nil {
		return "", Explain(err)
	}
	if len(answer.StackEvents) == 0 {
		return "", nil
	}
	return aws.ToString(answer.StackEvents[0].EventId), nil
}

// cdkHash is what CDK appends to the names of resources.
var cdkHash = regexp.MustCompile(`[0-9A-F]{8}$`)

// answered is what CloudFormation puts before the message of a custom resource,
// and request what it puts after it.
var (
	answered = regexp.MustCompile(`^Received response status \[FAILED\] from custom resource\. Message returned: `)
	request  = regexp.MustCompile(` \(RequestId: [^)]*\)$`)
)

func newEvent(e types.StackEvent) Event {
	reason := answered.ReplaceAllString(aws.ToString(e.ResourceStatusReason), "")
	return Event{
		At: aws.ToTime(e.Timestamp), Type: aws.ToString(e.ResourceType), ID: aws.ToString(e.PhysicalResourceId),
		Resource: cdkHash.ReplaceAllString(aws.ToString(e.LogicalResourceId), ""), Status: string(e.ResourceStatus),
		Reason: request.ReplaceAllString(reason, ""), Stack: aws.ToString(e.PhysicalResourceId) == aws.ToString(e.StackId),
	}
}

// failures says, a line each, which resources failed and why. It leaves out those
// that AWS stopped because of them.
func failures(events []Event) (lines []string) {
	for _, e := range events {
		if e.Failed() && !e.Stack && !strings.HasSuffix(strings.ToLower(e.Reason), "cancelled") {
			// The Lambda speaks to people with the CDK.
			reason := strings.ReplaceAll(e.Reason, `OnChangedRules: "overwrite"`, "--on-changed-rules overwrite")
			line := fmt.Sprintf("%s (%s): %s", e.Resource, e.Type, reason)
			if strings.Contains(strings.ToLower(e.Reason), "limit exceeded") || strings.Contains(e.Reason, "LimitExceeded") {
				line += "; " + errQuota.Error()
			}
			lines = append(lines, line)
		}
	}
	return lines
}

// Kept is a resource that AWS leaves when a stack goes.
type Kept struct {
	Resource string `json:"resource"`
	Type     string `json:"type"`
	ID       string `json:"id"`
}

// keptBy returns the resources that an operation has left behind.
func keptBy(events []Event) (kept []Kept) {
	for _, e := range events {
		if e.Status == string(types.ResourceStatusDeleteSkipped) {
			kept = append(kept, Kept{e.Resource, e.Type, e.ID})
		}
	}
	return kept
}
