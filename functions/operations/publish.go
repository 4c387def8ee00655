package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

const (
	// answerTime is left of the Lambda's time for the answer. Without an answer,
	// CloudFormation waits for the resource's whole ServiceTimeout.
	answerTime = 5 * time.Second
	// maxReason bounds the text of a failure in bytes: CloudFormation takes
	// answers of 4,096 bytes, in which quotes and newlines take two each.
	maxReason = 1500
	// maxAttempts bounds the attempts of a deployment that meets others.
	maxAttempts = 3
)

// publisher publishes rules files for deployments of stacks.
type publisher struct {
	table   func(name string) *ruletable.Table
	objects interface {
		GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
	}
	stacks interface {
		DescribeStacks(context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error)
	}
	now func() time.Time
	log *slog.Logger
}

// handle answers an event of the custom resource. The resource's id is its
// table. Its attribute Version is the version in force. The end of the resource changes
// nothing: the rules stay, and the table may be gone.
func (p publisher) handle(ctx context.Context, event cfn.Event) (id string, data map[string]any, err error) {
	if event.RequestType == cfn.RequestDelete {
		return event.PhysicalResourceID, nil, nil
	}
	if end, ok := ctx.Deadline(); ok {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, end.Add(-answerTime))
		defer cancel()
	}
	d, err := readDeployment(event)
	if err == nil {
		var version int64
		if version, err = p.deploy(ctx, d); err == nil {
			return d.table, map[string]any{"Version": fmt.Sprint(version)}, nil
		}
		p.log.Error("deployment", "stack", d.stack, "error", err)
	}
	if text := err.Error(); len(text) > maxReason {
		err = errors.New(strings.ToValidUTF8(text[:maxReason], "") + " … (the function's log has all)")
	}
	return d.table, nil, err
}

// deploy does what a deployment must do, and returns the version in force
// afterwards. It starts again if somebody else publishes meanwhile.
func (p publisher) deploy(ctx context.Context, d deployment) (version int64, err error) {
	table := p.table(d.table)
	for range maxAttempts {
		if version, err = p.attempt(ctx, table, d); !errors.Is(err, ruletable.ErrConflict) {
			break
		}
	}
	return version, err
}

func (p publisher) attempt(ctx context.Context, table *ruletable.Table, d deployment) (int64, error) {
	current, err := readCurrent(ctx, table)
	if err != nil || current.hash == d.hash {
		return current.number, err
	}
	why, err := p.whyNot(ctx, table, d, current)
	if err != nil || why != "" {
		p.log.Info("nothing is published", "stack", d.stack, "why", why)
		return current.number, err
	}
	next, err := p.read(ctx, d)
	if err != nil {
		return 0, err
	}
	next.Note = ruletable.Note{Who: d.who(), When: p.now(), Why: d.why, Request: d.request}
	return table.Publish(ctx, next, current.previous)
}

// whyNot returns why a deployment leaves other rules than its own in force; ""
// if it publishes. The order matters:
//
//   - An event that arrives after the stack was rolled back is an error, which
//     CloudFormation no longer reads.
//   - A late repetition of an event must not publish what a later event has
//     replaced.
//   - Rules that this stack published are its own to replace.
//   - A stack that rolls back undoes what its deployment has published. All
//     other rules stay. It must not fail for them, because a stack whose
//     rollback fails takes no more deployments.
//   - A file that has not changed publishes nothing, except to overwrite.
//   - Rules that were set by hand, and then deployed as a file, are the stack's.
func (p publisher) whyNot(ctx context.Context, table *ruletable.Table, d deployment, current current) (why string, err error) {
	status, err := p.status(ctx, d.stackID)
	switch {
	case err != nil:
		return "", err
	case strings.Contains(status, "ROLLBACK_COMPLETE"), strings.Contains(status, "ROLLBACK_FAILED"):
		return "", fmt.Errorf("the event comes too late: the stack is %s", status)
	case current.number == 0, current.damaged:
		return "", nil
	}
	published, repeated, err := readPast(ctx, table, d)
	switch {
	case err != nil:
		return "", err
	case repeated:
		return "this event has published already", nil
	case published == current.number:
		return "", nil
	case strings.Contains(status, "ROLLBACK_IN_PROGRESS"):
		return "the stack rolls back, and this deployment has not published the rules in force", nil
	case d.hash == d.oldHash && d.onChanged != overwrite:
		return "the file has not changed", nil
	case current.hash == d.oldHash, d.onChanged == overwrite:
		return "", nil
	case d.onChanged == keep:
		return "the rules were changed by hand, and OnChangedRules is " + keep, nil
	}
	return "", changedByHand(d, current, published)
}

// changedByHand is the error that fails a deployment. published is the newest
// version that the stack published; 0 for none.
func changedByHand(d deployment, current current, published int64) error {
	v, why := current.version, ""
	if v.Why != "" {
		why = fmt.Sprintf(" (%.200q)", v.Why)
	}
	rollback := ""
	if published > 0 {
		rollback = fmt.Sprintf("`slidegate rules rollback %d --why TEXT --rules dynamodb://%s`, or ", published, d.table)
	}
	return fmt.Errorf("somebody changed the rules since the last deployment of this stack: version %d of table %s is by %.100s, at %s%s; "+
		"to keep it, write it into the file that you deploy, %s: `slidegate rules get --rules dynamodb://%s --output FILE`; "+
		"to discard it: %sOnChangedRules: %q for one deployment",
		v.Number, d.table, cmp.Or(v.Who, "somebody"), v.When.UTC().Format(time.RFC3339), why, d.file, d.table, rollback, overwrite)
}

// status returns the status of a stack. Events do not tell whether a deployment
// is being undone.
func (p publisher) status(ctx context.Context, stackID string) (string, error) {
	out, err := p.stacks.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &stackID})
	if err != nil {
		return "", fmt.Errorf("ask whether the stack rolls back: %w", err)
	}
	for _, s := range out.Stacks {
		return string(s.StackStatus), nil
	}
	return "", fmt.Errorf("CloudFormation has no stack %s", stackID)
}

// read reads and checks the rules file of a deployment, as `slidegate rules
// apply` does.
func (p publisher) read(ctx context.Context, d deployment) (v ruletable.Version, err error) {
	out, err := p.objects.GetObject(ctx, &s3.GetObjectInput{Bucket: &d.bucket, Key: &d.key})
	if err != nil {
		// S3 says AccessDenied also of what is not there.
		return v, fmt.Errorf("read the rules s3://%s/%s (is the object there?): %w", d.bucket, d.key, err)
	}
	defer out.Body.Close()
	text, err := rulefile.Read(out.Body)
	if err != nil {
		return v, fmt.Errorf("read the rules s3://%s/%s: %w", d.bucket, d.key, err)
	}
	if got := predeploy.Hash(text); got != d.hash {
		return v, fmt.Errorf("s3://%s/%s is not the file that is deployed: its SHA-256 is %s, and Hash is %s", d.bucket, d.key, got, d.hash)
	}
	set, err := rulefile.Parse(d.file, text)
	if err != nil {
		return v, err
	}
	v = ruletable.Version{Text: text, Document: set.Document()}
	return v, v.Check()
}
