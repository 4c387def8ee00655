package aws

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/google/go-cmp/cmp"
)

var (
	creates   = []string{"- CREATE_IN_PROGRESS", "RateLimitRules1A2B3C4D CREATE_IN_PROGRESS", "RateLimitRules1A2B3C4D CREATE_COMPLETE", "- CREATE_COMPLETE"}
	updates   = []string{"- UPDATE_IN_PROGRESS", "Publish UPDATE_COMPLETE", "- UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "- UPDATE_COMPLETE"}
	takesBack = []string{"- UPDATE_IN_PROGRESS", "Other UPDATE_FAILED Resource update cancelled",
		"Publish UPDATE_FAILED Received response status [FAILED] from custom resource. Message returned: version 3 was published by jo, or OnChangedRules: \"overwrite\" for one deployment (RequestId: 1-2)",
		"- UPDATE_ROLLBACK_IN_PROGRESS", "Publish UPDATE_COMPLETE", "- UPDATE_ROLLBACK_COMPLETE"}
)

// hashed are rules with a secret.
const hashed = `
hash_secret: {env: SLIDEGATE_HASH_SECRET, check: "7b5d1a0c"}
rules:
  - {name: api, key: 'ip:{ip}', hash: true, limit: 10/minute}
`

// A first deployment creates a bucket and the stack. The next one uploads what is
// new, and leaves the parameters that it does not state as they are.
func TestDeploy(t *testing.T) {
	c, o, l := newCloud(), release(t), &listener{}
	c.script = creates
	o.Rules = rulesFile(t, hashed)
	o.Secrets = map[string]string{"SLIDEGATE_HASH_SECRET": "shop/hash"}
	r, err := c.account().Deploy(t.Context(), o, l)
	if err != nil {
		t.Fatal(err)
	}
	const bucket = "slidegate-123456789012-eu-north-1"
	want := &DeployReport{
		Stack: "shop", Status: Created, Account: testAccount, Region: testRegion, Version: "v1.2.0", Bucket: bucket, Next: "slidegate next",
		Outputs: []Output{{Name: "RateLimitCountersTable", Value: "counters"}, {Name: "RateLimitRulesTable", Value: "rules"}},
	}
	same(t, "report", r, want)
	same(t, "calls", c.calls, []string{
		"CreateBucket " + bucket + " in eu-north-1", "PutBucketPolicy",
		"PutObject " + bucket + "/slidegate/79….zip", "PutObject " + bucket + "/slidegate/b7….zip", "PutObject " + bucket + "/slidegate/93….yaml",
		"CreateStack DELETE",
	})
	same(t, "policy", c.policy, `{"Version":"2012-10-17","Statement":[{"Effect":"Deny","Principal":"*","Action":"s3:*","Resource":["arn:aws:s3:::`+bucket+
		`","arn:aws:s3:::`+bucket+`/*"],"Condition":{"Bool":{"aws:SecureTransport":"false"}}}]}`)
	same(t, "messages", l.told, []string{
		"Create stack shop in account 123456789012, region eu-north-1?", "created bucket " + bucket + ": private, encrypted, and for TLS alone",
		"uploaded " + o.Code[0], "uploaded " + o.Code[1], "uploaded " + o.Rules, "creating stack shop in account 123456789012, region eu-north-1",
		"- CREATE_IN_PROGRESS", "RateLimitRules CREATE_IN_PROGRESS", "RateLimitRules CREATE_COMPLETE", "- CREATE_COMPLETE",
	})
	if c.sent["HashSecret"] != "shop/hash" || c.sent["Architecture"] != "arm64" || len(c.sent["RulesHash"]) != 64 || c.sent["RulesKey"] != prefix+c.sent["RulesHash"]+".yaml" {
		t.Errorf("parameters %v", c.sent)
	}

	earlier := c.sent
	c.keep("shop")
	c.calls, c.script, l = nil, updates, &listener{}
	o.Rules = rulesFile(t, hashed+"# new")
	o.Secrets = nil
	if r, err = c.account().Deploy(t.Context(), o, l); err != nil {
		t.Fatal(err)
	}
	same(t, "status", r.Status, Updated)
	same(t, "calls", c.calls, []string{"PutObject " + bucket + "/slidegate/fa….yaml", "UpdateStack"})
	same(t, "messages", l.told, []string{"using bucket " + bucket, "uploaded " + o.Rules, "updating stack shop in account 123456789012, region eu-north-1",
		"- UPDATE_IN_PROGRESS", "Publish UPDATE_COMPLETE", "- UPDATE_COMPLETE_CLEANUP_IN_PROGRESS", "- UPDATE_COMPLETE"})
	same(t, "HashSecret", c.sent["HashSecret"], "(previous)")
	if c.sent["RulesHash"] == earlier["RulesHash"] || c.sent["AuthorizerKey"] != earlier["AuthorizerKey"] {
		t.Errorf("parameters %v", c.sent)
	}

	c.keep("shop")
	for _, o.Rules = range []string{o.Rules, ""} {
		c.calls = nil
		if r, err = c.account().Deploy(t.Context(), o, l); err != nil || r.Status != Unchanged || len(r.Outputs) != 2 || len(c.calls) > 0 {
			t.Errorf("nothing to update: %+v, %v, calls %q", r, err, c.calls)
		}
	}
	o.Secrets = map[string]string{"SLIDEGATE_HASH_SECRET": "shop/hash:SecretString:::2"}
	if r, err = c.account().Deploy(t.Context(), o, l); err != nil || r.Status != Updated || c.sent["HashSecret"] != "shop/hash:SecretString:::2" {
		t.Errorf("another version of a secret: %+v, %v, parameters %v", r, err, c.sent)
	}
	o.Secrets, o.AlarmTopic, o.MaxWritesPerDay = nil, aws.String("arn:aws:sns:eu-north-1:123456789012:alarms"), aws.Int(5_000_000)
	if _, err = c.account().Deploy(t.Context(), o, l); err != nil || c.sent["AlarmTopic"] != *o.AlarmTopic || c.sent["MaxWritesPerDay"] != "5000000" {
		t.Errorf("alarms: %v, parameters %v", err, c.sent)
	}
	o.AlarmTopic, o.MaxWritesPerDay = aws.String(""), aws.Int(0)
	if _, err = c.account().Deploy(t.Context(), o, l); err != nil || c.sent["AlarmTopic"] != "" || c.sent["MaxWritesPerDay"] != "0" {
		t.Errorf("no more alarms: %v, parameters %v", err, c.sent)
	}
	o.AlarmTopic, o.MaxWritesPerDay = nil, nil
	for _, step := range []struct {
		without []string
		want    string // the parameters of metrics, alarms and dashboard
	}{{[]string{"alarms", "dashboard"}, "on off off"}, {nil, "(previous) (previous) (previous)"}, {[]string{"metrics"}, "off on on"}, {[]string{"none"}, "on on on"}} {
		o.Without = step.without
		c.stacks["shop"].Outputs = nil // of another version
		_, err := c.account().Deploy(t.Context(), o, l)
		if sent := c.sent["Metrics"] + " " + c.sent["Alarms"] + " " + c.sent["Dashboard"]; err != nil || sent != step.want {
			t.Errorf("without %q: %v, parameters %s, want %s", step.without, err, sent, step.want)
		}
		c.keep("shop")
	}
	o.Without = nil
	for _, step := range []struct {
		with   []string
		secret string
		want   string // the parameters of both functions, or the error
	}{
		{[]string{"settle"}, "shop/receipts", "off on"}, {nil, "", "(previous) (previous)"}, {[]string{"decide", "settle"}, "", "on on"}, {[]string{"none"}, "", "off off"},
	} {
		o.With, o.Secrets = step.with, nil
		if step.secret != "" {
			o.Secrets = map[string]string{"SLIDEGATE_RECEIPT_SECRET": step.secret}
		}
		c.stacks["shop"].Outputs = nil // of another version
		_, err := c.account().Deploy(t.Context(), o, l)
		if sent := c.sent["Decide"] + " " + c.sent["Settle"]; err != nil || sent != step.want {
			t.Errorf("with %q: %v, parameters %s, want %s", step.with, err, sent, step.want)
		}
		c.keep("shop")
	}
	o.With, o.Secrets = nil, nil
	writeTemplate(t, o.Template, "v1.2.0+1")
	c.stacks["shop"].Outputs = outputs(versionOutput, "v1.2.0+2")
	if r, err = c.account().Deploy(t.Context(), o, l); err != nil || r.Status != Updated || r.Version != "v1.2.0" {
		t.Errorf("another template of the version: %+v, %v", r, err)
	}
}

func same[T any](t *testing.T, what string, got, want T) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// TestRefusals: what deployments refuse, and what AWS refuses. calls are those that
// changed something before.
func TestRefusals(t *testing.T) {
	ours := []types.Parameter{{ParameterKey: aws.String(authorizerKey), ParameterValue: aws.String("slidegate/1.zip")}}
	stack := func(status types.StackStatus) func(*cloud, *Options) {
		return func(c *cloud, _ *Options) {
			c.stacks["shop"] = &types.Stack{StackName: aws.String("shop"), StackId: aws.String("arn:shop"), StackStatus: status, Outputs: outputs(versionOutput, "v1.2.0"), Parameters: ours}
		}
	}
	refused := func(service, call, code, message string) func(*cloud, *Options) {
		return func(c *cloud, _ *Options) { c.refuse[call] = refusal(service, call, code, message) }
	}
	script := func(status types.StackStatus, steps ...string) func(*cloud, *Options) {
		return func(c *cloud, o *Options) {
			if c.script = steps; status != "" {
				stack(status)(c, o)
			}
		}
	}
	const unpermitted = "User: arn:aws:iam::123456789012:user/ann is not authorized to perform: "
	for _, test := range []struct {
		name    string
		prepare func(*cloud, *Options)
		want    string
		calls   int // 0: nothing has changed
	}{
		{"an update under way", stack("UPDATE_IN_PROGRESS"), "stack shop is UPDATE_IN_PROGRESS: another operation is under way: deploy again once it has ended; `aws cloudformation describe-stack-events --stack-name shop` shows it", 0},
		{"a cleanup under way", stack("UPDATE_COMPLETE_CLEANUP_IN_PROGRESS"), "another operation is under way", 0},
		{"a failed creation", stack("ROLLBACK_COMPLETE"), "stack shop is ROLLBACK_COMPLETE: AWS updates no such stack: run `slidegate aws delete --stack shop`, then deploy again", 0},
		{"a failed deletion", stack("DELETE_FAILED"), "run `slidegate aws delete --stack shop`, then deploy again", 0},
		{"a failed rollback of an update", stack("UPDATE_ROLLBACK_FAILED"), "run `aws cloudformation continue-update-rollback --stack-name shop`", 0},
		{"a failed update that stayed", stack("UPDATE_FAILED"), "take it back by `aws cloudformation rollback-stack --stack-name shop`", 0},
		{"no topic", func(_ *cloud, o *Options) { o.AlarmTopic = aws.String("alarms") },
			"the topic alarms is not the ARN of an SNS topic, such as arn:aws:sns:eu-north-1:123456789012:alarms", 0},
		{"a topic without alarms", func(_ *cloud, o *Options) {
			o.Without, o.AlarmTopic = []string{"alarms"}, aws.String("arn:aws:sns:eu-north-1:123456789012:alarms")
		}, "the stack is without alarms: leave out --alarm-topic and --max-writes-per-day, or give --without none", 0},
		{"writes without both", func(_ *cloud, o *Options) {
			o.Without, o.MaxWritesPerDay = []string{"metrics", "alarms"}, aws.Int(5)
		}, "the stack is without alarms: ", 0},
		{"writes without metrics, as the stack is", func(c *cloud, o *Options) {
			stack(types.StackStatusCreateComplete)(c, o)
			c.stacks["shop"].Parameters = append(slices.Clip(ours), types.Parameter{ParameterKey: aws.String("Metrics"), ParameterValue: aws.String("off")})
			o.MaxWritesPerDay = aws.Int(5)
		}, "the stack is without metrics: ", 0},
		{"a function without its secret", func(_ *cloud, o *Options) { o.With = []string{"settle"} },
			"the function settle needs the secret that signs receipts: give --secret SLIDEGATE_RECEIPT_SECRET=NAME", 0},
		{"the secret of a function that the stack has", func(c *cloud, o *Options) {
			stack(types.StackStatusCreateComplete)(c, o)
			c.stacks["shop"].Parameters = append(slices.Clip(ours), types.Parameter{ParameterKey: aws.String("Decide"), ParameterValue: aws.String("on")},
				types.Parameter{ParameterKey: aws.String("ReceiptSecret"), ParameterValue: aws.String("shop/receipts")})
			o.Secrets = map[string]string{"SLIDEGATE_RECEIPT_SECRET": ""}
		}, "the function decide needs the secret that signs receipts", 0},
		{"a queue", func(_ *cloud, o *Options) { o.AlarmTopic = aws.String("arn:aws:sqs:eu-north-1:123456789012:alarms") }, "is not the ARN of an SNS topic", 0},
		{"a topic of another region", func(_ *cloud, o *Options) { o.AlarmTopic = aws.String("arn:aws:sns:us-east-1:123456789012:alarms") },
			"is in region us-east-1, and the alarms are in eu-north-1: give a topic there", 0},
		{"a stack of something else", func(c *cloud, o *Options) { stack("CREATE_COMPLETE")(c, o); c.stacks["shop"].Parameters = nil },
			"stack shop was not made by `slidegate aws deploy`: it has no parameter AuthorizerKey; give another --stack", 0},
		{"a newer stack", func(c *cloud, o *Options) {
			stack("CREATE_COMPLETE")(c, o)
			c.stacks["shop"].Outputs = outputs(versionOutput, "v1.10.0+0a1b2c")
		}, "stack shop has version v1.10.0, and this command would deploy the older v1.2.0: install v1.10.0 or later, or give --downgrade", 0},

		{"code of another name", func(_ *cloud, o *Options) { o.Code[0] = "authorizer.zip" }, "--code authorizer.zip: want the name that releases have, such as authorizer_arm64.zip", 0},
		{"code for another architecture", func(_ *cloud, o *Options) { o.Architecture = "x86_64" }, "_arm64.zip: the stack's Lambdas are for amd64: give that code, or another --architecture", 0},
		{"code that is missing", func(_ *cloud, o *Options) { o.Code = o.Code[:1] }, "this build of slidegate carries no Lambda code", 0},
		{"a zip that is none", func(_ *cloud, o *Options) { os.WriteFile(o.Code[1], []byte("PK"), 0o600) }, "operations_arm64.zip: zip: not a valid zip file", 0},
		{"no template", func(_ *cloud, o *Options) { o.Template = "" }, "this build of slidegate carries no Lambda code and no template", 0},
		{"a template that is missing", func(_ *cloud, o *Options) { o.Template += "x" }, "--template: open", 0},
		{"a template that is none", func(_ *cloud, o *Options) { os.WriteFile(o.Template, []byte("Resources:"), 0o600) }, "template.json is not JSON", 0},
		{"a template that is too long", func(_ *cloud, o *Options) {
			os.WriteFile(o.Template, fmt.Appendf(nil, `{"Description": "%051200d"}`, 1), 0o600)
		}, "AWS takes at most 51200", 0},
		{"a template of something else", func(_ *cloud, o *Options) { os.WriteFile(o.Template, []byte(`{"Outputs": {}}`), 0o600) }, "has no output SlidegateVersion: it is not the template of a limiter", 0},
		{"a template of another version", func(_ *cloud, o *Options) {
			os.WriteFile(o.Template, []byte(`{"Outputs": {"SlidegateVersion": {"Value": "v0.1.0"}}}`), 0o600)
			o.Secrets = map[string]string{"SLIDEGATE_HASH_SECRET": "x"}
		}, "the template v0.1.0 has no parameter HashSecret: this command is for templates of another version", 0},
		{"a secret that the stack cannot have", func(_ *cloud, o *Options) {
			o.Rules = rulesFile(t, strings.ReplaceAll(hashed, "SLIDEGATE_HASH_SECRET", "MINE"))
		},
			"rules.yaml names the secret MINE, which the stack does not have: name one of SLIDEGATE_HASH_SECRET, SLIDEGATE_ORIGIN_SECRET, SLIDEGATE_RECEIPT_SECRET", 0},
		{"a secret that is not given", func(_ *cloud, o *Options) { o.Rules = rulesFile(t, hashed) },
			"rules.yaml needs the secret SLIDEGATE_HASH_SECRET: give --secret SLIDEGATE_HASH_SECRET=NAME, its name in Secrets Manager", 0},

		{"rules that are not valid", func(_ *cloud, o *Options) { o.Rules = rulesFile(t, "rules: [{name: api}]") }, "rules.yaml:1:9: rules[0]: key is missing", 0},
		{"rules that are missing", func(_ *cloud, o *Options) { o.Rules = "none.yaml" }, "read the rules: open none.yaml", 0},

		{"no bucket", func(_ *cloud, o *Options) { o.Bucket = "mine" }, "bucket mine does not exist in account 123456789012", 0},
		{"a bucket of somebody else", func(c *cloud, o *Options) { o.Bucket = "mine"; c.buckets["mine"] = "foreign" },
			"bucket mine, which has to belong to account 123456789012: AWS does not permit the call: s3:ListBucket", 0},
		{"a bucket of another region", func(c *cloud, o *Options) { o.Bucket = "mine"; c.buckets["mine"] = "us-east-1" },
			"bucket mine is in region us-east-1: name one in eu-north-1, because Lambda reads code from its own region alone", 0},
		{"Slidegate's name taken by somebody else", func(c *cloud, _ *Options) { c.buckets["slidegate-123456789012-eu-north-1"] = "foreign" },
			"bucket slidegate-123456789012-eu-north-1, which has to belong to account 123456789012", 0},
		{"no more buckets", refused("S3", "CreateBucket", "TooManyBuckets", "100"), "create bucket slidegate-123456789012-eu-north-1: a quota of the account is reached", 0},
		{"a bucket that cannot be protected", refused("S3", "PutBucketPolicy", "AccessDenied", unpermitted+"s3:PutBucketPolicy on resource: arn:aws:s3:::b because no"),
			"protect bucket slidegate-123456789012-eu-north-1, which is deleted again: AWS does not permit the call: s3:PutBucketPolicy on arn:aws:s3:::b", 2},
		{"an upload without a right", refused("S3", "PutObject", "AccessDenied", "Access Denied"), "upload ", 2},

		{"nobody", refused("STS", "GetCallerIdentity", "InvalidClientTokenId", "x"), "AWS does not accept the credentials", 0},
		{"no right to look", refused("CloudFormation", "DescribeStacks", "AccessDenied", unpermitted+"cloudformation:DescribeStacks on resource: arn:x because no"),
			"stack shop in region eu-north-1: AWS does not permit the call: cloudformation:DescribeStacks on arn:x; `slidegate aws policy` prints the policy that deployments need", 0},
		{"no right to create", refused("CloudFormation", "CreateStack", "AccessDenied", unpermitted+"cloudformation:CreateStack on resource: arn:x because no"),
			"stack shop: AWS does not permit the call: cloudformation:CreateStack on arn:x", 4},
		{"no more stacks", refused("CloudFormation", "CreateStack", "LimitExceededException", "Limit for stack has been exceeded"),
			"stack shop: a quota of the account is reached; delete what nobody uses, or ask for more in Service Quotas", 4},
		{"two at once", refused("CloudFormation", "CreateStack", "AlreadyExistsException", "x"), "stack shop was created by somebody else just now: deploy again to update it", 4},

		{"a creation that fails", script("", "- CREATE_IN_PROGRESS", "Table CREATE_FAILED "+unpermitted+"dynamodb:CreateTable on resource: arn:t because no",
			"Other CREATE_FAILED Resource creation cancelled", "- DELETE_IN_PROGRESS", "Kept DELETE_SKIPPED", "- DELETE_COMPLETE"),
			"stack shop could not be created, and AWS deleted it again\n" +
				"Table (AWS::Test::Table): " + unpermitted + "dynamodb:CreateTable on resource: arn:t because no\n" +
				"the credentials of this command, or the role of --role-arn, lack rights; `slidegate aws policy` prints the policy that deployments need\n" +
				"Kept id-of-Kept (AWS::Test::Kept) is left: delete it, unless you need it", 5},
		{"a quota of a resource", script("", "Function CREATE_FAILED Code storage limit exceeded.", "- DELETE_COMPLETE"),
			"Function (AWS::Test::Function): Code storage limit exceeded.; a quota of the account is reached", 5},
		{"an update that fails", script("UPDATE_COMPLETE", takesBack...),
			"stack shop could not be updated, and is as before: AWS took the update back\nPublish (Custom::Rules): version 3 was published by jo, or --on-changed-rules overwrite for one deployment", 5},
		{"rules that the Lambda refuses", func(c *cloud, o *Options) {
			o.Rules = filepath.Join(t.TempDir(), "shop.yaml")
			if err := os.WriteFile(o.Rules, []byte("rules: []\n"), 0o600); err != nil {
				t.Fatal(err)
			}
			script("UPDATE_COMPLETE", fmt.Sprintf("Publish UPDATE_FAILED %s%x.yaml:2:5: no rule", prefix, sha256.Sum256([]byte("rules: []\n"))), "- UPDATE_ROLLBACK_COMPLETE")(c, o)
		}, "shop.yaml:2:5: no rule", 6},
		{"a Lambda that lacks a right", script("UPDATE_COMPLETE", "Publish UPDATE_FAILED "+unpermitted+"s3:GetObject", "- UPDATE_ROLLBACK_COMPLETE"),
			"Publish (Custom::Rules): " + unpermitted + "s3:GetObject", 5},
		{"an update that cannot be taken back", script("UPDATE_COMPLETE", "- UPDATE_ROLLBACK_FAILED"), "stack shop is UPDATE_ROLLBACK_FAILED", 5},
	} {
		t.Run(test.name, func(t *testing.T) {
			c, o := newCloud(), release(t)
			test.prepare(c, &o)
			r, err := c.account().Deploy(t.Context(), o, &listener{})
			if err == nil {
				t.Fatalf("reported %+v", r)
			}
			if !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v\nwant %s", err, test.want)
			}
			if len(c.calls) != test.calls {
				t.Errorf("calls %q, want %d", c.calls, test.calls)
			}
			if strings.HasSuffix(test.name, "that lacks a right") && strings.Contains(err.Error(), policyAdvice) {
				t.Error("the caller's rights would not help")
			}
		})
	}
}

