package aws

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"golang.org/x/mod/semver"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

// versionOutput is the output by which a stack of Deploy is known. An output that
// ends in nextOutput is the next command to run.
const (
	versionOutput = "SlidegateVersion"
	nextOutput    = "Next"
)

// DefaultStack is the stack of commands that name none.
const DefaultStack = "slidegate"

// Options say what to deploy.
type Options struct {
	Stack          string
	Bucket         string            // empty to have one chosen
	Code           []string          // zips; empty for the command's own
	Template       string            // a file; empty for the one that the command carries
	Architecture   string            // arm64 or x86_64; empty for the stack's, or arm64, or this machine's on a local AWS
	Rules          string            // a file; empty to leave the rules as they are
	OnChangedRules string            // by hand, since the last deployment: fail, overwrite or keep; empty for fail
	Secrets        map[string]string // names or ARNs of Secrets Manager, by variables; an empty one goes
	AlarmTopic     *string           // the ARN of an SNS topic for alarms; "" for none, nil for the stack's
	// MaxWritesPerDay is the threshold of the alarm on writes: 0 removes the
	// alarm, nil keeps it.
	MaxWritesPerDay *int
	Without         []string // Parts to leave out; empty for none, nil to leave out the same as the stack
	With            []string // Functions to add; empty for none, nil for those of the stack
	Downgrade       bool     // deploys over a newer version
	// PermissionsBoundary is the ARN of a policy that bounds the roles of the stack;
	// "" for none, nil for the stack's. Role is that of the role with which
	// CloudFormation acts; nil for the stack's, or the caller's rights.
	PermissionsBoundary, Role *string
}

// Listener hears what a deployment does, and is asked before anything changes.
type Listener interface {
	Tell(format string, args ...any)
	Warn(format string, args ...any)
	Event(Event)
	// Confirm fails if the answer is no.
	Confirm(question string) error
}

// What became of a stack.
const (
	Created   = "created"
	Updated   = "updated"
	Unchanged = "unchanged"
	Deleted   = "deleted"
)

// DeployReport is what a deployment has done.
type DeployReport struct {
	Stack   string   `json:"stack"`
	Status  string   `json:"status"` // created, updated or unchanged
	Account string   `json:"account"`
	Region  string   `json:"region"`
	Version string   `json:"version"`
	Bucket  string   `json:"bucket"`
	Outputs []Output `json:"outputs"`
	Next    string   `json:"next,omitempty"` // a command
}

// Output is an output of a stack.
type Output struct {
	Name        string `json:"name"`
	Value       string `json:"value"`
	Description string `json:"description,omitempty"`
}

// Deploy creates or updates a stack. It checks all that it can before it changes
// anything. If AWS cannot carry out the change, it takes it back whole.
func (a *Account) Deploy(ctx context.Context, o Options, l Listener) (*DeployReport, error) {
	if err := o.checkTopic(a.Region); err != nil {
		return nil, err
	}
	rules, err := o.readRules(l)
	if err != nil {
		return nil, err
	}
	t, err := readTemplate(o.Template)
	if err != nil {
		return nil, err
	}
	old, err := a.describe(ctx, o.Stack)
	if err != nil && !errors.Is(err, ErrNoStack) {
		return nil, err
	}
	if err := checkOld(old, &t, o); err != nil {
		return nil, err
	}
	name, note := a.architectureOf(o.Architecture, old)
	if note != "" {
		l.Tell("%s", note)
	}
	authorizer, operations, err := readCode(o.Code, strings.Replace(name, "x86_64", "amd64", 1))
	if err != nil {
		return nil, err
	}
	given, err := settings(old, &t, o, rules)
	if err != nil {
		return nil, err
	}
	given[architecture] = name
	account, err := a.account(ctx)
	if err != nil {
		return nil, err
	}
	if old == nil {
		if err := l.Confirm(fmt.Sprintf("Create stack %s in account %s, region %s?", o.Stack, account, a.Region)); err != nil {
			return nil, err
		}
	}
	b, err := a.chooseBucket(ctx, account, o.Bucket, parameterOf(old, codeBucket), l.Tell)
	if err != nil {
		return nil, err
	}
	if old == nil {
		given[rulesBucket] = b.name // the Lambda's role names it also without rules
	}
	if err := b.uploadAll(ctx, authorizer, operations, rules, given, l.Tell); err != nil {
		return nil, err
	}
	r := &DeployReport{Stack: o.Stack, Status: Unchanged, Account: account, Region: a.Region, Version: releaseOf(t.version()), Bucket: b.name}
	if old != nil && !changes(old, &t, given) {
		if o.Role != nil && *o.Role != aws.ToString(old.RoleARN) {
			l.Warn("nothing changes, so CloudFormation does not take the role of --role-arn for stack %s: give it with the next change", o.Stack)
		}
		r.complete(old)
	} else if err := a.apply(ctx, r, old, &t, given, o.Role, l); err != nil {
		if o.Rules != "" && strings.Contains(err.Error(), given[rulesKey]) { // as the Lambda calls the file
			err = errors.New(strings.ReplaceAll(err.Error(), given[rulesKey], o.Rules))
		}
		return r, err
	}
	if err := a.verify(ctx, o.Stack, given); err != nil {
		return r, fmt.Errorf("stack %s is deployed, but it may not run the code of this command: %w", o.Stack, Explain(err))
	}
	return r, nil
}

