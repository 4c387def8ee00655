package ratelimit_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/lambdas"
	"github.com/slidegate/slidegate/infra/ratelimit"
	"github.com/slidegate/slidegate/internal/lambda/predeploy"
)

const someRules = "rules:\n  - {name: api, key: \"ip:{ip}\", limits: [{capacity: 10, window: 60s}]}\n"

// rulesFile writes a rules file, and returns its path.
func rulesFile(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "rules.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRules: the custom resource has the file and its hash. The rest of it, its
// function and what that may do are in the golden template.
func TestRules(t *testing.T) {
	got := withRules(t).One(t, "Custom::SlidegateRules", "RateLimitPublishedRules").Properties
	key, _ := got["Key"].(string)
	if !strings.HasSuffix(key, ".yaml") || got["Bucket"] == nil {
		t.Errorf("the file is %v of %v", got["Key"], got["Bucket"])
	}
	diff(t, "hash", any(predeploy.Hash([]byte(someRules))), got["Hash"])
	diff(t, "default", []any{"fail", "deployment"}, []any{got["OnChangedRules"], got["Why"]})
}

// TestLateEvent: Lambda runs no event of the custom resource that could end after
// CloudFormation has given up and rolled the stack back.
func TestLateEvent(t *testing.T) {
	tpl := withRules(t)
	events := tpl.One(t, "AWS::Lambda::EventInvokeConfig", "RateLimitOperations").Properties
	diff(t, "function", any(ref(tpl.ID(t, "AWS::Lambda::Function", "RateLimitOperations"))), events["FunctionName"])
	age, _ := events["MaximumEventAgeInSeconds"].(float64)
	timeout, _ := tpl.One(t, "AWS::Lambda::Function", "RateLimitOperations").Properties["Timeout"].(float64)
	wait := tpl.One(t, "Custom::SlidegateRules", "RateLimit").Properties["ServiceTimeout"]
	if age == 0 || fmt.Sprint(age+timeout) != wait {
		t.Errorf("an event waits %v s and runs %v s, and CloudFormation waits %v s", age, timeout, wait)
	}
}

// TestPolicyOfAnotherFile: another file leaves the policy as it is, because IAM
// applies a changed one too late for the deployment, and for its rollback.
func TestPolicyOfAnotherFile(t *testing.T) {
	policy := func(text string) any {
		tpl := synth(t, ratelimit.Props{Rules: rulesFile(t, text), OperationsCode: code(t)}, nil)
		return tpl.One(t, "AWS::IAM::Policy", "RateLimitOperationsRole").Properties["PolicyDocument"]
	}
	diff(t, "policy", policy(someRules), policy("# another\n"+someRules))
}

// TestRulesObject: the rules may be an object that the template's parameters
// name.
func TestRulesObject(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	parameter := func(id string) *string {
		return awscdk.NewCfnParameter(stack, jsii.String(id), nil).ValueAsString()
	}
	_, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{
		Code: code(t), OperationsCode: code(t), Standalone: true,
		RulesObject:    &ratelimit.RulesObject{Bucket: parameter("Bucket"), Key: parameter("Key"), Hash: parameter("Hash"), Suffix: ".yaml"},
		OnChangedRules: ratelimit.OverwriteChangedRules, RulesWhy: *parameter("Why"),
	})
	if err != nil {
		t.Fatal(err)
	}
	got := cdktest.Synth(t, stack).One(t, "Custom::SlidegateRules", "RateLimit").Properties
	for name, want := range map[string]any{
		"Bucket": ref("Bucket"), "Key": ref("Key"), "Hash": ref("Hash"), "Why": ref("Why"), "OnChangedRules": "overwrite",
	} {
		diff(t, name, want, got[name])
	}
}

func TestWithoutRules(t *testing.T) {
	for id, r := range plain(t).Resources {
		if strings.HasPrefix(id, "RateLimitOperations") || r.Type == "Custom::SlidegateRules" {
			t.Errorf("%s of type %s is for rules", id, r.Type)
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	ratelimit.SetZip(noZip)
	bad := rulesFile(t, strings.ReplaceAll(someRules, "60s", "60"))
	tests := []struct {
		name  string
		props ratelimit.Props
		want  string
	}{
		{"no file", ratelimit.Props{Rules: "missing.yaml", OperationsCode: code(t)}, "read the rules: open missing.yaml: "},
		{
			"not valid", ratelimit.Props{Rules: bad, OperationsCode: code(t)},
			"the Rules cannot be published:\n" + bad + ":2:65: rules[0].limits[0].window: needs a unit: write 60s for seconds",
		},
		{"no code", ratelimit.Props{Rules: rulesFile(t, someRules)}, "there is no code of the Lambda operations: " + lambdas.ErrNone.Error()},
		{
			"two places", ratelimit.Props{Rules: rulesFile(t, someRules), RulesObject: &ratelimit.RulesObject{}, OperationsCode: code(t)},
			"there are both Rules and RulesObject: leave one out",
		},
		{"no suffix", ratelimit.Props{Rules: "rules", OperationsCode: code(t)}, "the file rules of Rules has no suffix: name it rules.yaml"},
		{"an object without one", ratelimit.Props{RulesObject: &ratelimit.RulesObject{}, OperationsCode: code(t)}, "RulesObject has no Suffix"},
		{
			"an unknown way", ratelimit.Props{Rules: rulesFile(t, someRules), OperationsCode: code(t), OnChangedRules: "merge"},
			`OnChangedRules is "merge": use fail, overwrite or keep`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.props.Code = code(t)
			refuses(t, &tt.props, tt.want)
		})
	}
}

// TestWarningsOfRules: what slidegate rules validate warns of is a warning of the
// synthesis. All have one id, so an app that acknowledges it does so for any file.
func TestWarningsOfRules(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	bad := strings.ReplaceAll(someRules, "ip:{ip}", "{header.x-user}")
	path := rulesFile(t, bad+strings.ReplaceAll(strings.TrimPrefix(bad, "rules:\n"), "api", "web"))
	_, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{Code: code(t), OperationsCode: code(t), Standalone: true, Rules: path})
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []string{"2", "3"} {
		assertions.Annotations_FromStack(stack).HasWarning(jsii.String("/Test/RateLimit"),
			assertions.Match_StringLikeRegexp(jsii.String(`rules.yaml:`+line+`:.* \[ack: slidegate:rules\]$`)))
	}
}
