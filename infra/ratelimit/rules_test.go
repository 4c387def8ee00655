package ratelimit_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/assertions"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/lambdas"
	"github.com/slidegate/slidegate/infra/ratelimit"
	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
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

// TestWithout: what props leave out adds nothing.
func TestWithout(t *testing.T) {
	for id, r := range plain(t).Resources {
		if strings.HasPrefix(id, "RateLimitOperations") || r.Type == "Custom::SlidegateRules" || r.Type == "AWS::CloudWatch::Alarm" {
			t.Errorf("%s of type %s is for rules or alarms", id, r.Type)
		}
	}
}

func TestRulesThatAreRefused(t *testing.T) {
	ratelimit.SetZip(noZip)
	good, bad, operations := rulesFile(t, someRules), rulesFile(t, strings.ReplaceAll(someRules, "60s", "60")), code(t)
	for _, tt := range []struct {
		props ratelimit.Props
		want  string
	}{
		{ratelimit.Props{Rules: "missing.yaml"}, "read the rules: open missing.yaml: "},
		{ratelimit.Props{Rules: bad}, "the Rules cannot be published:\n" + bad + ":2:65: rules[0].limits[0].window: needs a unit: write 60s for seconds"},
		{ratelimit.Props{Rules: good, RulesObject: &ratelimit.RulesObject{}}, "there are both Rules and RulesObject: leave one out"},
		{ratelimit.Props{Rules: "rules"}, "the file rules of Rules has no suffix: name it rules.yaml"},
		{ratelimit.Props{RulesObject: &ratelimit.RulesObject{}}, "RulesObject has no Suffix"},
		{ratelimit.Props{Rules: good, OnChangedRules: "merge"}, `OnChangedRules is "merge": use fail, overwrite or keep`},
	} {
		tt.props.Code, tt.props.OperationsCode = code(t), operations
		refuses(t, &tt.props, tt.want)
	}
	refuses(t, &ratelimit.Props{Rules: good, Code: code(t)}, "there is no code of the Lambda operations: "+lambdas.ErrNone.Error())
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

// TestAlarms: which alarms there are by props. What they are is in the golden
// template. The topic hears of an alarm and of its end. An emulator gets no alarm
// that it refuses.
func TestAlarms(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	topic := jsii.String("arn:aws:sns:eu-west-1:123456789012:alarms")
	for id, props := range map[string]ratelimit.Props{"Bounded": {MaxWritesPerDay: 5e6}, "Unmeasured": {WithoutMetrics: true}} {
		props.Code, props.Standalone, props.AlarmTopic = code(t), true, awssns.Topic_FromTopicArn(stack, jsii.String("Topic"+id), topic)
		if _, err := ratelimit.New(stack, &id, &props); err != nil {
			t.Fatal(err)
		}
	}
	var found []string
	for id, r := range cdktest.Synth(t, stack).Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		found = append(found, id[:len(id)-8])
		if threshold := r.Properties["Threshold"]; strings.Contains(id, "WritesADay") && threshold != 5e6 {
			t.Errorf("%s: from %v on", id, threshold)
		}
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			diff(t, id+" "+actions, []any{any(*topic)}, r.Properties[actions].([]any))
		}
		if (r.Condition == "SlidegateOnAWS") != (r.Properties["Metrics"] != nil) {
			t.Errorf("%s has the condition %q", id, r.Condition)
		}
	}
	slices.Sort(found)
	diff(t, "alarms", []string{
		"BoundedAccountConcurrency", "BoundedDegraded", "BoundedFunctionErrors", "BoundedLambdaThrottles", "BoundedNearLimit", "BoundedSlowStore",
		"BoundedStaleRules", "BoundedThrottledWrites", "BoundedWritesADay",
		"UnmeasuredAccountConcurrency", "UnmeasuredFunctionErrors", "UnmeasuredLambdaThrottles", "UnmeasuredThrottledWrites",
	}, found)
}