// Buckets are taken in this order: the stack's, then Slidegate's own. That of the
// CDK is not taken. A bucket that exists and cannot be used ends the deployment.
func TestBuckets(t *testing.T) {
	const cdk, own = "cdk-hnb659fds-assets-123456789012-eu-north-1", "slidegate-123456789012-eu-north-1"
	for _, test := range []struct {
		buckets map[string]string
		want    string // what is told, or the error
	}{
		{map[string]string{"old": testRegion, own: testRegion}, "using bucket old"},
		{map[string]string{"old": "foreign", own: testRegion}, "bucket old, which has to belong to account 123456789012: AWS does not permit the call: s3:ListBucket"},
		{map[string]string{cdk: testRegion, own: testRegion}, "using bucket " + own},
		{map[string]string{own: "foreign"}, "bucket " + own + ", which has to belong to account 123456789012: AWS does not permit the call: s3:ListBucket"},
		{map[string]string{cdk: testRegion}, "created bucket " + own + ": private, encrypted, and for TLS alone"},
	} {
		c, l := newCloud(), &listener{}
		c.buckets = test.buckets
		_, err := c.account().chooseBucket(t.Context(), testAccount, "", "old", l.Tell)
		if err != nil {
			l.told = append(l.told, err.Error())
		}
		if len(l.told) != 1 || !strings.HasPrefix(l.told[0], test.want) {
			t.Errorf("%v: %q; want %s", test.buckets, l.told, test.want)
		}
	}
}

