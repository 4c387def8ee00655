package aws

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
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

// TestLocal: the address of CloudFormation, which makes the Lambdas, decides whether
// AWS is on this machine.
func TestLocal(t *testing.T) {
	for _, test := range []struct {
		all, own string // AWS_ENDPOINT_URL, AWS_ENDPOINT_URL_CLOUDFORMATION
		want     bool
	}{
		{"", "", false},
		{"http://127.0.0.1:4566", "", true},
		{"http://[::1]:4566", "", true},
		{"http://localhost:4566", "", true},
		{"http://localhost.localstack.cloud:4566", "", true},
		{"http://localhost.example.com:4566", "", false},
		{"http://10.0.0.1:4566", "", false},
		{"", "http://127.0.0.1:4566", true},
		{"http://127.0.0.1:4566", "https://cloudformation.eu-north-1.amazonaws.com", false},
	} {
		t.Setenv("AWS_CONFIG_FILE", "/dev/null")
		t.Setenv("AWS_SHARED_CREDENTIALS_FILE", "/dev/null")
		t.Setenv("AWS_ENDPOINT_URL", test.all)
		t.Setenv("AWS_ENDPOINT_URL_CLOUDFORMATION", test.own)
		cfg, err := config.LoadDefaultConfig(t.Context(), config.WithRegion(testRegion))
		if err != nil {
			t.Fatal(err)
		}
		if got := New(cfg).Local; got != test.want {
			t.Errorf("all %q, CloudFormation %q: %v, want %v", test.all, test.own, got, test.want)
		}
	}
}

// TestArchitecture: a new stack on a local AWS is for this machine, unless the
// caller says otherwise. A stack that exists keeps its architecture.
func TestArchitecture(t *testing.T) {
	here, ok := machines[runtime.GOARCH]
	if !ok {
		t.Skip("Lambda has no such architecture: " + runtime.GOARCH)
	}
	note := "using architecture " + here + ", because a local AWS runs Lambdas on this machine"
	for _, test := range []struct {
		local        bool
		given, stack string
		want, note   string
	}{
		{false, "", "", "arm64", ""},
		{false, "x86_64", "", "x86_64", ""},
		{true, "", "", here, note},
		{true, "x86_64", "", "x86_64", ""},
		{true, "", "arm64", "arm64", ""},
		{true, "x86_64", "arm64", "x86_64", ""},
	} {
		var old *types.Stack
		if test.stack != "" {
			old = &types.Stack{Parameters: []types.Parameter{{ParameterKey: aws.String(architecture), ParameterValue: &test.stack}}}
		}
		if name, note := (&Account{Local: test.local}).architectureOf(test.given, old); name != test.want || note != test.note {
			t.Errorf("%+v: %s, %q", test, name, note)
		}
	}
}

// The policy is for this stack and bucket, and for the region's partition. The golden
// files of `slidegate aws policy` hold the whole of it, with and without a role and a
// permissions boundary, neither of which depends on the other.
func TestPolicy(t *testing.T) {
	const role, bound = "arn:aws:iam::123456789012:role/deploy", "arn:aws:iam::123456789012:policy/bound"
	for _, test := range []struct {
		region      string
		o           Options
		want, lacks string
	}{
		{"eu-north-1", Options{}, `"arn:aws:s3:::slidegate-*/slidegate/*"`, role},
		{"cn-north-1", Options{Bucket: "mine"}, `"arn:aws-cn:s3:::mine/slidegate/*"`, "iam:PermissionsBoundary"},
		{"us-gov-west-1", Options{}, `"arn:aws-us-gov:cloudformation:*:*:stack/shop/*"`, "service_role"},
		{"", Options{PermissionsBoundary: aws.String("")}, `"arn:aws:secretsmanager:*:*:secret:shop/*"`, "iam:PermissionsBoundary"},
		{"", Options{PermissionsBoundary: aws.String(bound)}, `"Condition": {"StringEquals": {"iam:PermissionsBoundary": "` + bound + `"}}`, "service_role"},
		{"", Options{Role: aws.String(role)}, `"Resource": "` + role + `"`, "iam:PermissionsBoundary"},
	} {
		test.o.Stack = "shop"
		if text := Policy(test.region, test.o); !strings.Contains(text, test.want) || strings.Contains(text, test.lacks) || !json.Valid([]byte(text)) {
			t.Errorf("%s\nwant %s, and no %s", text, test.want, test.lacks)
		}
	}
}

