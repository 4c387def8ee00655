package aws

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	lambda "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
)

// lookTime bounds the look at a stack before a command's own work.
const lookTime = 10 * time.Second

// The outputs of a limiter's stack end in these words. What stands before them
// is the id of the construct.
const (
	countersOutput = "CountersTable"
	rulesOutput    = "RulesTable"
	functionOutput = "Function"
)

// Limiter is one limiter of a stack.
type Limiter struct {
	ID            string // of the construct, without characters that outputs cannot have; may be empty
	CountersTable string
	RulesTable    string
	Function      string // of the authorizer
}

// Deployed is a limiter of a stack, with the code that the stack states. Only
// stacks of Deploy state it.
type Deployed struct {
	Limiter
	Version             string // of the template
	CodeBucket, CodeKey string // of the authorizer's zip
}

// LogGroup returns the log group of a function: the one of its configuration, or
// else the one that Lambda makes.
func LogGroup(function string, c *lambda.LoggingConfig) string {
	if c == nil || aws.ToString(c.LogGroup) == "" {
		return "/aws/lambda/" + function
	}
	return *c.LogGroup
}

// Limiter returns the limiter of a stack that has this id, by the stack's
// outputs. An empty id is enough for a stack that has one limiter. It fails with
// ErrNoStack or ErrNotPermitted, and names the limiters if id is none of them.
func (a *Account) Limiter(ctx context.Context, stack, id string) (Limiter, error) {
	d, err := a.Deployed(ctx, stack, id)
	return d.Limiter, err
}

// Deployed is like Limiter, and returns more.
func (a *Account) Deployed(ctx context.Context, stack, id string) (Deployed, error) {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	s, err := a.describe(ctx, stack)
	if err != nil {
		return Deployed{}, err
	}
	l, err := a.limiterOf(s, stack, id)
	return Deployed{l, outputOf(s, versionOutput), parameterOf(s, codeBucket), parameterOf(s, authorizerKey)}, err
}

func (a *Account) limiterOf(s *types.Stack, stack, id string) (Limiter, error) {
	all := limiters(s.Outputs)
	if id == "" && len(all) == 1 {
		return all[0], nil
	}
	addresses := make([]string, len(all))
	for i, l := range all {
		if l.ID == id {
			return l, nil
		}
		addresses[i] = strings.TrimSuffix("stack://"+stack+"/"+l.ID, "/")
	}
	switch {
	case len(all) == 0 && s.StackStatus == types.StackStatusCreateInProgress:
		return Limiter{}, fmt.Errorf("stack %s in region %s is still being created (%s): repeat the command once it is complete; %s shows it",
			stack, a.Region, s.StackStatus, watchAdvice(stack))
	case len(all) == 0:
		return Limiter{}, fmt.Errorf("stack %s in region %s (%s) has no limiter: none of its outputs end in %s and %s",
			stack, a.Region, s.StackStatus, countersOutput, rulesOutput)
	case id == "":
		return Limiter{}, fmt.Errorf("stack %s has several limiters: name one: %s", stack, strings.Join(addresses, ", "))
	}
	return Limiter{}, fmt.Errorf("stack %s has no limiter %s: it has %s", stack, id, strings.Join(addresses, ", "))
}

// limiters returns the limiters whose two tables are among the outputs, in the
// order of their ids.
func limiters(outputs []types.Output) (all []Limiter) {
	values := map[string]string{}
	for _, o := range outputs {
		values[aws.ToString(o.OutputKey)] = aws.ToString(o.OutputValue)
	}
	for key, counters := range values {
		id, ok := strings.CutSuffix(key, countersOutput)
		if rules := values[id+rulesOutput]; ok && rules != "" {
			all = append(all, Limiter{id, counters, rules, values[id+functionOutput]})
		}
	}
	slices.SortFunc(all, func(a, b Limiter) int { return strings.Compare(a.ID, b.ID) })
	return all
}

// describe returns a stack by its name or its ARN. It fails with ErrNoStack if
// there is none.
func (a *Account) describe(ctx context.Context, name string) (*types.Stack, error) {
	answer, err := a.CloudFormation.DescribeStacks(ctx, &cloudformation.DescribeStacksInput{StackName: &name})
	api, refused := errors.AsType[smithy.APIError](err)
	switch {
	case refused && api.ErrorCode() == "ValidationError" && strings.Contains(api.ErrorMessage(), "does not exist"), err == nil && len(answer.Stacks) == 0:
		return nil, fmt.Errorf("stack %s %w in region %s; check the name, AWS_REGION and AWS_PROFILE", name, ErrNoStack, a.Region)
	case err != nil:
		return nil, fmt.Errorf("stack %s in region %s: %w", name, a.Region, Explain(err))
	}
	return &answer.Stacks[0], nil
}