// Whoever says no to the question has changed nothing.
func TestNo(t *testing.T) {
	c, no := newCloud(), errors.New("no")
	if _, err := c.account().Deploy(t.Context(), release(t), &listener{no: no}); !errors.Is(err, no) || len(c.calls) > 0 {
		t.Errorf("error %v, calls %q", err, c.calls)
	}
}

// An interrupt ends the command, and says what AWS goes on with. Reads of events
// may fail for a while.
func TestInterrupt(t *testing.T) {
	c, o := newCloud(), release(t)
	c.script = []string{"- CREATE_IN_PROGRESS"}
	ctx, cancel := context.WithCancel(t.Context())
	a := c.account()
	a.Wait = func(ctx context.Context, _ time.Duration) error { cancel(); return ctx.Err() }
	_, err := a.Deploy(ctx, o, &listener{})
	const want = "interrupted: AWS goes on with stack shop in region eu-north-1; `aws cloudformation describe-stack-events --stack-name shop` shows it"
	if err == nil || err.Error() != want {
		t.Errorf("%v\nwant %s", err, want)
	}

	c, o = newCloud(), release(t)
	c.script, c.refuse["DescribeStackEvents"] = creates, refusal("CloudFormation", "DescribeStackEvents", "Throttling", "Rate exceeded")
	a, misses := c.account(), 0
	a.Wait = func(context.Context, time.Duration) error {
		if misses++; misses == maxMisses-1 {
			delete(c.refuse, "DescribeStackEvents")
		}
		return nil
	}
	if r, err := a.Deploy(t.Context(), o, &listener{}); err != nil || r.Status != Created {
		t.Errorf("%+v, %v", r, err)
	}
	c, c.refuse = newCloud(), map[string]error{}
	c.script, c.refuse = creates, map[string]error{"DescribeStackEvents": refusal("CloudFormation", "DescribeStackEvents", "Throttling", "Rate exceeded")}
	if _, err := c.account().Deploy(t.Context(), release(t), &listener{}); err == nil || !strings.HasPrefix(err.Error(), "the events of stack shop cannot be read: AWS goes on") {
		t.Error(err)
	}
}