// readRules reads and checks the rules file; nil for none.
func (o *Options) readRules(l Listener) (*rules, error) {
	if o.Rules == "" {
		return nil, nil
	}
	read, err := predeploy.Read(o.Rules)
	if err != nil {
		return nil, err
	}
	for _, warning := range read.Warnings {
		l.Warn("%s", warning)
	}
	if o.OnChangedRules == "keep" {
		l.Warn("%s is not published if somebody has changed the rules: `slidegate rules list --rules stack://%s` shows what is in force", o.Rules, o.Stack)
	}
	return &rules{o.Rules, read}, nil
}

// rules are a valid rules file.
type rules struct {
	name string
	*predeploy.File
}

// uploadAll uploads the files of a deployment, and adds their parameters.
func (b bucket) uploadAll(ctx context.Context, authorizer, operations file, rules *rules, given map[string]string, tell func(string, ...any)) (err error) {
	given[codeBucket] = b.name
	if given[authorizerKey], _, err = b.upload(ctx, authorizer, tell); err != nil {
		return err
	}
	if given[operationsKey], _, err = b.upload(ctx, operations, tell); err != nil || rules == nil {
		return err
	}
	given[rulesBucket] = b.name
	given[rulesKey], given[rulesHash], err = b.upload(ctx, file{rules.name, ".yaml", rules.Text}, tell)
	return err
}

// checkOld refuses a stack that cannot be updated by this template.
func checkOld(old *types.Stack, t *template, o Options) error {
	if old == nil {
		return nil
	}
	if err := checkOurs(old); err != nil {
		return err
	}
	if err := checkState(old); err != nil {
		return err
	}
	version := outputOf(old, versionOutput)
	if semver.Compare(version, t.version()) > 0 && semver.IsValid(t.version()) && !o.Downgrade {
		return fmt.Errorf("stack %s has version %s, and this command would deploy the older %s: install %[2]s or later, or give --downgrade",
			o.Stack, releaseOf(version), releaseOf(t.version()))
	}
	return nil
}

// checkOurs refuses a stack of something else. It also knows one that was never
// complete, and has no outputs yet.
func checkOurs(s *types.Stack) error {
	if parameterOf(s, authorizerKey) == "" {
		return fmt.Errorf("stack %s was not made by `slidegate aws deploy`: it has no parameter %s; give another --stack", aws.ToString(s.StackName), authorizerKey)
	}
	return nil
}

// releaseOf returns a version without the hash of its template.
func releaseOf(version string) string {
	version, _, _ = strings.Cut(version, "+")
	return version
}

// checkState refuses a stack whose state permits no update.
func checkState(s *types.Stack) error {
	name, status := aws.ToString(s.StackName), s.StackStatus
	advice := ""
	switch status {
	case types.StackStatusCreateComplete, types.StackStatusUpdateComplete, types.StackStatusUpdateRollbackComplete, types.StackStatusImportComplete,
		types.StackStatusImportRollbackComplete:
		return nil
	case types.StackStatusUpdateRollbackFailed:
		advice = "AWS could not take its last update back: remove the cause, then run `aws cloudformation continue-update-rollback --stack-name " + name + "`"
	case types.StackStatusUpdateFailed:
		advice = "its last update failed: take it back by `aws cloudformation rollback-stack --stack-name " + name + "`"
	case types.StackStatusRollbackComplete, types.StackStatusRollbackFailed, types.StackStatusCreateFailed, types.StackStatusDeleteFailed:
		advice = "AWS updates no such stack: run `slidegate aws delete --stack " + name + "`, then deploy again"
	default:
		advice = "another operation is under way: deploy again once it has ended; " + watchAdvice(name) + " shows it"
	}
	reason := ""
	if s.StackStatusReason != nil && *s.StackStatusReason != "" {
		reason = " (" + *s.StackStatusReason + ")"
	}
	return fmt.Errorf("stack %s is %s%s: %s", name, status, reason, advice)
}