// TestRoles: CloudFormation acts with the role that is given, and keeps it. The roles
// of the stack have the permissions boundary that is given.
func TestRoles(t *testing.T) {
	const role, bound = "arn:aws:iam::123456789012:role/deploy", "arn:aws:iam::123456789012:policy/bound"
	c, o, l := newCloud(), release(t), &listener{}
	o.Role, o.PermissionsBoundary, c.script = aws.String(role), aws.String(bound), creates
	if _, err := c.account().Deploy(t.Context(), o, l); err != nil || c.role != role || c.sent[boundary] != bound {
		t.Fatalf("creation: error %v, role %q, parameters %v", err, c.role, c.sent)
	}
	c.keep("shop")
	l.told = nil
	if r, err := c.account().Deploy(t.Context(), o, l); err != nil || r.Status != Unchanged || !strings.HasPrefix(l.told[len(l.told)-1], "warning: nothing changes, so CloudFormation") {
		t.Errorf("a role alone: %+v, error %v, told %q", r, err, l.told)
	}
	o.PermissionsBoundary, c.script = aws.String(""), updates
	if _, err := c.account().Deploy(t.Context(), o, l); err != nil || c.role != role || c.sent[boundary] != "" {
		t.Errorf("an update: error %v, role %q, parameters %v", err, c.role, c.sent)
	}
	c.stacks["shop"].Parameters, c.role = nil, ""
	c.keep("shop")
	c.stacks["shop"].RoleARN, l.told = aws.String(role), nil
	if _, err := c.account().Deploy(t.Context(), o, l); err != nil || len(l.told) != 1 {
		t.Errorf("the role that CloudFormation has: error %v, told %q", err, l.told)
	}
	c.script = []string{"- DELETE_COMPLETE"}
	if _, err := c.account().Delete(t.Context(), "shop", aws.String(role), l); err != nil || c.role != role {
		t.Errorf("deletion: error %v, role %q", err, c.role)
	}
}