func TestDelete(t *testing.T) {
	c, l := newCloud(), &listener{}
	ours := []types.Parameter{{ParameterKey: aws.String(authorizerKey), ParameterValue: aws.String("slidegate/1.zip")}}
	c.stacks["shop"] = &types.Stack{StackName: aws.String("shop"), StackId: aws.String("arn:shop"), StackStatus: "UPDATE_COMPLETE", Parameters: ours}
	c.script = []string{"- DELETE_IN_PROGRESS", "Function DELETE_COMPLETE", "Rules DELETE_SKIPPED", "- DELETE_COMPLETE"}
	r, err := c.account().Delete(t.Context(), "shop", nil, l)
	if err != nil {
		t.Fatal(err)
	}
	same(t, "report", r, &DeleteReport{"shop", Deleted, testAccount, testRegion, []Kept{{"Rules", "AWS::Test::Rules", "id-of-Rules"}}})
	same(t, "question", l.told[0], "Delete stack shop in account 123456789012, region eu-north-1? APIs that still have its authorizer will answer 500.")

	if _, err = c.account().Delete(t.Context(), "shop", nil, l); !errors.Is(err, ErrNoStack) {
		t.Errorf("a second time: %v", err)
	}
	c.stacks["other"] = &types.Stack{StackName: aws.String("other"), StackId: aws.String("arn:other"), Outputs: outputs("Url", "x")}
	if _, err = c.account().Delete(t.Context(), "other", nil, l); err == nil || !strings.Contains(err.Error(), "stack other was not made by") {
		t.Errorf("another's: %v", err)
	}
	c.stacks["failed"] = &types.Stack{StackName: aws.String("failed"), StackId: aws.String("arn:failed"), StackStatus: "ROLLBACK_COMPLETE", Parameters: ours}
	c.script = []string{"Role DELETE_FAILED in use", "- DELETE_FAILED"}
	if _, err = c.account().Delete(t.Context(), "failed", nil, l); err == nil || err.Error() != "stack failed is DELETE_FAILED\nRole (AWS::Test::Role): in use" {
		t.Errorf("one that fails: %v", err)
	}
}