func watchAdvice(stack string) string {
	return "`aws cloudformation describe-stack-events --stack-name " + stack + "`"
}

// apply creates or updates the stack, waits until that has ended, and completes
// the report.
func (a *Account) apply(ctx context.Context, r *DeployReport, old *types.Stack, t *template, given map[string]string, role *string, l Listener) (err error) {
	op := operation{}
	r.Status = Created
	if old == nil {
		op, err = a.create(ctx, r.Stack, t, given, role)
	} else {
		r.Status = Updated
		op, err = a.update(ctx, old, t, given, role)
	}
	switch {
	case codeOf(err) == "AlreadyExistsException":
		return fmt.Errorf("stack %s was created by somebody else just now: deploy again to update it (%w)", r.Stack, err)
	case err != nil:
		return fmt.Errorf("stack %s: %w", r.Stack, Explain(err))
	}
	l.Tell("%s stack %s in account %s, region %s", map[string]string{Created: "creating", Updated: "updating"}[r.Status], r.Stack, r.Account, r.Region)
	events, err := a.follow(ctx, op, l.Event)
	if err != nil {
		return a.leave(r.Stack, err)
	}
	s, err := a.describe(ctx, op.stack)
	if err != nil {
		return err
	}
	if s.StackStatus != types.StackStatusCreateComplete && s.StackStatus != types.StackStatusUpdateComplete {
		return a.failed(r.Stack, s.StackStatus, events)
	}
	r.complete(s)
	return nil
}

// create has AWS create the stack. If that fails, AWS deletes the stack again: it
// could not be updated.
func (a *Account) create(ctx context.Context, stack string, t *template, given map[string]string, role *string) (operation, error) {
	answer, err := a.CloudFormation.CreateStack(ctx, &cloudformation.CreateStackInput{
		StackName: &stack, TemplateBody: &t.text, RoleARN: role, Parameters: t.parameters(nil, given), OnFailure: types.OnFailureDelete,
		Capabilities: []types.Capability{types.CapabilityCapabilityIam}, ClientRequestToken: aws.String(rand.Text()),
	})
	if err != nil {
		return operation{}, err
	}
	return operation{aws.ToString(answer.StackId), "", []string{"CREATE_COMPLETE", "DELETE_COMPLETE", "DELETE_FAILED"}}, nil
}

func (a *Account) update(ctx context.Context, old *types.Stack, t *template, given map[string]string, role *string) (operation, error) {
	last, err := a.lastEvent(ctx, *old.StackId)
	if err != nil {
		return operation{}, err
	}
	_, err = a.CloudFormation.UpdateStack(ctx, &cloudformation.UpdateStackInput{
		StackName: old.StackId, TemplateBody: &t.text, RoleARN: role, Parameters: t.parameters(old, given),
		Capabilities: []types.Capability{types.CapabilityCapabilityIam}, ClientRequestToken: aws.String(rand.Text()),
	})
	return operation{*old.StackId, last, []string{"UPDATE_COMPLETE", "UPDATE_ROLLBACK_COMPLETE", "UPDATE_ROLLBACK_FAILED", "UPDATE_FAILED"}}, err
}

// complete adds a stack's outputs to the report. Those for programs stay out.
func (r *DeployReport) complete(s *types.Stack) {
	r.Outputs = []Output{}
	for _, o := range s.Outputs {
		name := aws.ToString(o.OutputKey)
		switch {
		case name == versionOutput:
		case strings.HasSuffix(name, nextOutput):
			r.Next = aws.ToString(o.OutputValue)
		default:
			r.Outputs = append(r.Outputs, Output{name, aws.ToString(o.OutputValue), aws.ToString(o.Description)})
		}
	}
	slices.SortFunc(r.Outputs, func(a, b Output) int { return strings.Compare(a.Name, b.Name) })
}
