package aws

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
)

// A stack's outputs name its limiters. A request for one that is not there says
// which there are.
func TestLimiter(t *testing.T) {
	known := map[string]*types.Stack{
		"one":     {Outputs: outputs("RateLimitCountersTable", "c", "RateLimitRulesTable", "r", "RateLimitFunction", "f", "Url", "https://example.org")},
		"sample":  {Outputs: outputs("CountersTable", "c", "RulesTable", "r")},
		"two":     {Outputs: outputs("BCountersTable", "bc", "BRulesTable", "br", "ACountersTable", "ac", "ARulesTable", "ar")},
		"mixed":   {Outputs: outputs("CountersTable", "c", "RulesTable", "r", "BCountersTable", "bc", "BRulesTable", "br")},
		"foreign": {StackStatus: "UPDATE_COMPLETE", Outputs: outputs("CountersTable", "c", "BRulesTable", "r")},
		"young":   {StackStatus: "CREATE_IN_PROGRESS"},
	}
	for _, test := range []struct{ stack, id, want string }{
		{"one", "", "{RateLimit c r f}"},
		{"one", "RateLimit", "{RateLimit c r f}"},
		{"one", "Other", "stack one has no limiter Other: it has stack://one/RateLimit"},
		{"sample", "", "{ c r }"},
		{"two", "A", "{A ac ar }"},
		{"two", "", "stack two has several limiters: name one: stack://two/A, stack://two/B"},
		{"mixed", "", "{ c r }"},
		{"mixed", "B", "{B bc br }"},
		{"mixed", "C", "stack mixed has no limiter C: it has stack://mixed, stack://mixed/B"},
		{"foreign", "", "stack foreign in region eu-north-1 (UPDATE_COMPLETE) has no limiter: none of its outputs end in CountersTable and RulesTable"},
		{"young", "", "stack young in region eu-north-1 is still being created (CREATE_IN_PROGRESS): repeat the command once it is complete; " +
			"`aws cloudformation describe-stack-events --stack-name young` shows it"},
		{"none", "", "stack none does not exist in region eu-north-1; check the name, AWS_REGION and AWS_PROFILE"},
	} {
		a := (&cloud{stacks: known}).account()
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
			"AWS does not permit the call: cloudformation:DescribeStacks on arn:aws:cloudformation:x; `slidegate aws policy` prints"},
		{refusal("S3", "HeadObject", "Forbidden", "Forbidden"), "AWS does not permit the call: s3:GetObject; "},
		{refusal("S3", "PutObject", "AccessDenied", "Access Denied"), "AWS does not permit the call: s3:PutObject; "},
		{refusal("STS", "GetCallerIdentity", "ExpiredToken", "x"), "AWS does not accept the credentials; sign in again"},
		{refusal("CloudFormation", "UpdateStack", "Throttling", "Rate exceeded"), "AWS throttles the calls"},
		{fmt.Errorf("call: %w", context.DeadlineExceeded), "AWS did not answer in time"},
		{errors.New("another"), "another"},
	} {
		got := Explain(test.err)
		if !strings.HasPrefix(got.Error(), test.want) || !errors.Is(got, test.err) {
			t.Errorf("%v\nwant %s", got, test.want)
		}
	}
	if err := Explain(nil); err != nil {
		t.Error(err)
	}
}
