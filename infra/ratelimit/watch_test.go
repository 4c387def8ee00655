package ratelimit_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awscloudwatch"
	"github.com/aws/aws-cdk-go/awscdk/v2/awssns"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// TestAlarms: which alarms there are. What they are is in the golden template.
func TestAlarms(t *testing.T) {
	onAWS, ours := []string{"AccountConcurrency", "FunctionErrors", "LambdaThrottles", "ThrottledWrites"}, []string{"Degraded", "NearLimit", "SlowStore", "StaleRules"}
	for name, tt := range map[string]struct {
		props ratelimit.Props
		want  []string
	}{
		"by default":      {ratelimit.Props{}, slices.Concat(onAWS, ours)},
		"writes a day":    {ratelimit.Props{MaxWritesPerDay: 5e6}, slices.Concat(onAWS, ours, []string{"WritesADay"})},
		"without metrics": {ratelimit.Props{WithoutMetrics: true}, onAWS},
		"without alarms":  {ratelimit.Props{WithoutAlarms: true}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			tt.props.Standalone = true
			var got []string
			for id, r := range watched(t, tt.props, func(awscdk.Stack, limiter) {}).Resources {
				if r.Type != "AWS::CloudWatch::Alarm" {
					continue
				}
				got = append(got, id[len("RateLimit"):len(id)-8])
				if threshold := r.Properties["Threshold"]; strings.Contains(id, "WritesADay") && threshold != 5e6 {
					t.Errorf("%s: from %v on", id, threshold)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			diff(t, "alarms", tt.want, got)
		})
	}
}

// TestAlarmTopic: the topic hears of an alarm and of its end. An emulator gets no
// alarm that it refuses.
func TestAlarmTopic(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	topic := jsii.String("arn:aws:sns:eu-west-1:123456789012:alarms")
	for _, id := range []string{"RateLimit", "Another"} {
		if _, err := ratelimit.New(stack, &id, &ratelimit.Props{
			Code: code(t), Standalone: true, AlarmTopic: awssns.Topic_FromTopicArn(stack, jsii.String("Topic"+id), topic),
		}); err != nil {
			t.Fatal(err)
		}
	}
	for id, r := range cdktest.Synth(t, stack).Resources {
		if r.Type != "AWS::CloudWatch::Alarm" {
			continue
		}
		for _, actions := range []string{"AlarmActions", "OKActions"} {
			diff(t, id+" "+actions, []any{any(*topic)}, r.Properties[actions].([]any))
		}
		if (r.Condition == "SlidegateOnAWS") != (r.Properties["Metrics"] != nil) {
			t.Errorf("%s has the condition %q", id, r.Condition)
		}
	}
}

// A widget of a dashboard's body.
type widget struct {
	Type                string
	X, Y, Width, Height int
	Properties          struct {
		Title, Markdown string
		Alarms          []string
		Metrics         [][]any
		Annotations     struct{ Horizontal []struct{ Value float64 } }
	}
}

// TestDashboard: the widgets fill the 24 columns in rows, and show every metric
// that the Lambda writes.
func TestDashboard(t *testing.T) {
	tpl := watched(t, ratelimit.Props{Standalone: true}, func(awscdk.Stack, limiter) {})
	dashboard := tpl.One(t, "AWS::CloudWatch::Dashboard", "RateLimit").Properties
	diff(t, "name", joined("AWS::StackName", "-RateLimit-", "AWS::Region"), dashboard["DashboardName"])
	text := cdktest.Text(dashboard["DashboardBody"], true)
	var body struct{ Widgets []widget }
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
