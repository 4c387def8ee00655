package aws

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/store/dynamo"
)

// The errors of AWS's services. Each is wrapped together with the SDK's own.
var (
	ErrNoStack      = errors.New("does not exist")
	ErrNotPermitted = errors.New("AWS does not permit the call")
	errCredentials  = errors.New("AWS does not accept the credentials; sign in again (aws sso login), or check AWS_PROFILE and AWS_ACCESS_KEY_ID")
	errThrottled    = errors.New("AWS throttles the calls; repeat the command in a minute")
	errQuota        = errors.New("a quota of the account is reached; delete what nobody uses, or ask for more in Service Quotas")
	errUnreachable  = errors.New("AWS cannot be reached; check the network, AWS_REGION and AWS_ENDPOINT_URL")
	errTimeout      = errors.New("AWS did not answer in time; check the network, AWS_REGION and AWS_ENDPOINT_URL")
)

// codes maps the error codes that the services share.
var codes = map[string]error{
	"AccessDenied": ErrNotPermitted, "AccessDeniedException": ErrNotPermitted, "Forbidden": ErrNotPermitted, "UnauthorizedOperation": ErrNotPermitted,
	"ExpiredToken": errCredentials, "ExpiredTokenException": errCredentials, "InvalidClientTokenId": errCredentials,
	"InvalidAccessKeyId": errCredentials, "SignatureDoesNotMatch": errCredentials, "UnrecognizedClientException": errCredentials,
	"Throttling": errThrottled, "ThrottlingException": errThrottled, "SlowDown": errThrottled, "RequestLimitExceeded": errThrottled,
	"LimitExceeded": errQuota, "LimitExceededException": errQuota, "TooManyBuckets": errQuota, "ServiceQuotaExceededException": errQuota,
}

// codeOf returns AWS's code of an error; "" if AWS did not answer.
func codeOf(err error) string {
	if api, ok := errors.AsType[smithy.APIError](err); ok {
		return api.ErrorCode()
	}
	return ""
}

// Explain returns an error of the SDK with what to do about it. It returns nil
// for nil.
func Explain(err error) error {
	if err == nil {
		return nil
	}
	known := codes[codeOf(err)]
	_, unsent := errors.AsType[*smithyhttp.RequestSendError](err)
	switch {
	case errors.Is(known, ErrNotPermitted):
		return fmt.Errorf("%w: %s; %s (%w)", ErrNotPermitted, deniedCall(err), policyAdvice, err)
	case known != nil:
		return fmt.Errorf("%w (%w)", known, err)
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w (%w)", errTimeout, err)
	case unsent && !errors.Is(err, context.Canceled):
		return fmt.Errorf("%w (%w)", errUnreachable, err)
	}
	return err
}

const policyAdvice = "`slidegate aws policy` prints the policy that deployments need"

// denied is how AWS's services name the right that somebody lacks.
var denied = regexp.MustCompile(`not authorized to perform: ([\w-]+:\w+)(?: on resource: "?([^\s"]+))?`)

// deniedCall names the right that a refused call needs. S3 does not always name
// it: then the call does.
func deniedCall(err error) string {
	if rights := deniedRights(err.Error()); len(rights) > 0 {
		return rights[0]
	}
	call, ok := errors.AsType[*smithy.OperationError](err)
	if !ok {
		return "a call"
	}
	name := call.Operation()
	if action := actions[name]; action != "" {
		name = action
	}
	return strings.ToLower(call.Service()) + ":" + name
}

// actions names the rights of calls whose rights have other names.
var actions = map[string]string{
	"HeadBucket": "ListBucket", "HeadObject": "GetObject",
}

// deniedRights returns the rights that messages of AWS say are missing, with
// their resources.
func deniedRights(messages string) (rights []string) {
	for _, match := range denied.FindAllStringSubmatch(messages, -1) {
		right := match[1]
		if match[2] != "" {
			right += " on " + match[2]
		}
		rights = append(rights, right)
	}
	return rights
}

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
