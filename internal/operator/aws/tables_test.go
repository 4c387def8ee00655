package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/smithy-go"
)

// stacks is a CloudFormation with stacks by name.
type stacks map[string]types.Stack

func (s stacks) DescribeStacks(_ context.Context, in *cloudformation.DescribeStacksInput, _ ...func(*cloudformation.Options)) (*cloudformation.DescribeStacksOutput, error) {
	stack, ok := s[*in.StackName]
	if !ok {
		return nil, refusal("CloudFormation", "DescribeStacks", "ValidationError", "Stack with id "+*in.StackName+" does not exist")
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []types.Stack{stack}}, nil
}

// refusal is AWS's answer to a call.
func refusal(service, call, code, message string) error {
	return &smithy.OperationError{ServiceID: service, OperationName: call, Err: &smithy.GenericAPIError{Code: code, Message: message}}
}

// outputs returns outputs of pairs of a key and a value.
func outputs(pairs ...string) (all []types.Output) {
	for i := 0; i < len(pairs); i += 2 {
		all = append(all, types.Output{OutputKey: aws.String(pairs[i]), OutputValue: aws.String(pairs[i+1])})
	}
	return all
}

// A stack's outputs name its limiters. A request for one that is not there says
// which there are.
func TestLimiter(t *testing.T) {
	known := stacks{
		"one":     {Outputs: outputs("RateLimitCountersTable", "c", "RateLimitRulesTable", "r", "Url", "https://example.org")},
		"sample":  {Outputs: outputs("CountersTable", "c", "RulesTable", "r")},
		"two":     {Outputs: outputs("BCountersTable", "bc", "BRulesTable", "br", "ACountersTable", "ac", "ARulesTable", "ar")},
		"mixed":   {Outputs: outputs("CountersTable", "c", "RulesTable", "r", "BCountersTable", "bc", "BRulesTable", "br")},
		"foreign": {StackStatus: "UPDATE_COMPLETE", Outputs: outputs("CountersTable", "c", "BRulesTable", "r")},
		"young":   {StackStatus: "CREATE_IN_PROGRESS"},
	}
	for _, test := range []struct{ stack, id, want string }{
		{"one", "", "{RateLimit c r}"},
		{"one", "RateLimit", "{RateLimit c r}"},
		{"one", "Other", "stack one has no limiter Other: it has stack://one/RateLimit"},
		{"sample", "", "{ c r}"},
		{"two", "A", "{A ac ar}"},
		{"two", "", "stack two has several limiters: name one: stack://two/A, stack://two/B"},
		{"mixed", "", "{ c r}"},
		{"mixed", "B", "{B bc br}"},
		{"mixed", "C", "stack mixed has no limiter C: it has stack://mixed, stack://mixed/B"},
		{"foreign", "", "stack foreign in region eu-north-1 (UPDATE_COMPLETE) has no limiter: none of its outputs end in CountersTable and RulesTable"},
		{"young", "", "stack young in region eu-north-1 (CREATE_IN_PROGRESS) has no limiter: none of its outputs end in CountersTable and RulesTable"},
		{"none", "", "stack none does not exist in region eu-north-1; check the name, AWS_REGION and AWS_PROFILE"},
	} {
		a := &Account{CloudFormation: known, Region: "eu-north-1"}
		got, err := a.Limiter(t.Context(), test.stack, test.id)
		text := fmt.Sprint(got)
		if err != nil {
			text = err.Error()
		}
		if text != test.want {
			t.Errorf("%s/%s: %s\nwant %s", test.stack, test.id, text, test.want)
		}
		if errors.Is(err, ErrNoStack) != (test.stack == "none") {
			t.Errorf("%s: ErrNoStack is %v", test.stack, errors.Is(err, ErrNoStack))
		}
	}
}

// What AWS refuses is explained, with the right that is missing.
func TestExplain(t *testing.T) {
	for _, test := range []struct {
		err  error
		want string
	}{
		{refusal("CloudFormation", "DescribeStacks", "AccessDenied",
			"User: arn:aws:iam::1:user/ann is not authorized to perform: cloudformation:DescribeStacks on resource: arn:aws:cloudformation:x because no identity-based policy allows it"),
			"AWS does not permit the call: cloudformation:DescribeStacks on arn:aws:cloudformation:x ("},
		{refusal("S3", "HeadObject", "Forbidden", "Forbidden"), "AWS does not permit the call: s3:GetObject ("},
		{refusal("S3", "PutObject", "AccessDenied", "Access Denied"), "AWS does not permit the call: s3:PutObject ("},
		{refusal("STS", "GetCallerIdentity", "ExpiredToken", "x"), "AWS does not accept the credentials; sign in again"},
		{refusal("CloudFormation", "UpdateStack", "Throttling", "Rate exceeded"), "AWS throttles the calls"},
		{fmt.Errorf("call: %w", context.DeadlineExceeded), "AWS did not answer in time"},
		{errors.New("another"), "another"},
	} {
		got := explain(test.err)
		if !strings.HasPrefix(got.Error(), test.want) || !errors.Is(got, test.err) {
			t.Errorf("%v\nwant %s", got, test.want)
		}
	}
	if err := explain(nil); err != nil {
		t.Error(err)
	}
}
