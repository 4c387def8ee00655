package top_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/top"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// logs answers with a page for each text, whose lines are its events.
type logs struct {
	pages []string
	asked []*cloudwatchlogs.FilterLogEventsInput
}

func (l *logs) FilterLogEvents(_ context.Context, in *cloudwatchlogs.FilterLogEventsInput, _ ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.FilterLogEventsOutput, error) {
	if len(l.asked) == len(l.pages) {
		return nil, errors.New("no such log group")
	}
	out := &cloudwatchlogs.FilterLogEventsOutput{}
	for line := range strings.Lines(l.pages[len(l.asked)]) {
		out.Events = append(out.Events, types.FilteredLogEvent{Message: &line})
	}
	if l.asked = append(l.asked, in); len(l.asked) < len(l.pages) {
		out.NextToken = aws.String(fmt.Sprint(len(l.asked)))
	}
	return out, nil
}

// metrics is a line of a minute after noon.
func metrics(minute int, fields string) string {
	return fmt.Sprintf(`{"minute":"2026-01-01T12:00:00Z","Limiter":"shop/RateLimit","_aws":{"Timestamp":%d},%s}`+"\n",
		noon.Add(time.Duration(minute)*time.Minute).UnixMilli(), fields)
}

// The lines of five whole minutes count, of all environments, and no others.
func TestLog(t *testing.T) {
	source := &logs{pages: []string{
		metrics(1, `"Decisions":300,"Denied":30,"Writes":270,"RulesVersion":7,"RulesAge":2.5,"StoreLatency":[1,2,3]`) +
			metrics(5, `"Decisions":300,"Degraded":6,"RulesAge":1,"BreakerOpen":1,"RulesBreakerOpen":1,"StoreLatency":[50]`) +
			metrics(0, `"Decisions":1000000`) + metrics(6, `"Decisions":1000000`) +
			"START RequestId\n{\"msg\":\"denials\"}\n" +
			strings.Replace(metrics(2, `"Decisions":1000000`), "shop/", "other/", 1),
		metrics(1, `"Rule":"api","Denied":30,"NearLimit":3`) + metrics(2, `"Rule":"api","Denied":30`) + metrics(2, `"Rule":"api candidate","ShadowDenied":3`) +
			`{"minute":"2026-01-01T12:02:00Z","Limiter":"shop/RateLimit","top_denied":[{"rule":"api","key":"a","count":5},{"rule":"api","key":"b","count":6}],"top_near":[{"rule":"api","key":"a","count":1,"share":0.9}]}` + "\n" +
			`{"minute":"2026-01-01T12:03:00Z","Limiter":"shop/RateLimit","top_denied":[{"rule":"api","key":"a","count":5,"error":1}],"top_near":[{"rule":"api","key":"c","count":1,"share":0.95}]}` + "\n",
	}}
	log := &top.Log{Logs: source, Group: "the-log", Limiter: "shop/RateLimit"}
	v, err := log.Read(t.Context(), noon.Add(6*time.Minute+59*time.Second))
	if err != nil {
		t.Fatal(err)
	}
	want := &top.View{
		Source: "the-log", At: noon.Add(6 * time.Minute), Span: 300,
		Degraded: []string{
			"a circuit breaker was open: the store of the counters did not answer",
			"a circuit breaker was open: the rules table did not answer", "6 decisions were made without the store or without rules",
		},
		Rates:  map[string]float64{metric.Decisions: 2, metric.Denied: 0.1, metric.Writes: 0.9, metric.Degraded: 0.02},
		Gauges: map[string]float64{metric.RulesVersion: 7, metric.RulesAge: 2.5, metric.BreakerOpen: 1, metric.RulesBreakerOpen: 1},
		P99:    0.05,
		Rules: []top.Rule{
			{Name: "api", Rates: map[string]float64{metric.Denied: 0.2, metric.NearLimit: 0.01}},
			{Name: "api candidate", Rates: map[string]float64{metric.ShadowDenied: 0.01}},
		},
		TopDenied: []telemetry.TopKey{{Rule: "api", Key: "a", Count: 10, Error: 1}, {Rule: "api", Key: "b", Count: 6}},
		TopNear:   []telemetry.TopKey{{Rule: "api", Key: "c", Count: 1, Share: 0.95}, {Rule: "api", Key: "a", Count: 1, Share: 0.9}},
	}
	if diff := cmp.Diff(want, v); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, in := range source.asked {
		if *in.LogGroupName != "the-log" || *in.StartTime != noon.Add(time.Minute).UnixMilli() || *in.FilterPattern != `{ $.Limiter = "shop/RateLimit" }` {
			t.Errorf("asked for %q since %d by %s", *in.LogGroupName, *in.StartTime, *in.FilterPattern)
		}
	}
	if _, err := log.Read(t.Context(), noon); err == nil || !strings.Contains(err.Error(), "log group the-log: no such log group") {
		t.Errorf("%v", err)
	}
}

// The lines that the Lambda's exporter writes are read: those of its own test.
func TestLogOfTheLambda(t *testing.T) {
	lines, err := os.ReadFile("../../../../../internal/observe/telemetry/emf/testdata/lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	log := &top.Log{Logs: &logs{pages: []string{string(lines)}}, Group: "the-log", Limiter: "shop/RateLimit"}
	v, err := log.Read(t.Context(), time.Date(2026, 11, 23, 15, 3, 0, 0, time.UTC))
	if err != nil {
		t.Fatal(err)
	}
	if v.Rates[metric.Decisions] != 0.01 || v.Gauges[metric.RulesAge] != 59 || v.P99 != 0.0112 || len(v.Rules) != 2 || len(v.TopDenied) != 2 || len(v.TopNear) != 1 {
		t.Errorf("%+v", v)
	}
}