// TestPlantedCode: somebody with write access to the bucket puts other code there,
// before the upload looks or after. The deployment stops with both hashes.
func TestPlantedCode(t *testing.T) {
	const planted = "some other code"
	o := release(t)
	key, hash, content := map[string]string{}, map[string]string{}, map[string]string{}
	for i, name := range []string{"authorizer", "operations"} {
		data, err := os.ReadFile(o.Code[i])
		if err != nil {
			t.Fatal(err)
		}
		content[name], hash[name] = string(data), predeploy.Hash(data)
		key[name] = "slidegate-123456789012-eu-north-1/" + prefix + hash[name] + ".zip"
	}
	lies := func(name string, o object) func(*cloud) { return func(c *cloud) { c.objects[key[name]] = o } }
	swaps := func(name string) func(*cloud) {
		return func(c *cloud) { c.swap = lies(name, newObject(planted)) }
	}
	refused := func(call string, then func(*cloud)) func(*cloud) {
		return func(c *cloud) { then(c); c.refuse[call] = refusal("S3", call, "AccessDenied", "Access Denied") }
	}
	isNot := func(i int, name string) string {
		return "s3://" + key[name] + " is not " + o.Code[i] + ": its SHA-256 is " + predeploy.Hash([]byte(planted)) + ", and that of the file is " + hash[name] + "; "
	}
	runs := func(function, name string) string {
		return "stack shop is deployed, but it may not run the code of this command: function " + function + " runs other code: its SHA-256 is " + predeploy.Hash([]byte(planted)) + ", and that of the deployed zip is " + hash[name] + "; "
	}
	for _, test := range []struct {
		name    string
		prepare func(*cloud)
		want    string // an error; "" for none
		created bool
	}{
		{"the same code", lies("authorizer", newObject(content["authorizer"])), "", true},
		{"the same code, uploaded in parts", lies("authorizer", object{content["authorizer"], "nlmFWpWzM2sDr5HbVrpWpWzM2sDr5HbVrpWpWzM2sDg=-2"}), "", true},
		{"the same code, without a checksum", lies("authorizer", object{content["authorizer"], ""}), "", true},
		{"other code", lies("authorizer", newObject(planted)), isNot(0, "authorizer"), false},
		{"other code, uploaded in parts", lies("authorizer", object{planted, "nlmFWpWzM2sDr5HbVrpWpWzM2sDr5HbVrpWpWzM2sDg=-2"}), isNot(0, "authorizer"), false},
		{"other code, without a checksum", lies("authorizer", object{planted, ""}), isNot(0, "authorizer"), false},
		{"an object that cannot be read", refused("read", lies("authorizer", object{planted, ""})), "read s3://" + key["authorizer"] + ", to compare it with ", false},
		{"other code after the upload", swaps("authorizer"), runs("f", "authorizer"), true},
		{"other code of the Lambda that publishes after the upload", swaps("operations"), runs("o", "operations"), true},
		{"no right to read a function", refused("GetFunctionConfiguration", func(*cloud) {}), "stack shop is deployed, but it may not run the code of this command: AWS does not permit the call", true},
		{"no right to list resources", refused("DescribeStackResources", func(*cloud) {}), "stack shop is deployed, but it may not run the code of this command: AWS does not permit the call", true},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, o := newCloud(), o
			c.script = creates
			c.buckets["slidegate-123456789012-eu-north-1"] = testRegion
			test.prepare(c)
			_, err := c.account().Deploy(t.Context(), o, &listener{})
			if (err == nil) != (test.want == "") || err != nil && !strings.HasPrefix(err.Error(), test.want) {
				t.Errorf("error %v\nwant %s", err, test.want)
			}
			if created := c.stacks["shop"] != nil; created != test.created {
				t.Errorf("created: %t, want %t", created, test.created)
			}
		})
	}
}

// TestRunsOtherCode: a deployment without changes compares the functions too, and
// says how to give one its code again.
func TestRunsOtherCode(t *testing.T) {
	c, o := newCloud(), release(t)
	c.script = creates
	if _, err := c.account().Deploy(t.Context(), o, &listener{}); err != nil {
		t.Fatal(err)
	}
	c.keep("shop")
	c.runs["o"] = newObject("by hand").checksum
	_, err := c.account().Deploy(t.Context(), o, &listener{})
	want := "find out who, and deploy again, which compares the object; if this remains, run `aws lambda update-function-code --function-name o --s3-bucket slidegate-123456789012-eu-north-1 --s3-key " + c.sent[operationsKey] + "`, and deploy once more"
	if err == nil || !strings.HasSuffix(err.Error(), want) {
		t.Errorf("%v\nwant %s", err, want)
	}
	delete(c.runs, "o")
	_, err = c.account().Deploy(t.Context(), o, &listener{})
	if err == nil || !strings.HasSuffix(err.Error(), "it has no function whose logical id ends in Operations") {
		t.Errorf("without the function: %v", err)
	}
}

// keep has a stack state the parameters that were sent.
func (c *cloud) keep(stack string) {
	s := c.stacks[stack]
	for name, value := range c.sent {
		if value != "(previous)" {
			s.Parameters = slices.DeleteFunc(s.Parameters, func(p types.Parameter) bool { return *p.ParameterKey == name })
			s.Parameters = append(s.Parameters, types.Parameter{ParameterKey: &name, ParameterValue: &value})
		}
	}
	s.StackStatus = types.StackStatusCreateComplete
}