// TestDashboard: the widgets fill the 24 columns in rows, and show every metric
// that the Lambda writes.
func TestDashboard(t *testing.T) {
	tpl := watched(t, ratelimit.Props{Standalone: true}, func(awscdk.Stack, limiter) {})
	dashboard := tpl.One(t, "AWS::CloudWatch::Dashboard", "RateLimit").Properties
	diff(t, "name", joined("AWS::StackName", "-RateLimit-", "AWS::Region"), dashboard["DashboardName"])
	text := cdktest.Text(dashboard["DashboardBody"], true)
	var body struct {
		Widgets []struct {
			X, Y, Width, Height int
			Properties          struct{ Title, Markdown string }
		}
	}
	if err := json.Unmarshal([]byte(text), &body); err != nil {
		t.Fatalf("%v:\n%s", err, text)
	}
	var titles []string
	rows := map[int]int{} // filled columns, by the lines that widgets cover
	for _, w := range body.Widgets {
		titles = append(titles, fmt.Sprint(w.X, " ", w.Y, " ", w.Properties.Title, w.Properties.Markdown))
		for y := w.Y; y < w.Y+w.Height; y++ {
			if rows[y] != w.X {
				t.Errorf("%s begins at column %d of line %d, which is filled up to %d", w.Properties.Title, w.X, y, rows[y])
			}
			rows[y] += w.Width
		}
	}
	for y := range len(rows) {
		if rows[y] != 24 {
			t.Errorf("line %d is %d columns wide", y, rows[y])
		}
	}
	diff(t, "titles", []string{
		"0 0 Alarms",
		"0 3 ## Who is denied", "0 4 Requests", "6 4 Denied, by rule", "12 4 Would be denied: shadows, candidates", "18 4 Units above 80% of a limit, by rule",
		"0 10 Keys denied most", "12 10 Keys nearest their limits",
		"0 16 ## What it costs", "0 17 Writes for a decision", "6 17 Denials without a write (%)", "12 17 Requests to DynamoDB", "18 17 Units of counters on the bill",
		"0 23 ## Health", "0 24 Latency of DynamoDB (ms)", "6 24 Without DynamoDB", "12 24 Throttled, failed", "18 24 Concurrency",
		"0 30 ## Rules", "0 31 Version in force", "12 31 Age (s)",
	}, titles)
	for _, m := range metric.All {
		if m.Exporters&metric.Lambda != 0 && !strings.Contains(text, `"Slidegate","`+m.Name+`","Limiter","AWS::StackName/RateLimit"`) {
			t.Errorf("the dashboard has no %s", m.Name)
		}
	}
	for _, part := range []string{
		`"expression":"SEARCH('{Slidegate,Limiter,Rule} MetricName=\"Denied\" Limiter=\"AWS::StackName/RateLimit\"', 'Sum')"`,
		`"expression":"FILL(writes, 0) / decisions"`, `"expression":"FILL(degraded, 0)"`, `"value":125`, `"value":60`,
		`"query":"SOURCE '` + tpl.ID(t, "AWS::Logs::LogGroup", "RateLimit") + `' | filter msg = \"top keys\" and Limiter = \"AWS::StackName/RateLimit\" | `,
	} {
		if !strings.Contains(text, part) {
			t.Errorf("the dashboard lacks %s", part)
		}
	}
	if t.Failed() {
		t.Log(text)
	}
}

func TestWithoutDashboard(t *testing.T) {
	for _, props := range []ratelimit.Props{{WithoutDashboard: true}, {WithoutMetrics: true}} {
		props.Standalone = true
		tpl := watched(t, props, func(_ awscdk.Stack, l limiter) {
			if l.Dashboard != nil {
				t.Error("there is a dashboard")
			}
		})
		variables := tpl.One(t, "AWS::Lambda::Function", "RateLimit").Properties["Environment"].(object)["Variables"].(object)
		if off := variables["SLIDEGATE_METRICS"] == "off"; off != props.WithoutMetrics || tpl.Outputs["RateLimitDashboard"].Value != nil {
			t.Errorf("metrics are off: %v; outputs %v", off, tpl.Outputs)
		}
	}
}

// TestMetrics: there is a method for each metric that the Lambda writes, and
// another one by rule. Options replace what they state. The metric has the same
// dimension in another stack.
func TestMetrics(t *testing.T) {
	options := &awscloudwatch.MetricOptions{Period: awscdk.Duration_Hours(jsii.Number(1)), Statistic: jsii.String("SampleCount")}
	build(t, ratelimit.Props{Standalone: true}, func(_ awscdk.Stack, l limiter) {
		call := func(name string, args ...any) awscloudwatch.Metric {
			method := reflect.ValueOf(l).MethodByName("Metric" + name)
			if !method.IsValid() {
				t.Fatalf("there is no Metric%s", name)
			}
			in := []reflect.Value{}
			for _, arg := range args {
				in = append(in, reflect.ValueOf(arg))
			}
			return method.Call(in)[0].Interface().(awscloudwatch.Metric)
		}
		methods := 0
		for _, m := range metric.All {
			if m.Exporters&metric.Lambda == 0 {
				continue
			}
			methods++
			got := call(m.Name, (*awscloudwatch.MetricOptions)(nil))
			stat := map[metric.Kind]string{metric.Counter: "Sum", metric.Gauge: "Maximum", metric.Histogram: "p99"}[m.Kind]
			diff(t, m.Name, []any{"Slidegate", m.Name, stat, any(map[string]any{"Limiter": "Test/RateLimit"})},
				[]any{*got.Namespace(), *got.MetricName(), *got.Statistic(), any(*got.Dimensions())})
			if *call(m.Name, options).Statistic() != "SampleCount" {
				t.Errorf("Metric%s takes no options", m.Name)
			}
			if m.ByRule {
				methods++
				diff(t, m.Name+" by rule", map[string]any{"Limiter": "Test/RateLimit", "Rule": "per-ip"}, *call(m.Name+"ByRule", jsii.String("per-ip"), options).Dimensions())
			}
		}
		for i := range reflect.TypeOf(l).NumMethod() {
			if strings.HasPrefix(reflect.TypeOf(l).Method(i).Name, "Metric") {
				methods--
			}
		}
		if methods != 0 {
			t.Errorf("%d methods are of no metric that the Lambda writes", -methods)
		}
	})
}