// TestDeleteAttached: a stack stays while APIs are attached to it, or nothing shows
// that none is.
func TestDeleteAttached(t *testing.T) {
	for name, test := range map[string]struct {
		stack, table string
		kept         []string
		query        error
		want         string // "" for a deletion
	}{
		"none":           {stack: "shop", table: "rules"},
		"no table":       {stack: "shop", table: "gone", kept: []string{"a1/prod"}},
		"one":            {stack: "slidegate", table: "rules", kept: []string{"a1/prod"}, want: "API a1, stage prod: slidegate aws detach a1 --stage prod"},
		"two":            {stack: "shop", table: "rules", kept: []string{"a1/prod", "b2/$default"}, want: "API a1, stage prod: slidegate aws detach a1 --stage prod --limiter stack://shop\nAPI b2, stage $default: slidegate aws detach b2 --stage '$default' --limiter stack://shop"},
		"no right":       {stack: "shop", table: "rules", query: refusal("DynamoDB", "Query", "AccessDeniedException", "no"), want: "stack shop stays, because nothing shows whether APIs are attached to it: AWS does not permit the call"},
		"no answer":      {stack: "shop", table: "rules", query: errors.New("cut"), want: "stack shop stays, because nothing shows whether APIs are attached to it: cut"},
		"a failed stack": {stack: "shop", kept: []string{"a1/prod"}},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud()
			s := &types.Stack{StackName: &test.stack, StackId: aws.String("arn:" + test.stack), StackStatus: "UPDATE_COMPLETE",
				Parameters: []types.Parameter{{ParameterKey: aws.String(authorizerKey), ParameterValue: aws.String("slidegate/1.zip")}}}
			if test.table != "" {
				s.Outputs = outputs("RateLimitCountersTable", "counters", "RateLimitRulesTable", test.table)
			}
			c.stacks[test.stack], c.kept, c.refuse["Query"] = s, test.kept, test.query
			c.script = []string{"- DELETE_COMPLETE"}
			_, err := c.account().Delete(t.Context(), test.stack, nil, &listener{})
			if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || len(c.calls) > 0) {
				t.Errorf("error %v, want %s; calls %q", err, test.want, c.calls)
			}
		})
	}
}
