package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// leave says what goes on in AWS when a command ends before the operation.
func (a *Account) leave(stack string, err error) error {
	goesOn := fmt.Sprintf("AWS goes on with stack %s in region %s; %s shows it", stack, a.Region, watchAdvice(stack))
	if errors.Is(err, context.Canceled) {
		return errors.New("interrupted: " + goesOn)
	}
	return fmt.Errorf("the events of stack %s cannot be read: %s (%w)", stack, goesOn, err)
}

// failed says why an operation failed, and what state AWS has left.
func (a *Account) failed(stack string, status types.StackStatus, events []Event) error {
	lines := []string{map[types.StackStatus]string{
		types.StackStatusDeleteComplete:         "stack " + stack + " could not be created, and AWS deleted it again",
		types.StackStatusUpdateRollbackComplete: "stack " + stack + " could not be updated, and is as before: AWS took the update back",
	}[status]}
	if lines[0] == "" {
		lines[0] = fmt.Sprintf("stack %s is %s", stack, status)
	}
	lines = append(lines, failures(events)...)
	if lacksRights(events) {
		lines = append(lines, "the credentials of this command, or the role of --role-arn, lack rights; "+policyAdvice)
	}
	for _, k := range keptBy(events) {
		lines = append(lines, fmt.Sprintf("%s %s (%s) is left: delete it, unless you need it", k.Resource, k.ID, k.Type))
	}
	return errors.New(strings.Join(lines, "\n"))
}

// lacksRights reports whether AWS refused the caller of an operation. What a
// Lambda's own role lacks is another matter.
func lacksRights(events []Event) bool {
	return slices.ContainsFunc(events, func(e Event) bool {
		return e.Failed() && !strings.HasPrefix(e.Type, "Custom::") && len(deniedRights(e.Reason)) > 0
	})
}

// DeleteReport is what is left of a stack.
type DeleteReport struct {
	Stack   string `json:"stack"`
	Status  string `json:"status"` // deleted
	Account string `json:"account"`
	Region  string `json:"region"`
	Kept    []Kept `json:"kept"`
}

// DetachCommand returns the command that takes an attach back, as a shell takes it.
func DetachCommand(api, stage, limiter string) string {
	command := "slidegate aws detach " + api + " --stage " + strings.Replace(stage, "$default", "'$default'", 1)
	if limiter != "stack://"+DefaultStack {
		command += " --limiter " + limiter
	}
	return command
}

// checkDetached refuses a stack whose rules table keeps what attached APIs had
// before. Without the stack they would answer 500, and detach would not find the
// table. A table that is gone keeps nothing.
func (a *Account) checkDetached(ctx context.Context, s *types.Stack, stack string) error {
	for _, l := range limiters(s.Outputs) {
		stages, err := a.Attached(ctx, l.RulesTable)
		if err != nil && !errors.Is(err, dynamo.ErrNoTable) {
			return fmt.Errorf("stack %s stays, because nothing shows whether APIs are attached to it: %w", stack, Explain(err))
		}
		for i, at := range stages {
			api, stage, _ := strings.Cut(at, "/")
			stages[i] = fmt.Sprintf("API %s, stage %s: %s", api, stage, DetachCommand(api, stage, "stack://"+stack))
		}
		if len(stages) > 0 {
			return fmt.Errorf("APIs are attached to stack %s, and would answer 500 without it: detach them first, or with --forget what needs no restoring:\n%s", stack, strings.Join(stages, "\n"))
		}
	}
	return nil
}

// Delete deletes a stack that Deploy made, in any state, once no API is attached to
// it. Its tables stay. The role is as in Options.
func (a *Account) Delete(ctx context.Context, stack string, role *string, l Listener) (*DeleteReport, error) {
	s, err := a.describe(ctx, stack)
	if err != nil {
		return nil, err
	}
	if err := checkOurs(s); err != nil {
		return nil, err
	}
	if err := a.checkDetached(ctx, s, stack); err != nil {
		return nil, err
	}
	account, err := a.account(ctx)
	if err != nil {
		return nil, err
	}
	err = l.Confirm(fmt.Sprintf("Delete stack %s in account %s, region %s? APIs that still have its authorizer will answer 500.", stack, account, a.Region))
	if err != nil {
		return nil, err
	}
	last, err := a.lastEvent(ctx, *s.StackId)
	if err != nil {
		return nil, err
	}
	if _, err := a.CloudFormation.DeleteStack(ctx, &cloudformation.DeleteStackInput{StackName: s.StackId, RoleARN: role}); err != nil {
		return nil, fmt.Errorf("stack %s: %w", stack, Explain(err))
	}
	l.Tell("deleting stack %s in account %s, region %s", stack, account, a.Region)
	events, err := a.follow(ctx, operation{*s.StackId, last, []string{"DELETE_COMPLETE", "DELETE_FAILED"}}, l.Event)
	if err != nil {
		return nil, a.leave(stack, err)
	}
	if s, err = a.describe(ctx, aws.ToString(s.StackId)); err != nil {
		return nil, err
	}
	if s.StackStatus != types.StackStatusDeleteComplete {
		return nil, a.failed(stack, s.StackStatus, events)
	}
	return &DeleteReport{stack, Deleted, account, a.Region, append([]Kept{}, keptBy(events)...)}, nil
}
