package top

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatchlogs"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	operatoraws "github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
)

// logSpan is over how many whole minutes a log is read. Some lines come late: a
// Lambda writes those of a minute with its next request.
const logSpan = 5 * time.Minute

// Logs is what this package calls of Amazon CloudWatch Logs.
type Logs interface {
	FilterLogEvents(context.Context, *cloudwatchlogs.FilterLogEventsInput, ...func(*cloudwatchlogs.Options)) (*cloudwatchlogs.FilterLogEventsOutput, error)
}

// Log reads the metrics in the log of a limiter's Lambda.
type Log struct {
	Logs    Logs
	Group   string
	Limiter string // the value of the dimension, STACK/ID
}

// OpenLog returns the log of the limiter of a stack that has this id. An empty id
// is enough for a stack that has one limiter.
func OpenLog(ctx context.Context, stack, id string) (*Log, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*readTime)
	defer cancel()
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return nil, err
	}
	limiter, err := operatoraws.New(cfg).Limiter(ctx, stack, id)
	if err != nil {
		return nil, err
	}
	if limiter.Function == "" {
		return nil, fmt.Errorf("stack %s has no output %sFunction", stack, limiter.ID)
	}
	function, err := lambda.NewFromConfig(cfg).GetFunctionConfiguration(ctx, &lambda.GetFunctionConfigurationInput{FunctionName: &limiter.Function})
	if err != nil {
		return nil, fmt.Errorf("function %s: %w", limiter.Function, operatoraws.Explain(err))
	}
	name := strings.TrimSuffix(stack+"/"+limiter.ID, "/")
	if variables := function.Environment; variables != nil && variables.Variables["SLIDEGATE_LIMITER"] != "" {
		name = variables.Variables["SLIDEGATE_LIMITER"]
	}
	return &Log{cloudwatchlogs.NewFromConfig(cfg), operatoraws.LogGroup(limiter.Function, function.LoggingConfig), name}, nil
}

// line is a line of metrics or of top keys, as the Lambda writes it.
type line struct {
	Limiter string
	Rule    string
	AWS     *struct{ Timestamp int64 } `json:"_aws"`
	Minute  time.Time                  `json:"minute"`
	Denied  []telemetry.TopKey         `json:"top_denied"`
	Near    []telemetry.TopKey         `json:"top_near"`
}

// Read returns what the Lambda did in the five whole minutes before now.
func (l *Log) Read(ctx context.Context, now time.Time) (*View, error) {
	ctx, cancel := context.WithTimeout(ctx, readTime)
	defer cancel()
	end := now.Truncate(time.Minute).UTC()
	sum := &summary{status: admin.Status{
		StartedAt: end.Add(-logSpan), At: end, Counters: map[string]int64{}, Gauges: map[string]float64{},
	}, rules: map[string]map[string]int64{}}
	pages := cloudwatchlogs.NewFilterLogEventsPaginator(l.Logs, &cloudwatchlogs.FilterLogEventsInput{
		LogGroupName: &l.Group, StartTime: aws.Int64(sum.status.StartedAt.UnixMilli()),
		FilterPattern: aws.String(fmt.Sprintf(`{ $.%s = %q }`, metric.Limiter, l.Limiter)),
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("log group %s: %w", l.Group, operatoraws.Explain(err))
		}
		for _, event := range page.Events {
			sum.add(aws.ToString(event.Message), l.Limiter)
		}
	}
	return sum.view(l.Group), nil
}

// summary adds up lines to a status. Its gauges are the highest.
type summary struct {
	status admin.Status
	rules  map[string]map[string]int64 // counters, by the names of rules
}

// add adds a line of this limiter, if it is one of metrics or keys and of a minute
// of the summary.
func (s *summary) add(message, limiter string) {
	var l line
	if json.Unmarshal([]byte(message), &l) != nil || l.Limiter != limiter {
		return
	}
	at := l.Minute
	if l.AWS != nil {
		at = time.UnixMilli(l.AWS.Timestamp)
	}
	if at.Before(s.status.StartedAt) || !at.Before(s.status.At) {
		return
	}
	s.status.TopDenied, s.status.TopNear = append(s.status.TopDenied, l.Denied...), append(s.status.TopNear, l.Near...)
	if l.AWS == nil {
		return
	}
	var values map[string]json.RawMessage
	_ = json.Unmarshal([]byte(message), &values) // as above
	counters := s.status.Counters
	if l.Rule != "" {
		if s.rules[l.Rule] == nil {
			s.rules[l.Rule] = map[string]int64{}
		}
		counters = s.rules[l.Rule]
	}
	for _, m := range metric.All {
		if raw, ok := values[m.Name]; ok {
			s.value(m, raw, counters)
		}
	}
}

func (s *summary) value(m metric.Metric, raw json.RawMessage, counters map[string]int64) {
	var n float64
	var list []float64
	switch {
	case m.Kind == metric.Histogram:
		_ = json.Unmarshal(raw, &list) // what is no list has no times
		for _, took := range list {
			end := max(took/1000, 1e-9) // 0 is the bucket without an end
			s.status.Latency.Buckets = append(s.status.Latency.Buckets, admin.Bucket{UpTo: end, Count: 1})
		}
	case json.Unmarshal(raw, &n) != nil:
	case m.Kind == metric.Gauge:
		s.status.Gauges[m.Name] = max(s.status.Gauges[m.Name], n)
	default:
		counters[m.Name] += int64(n)
	}
}

func (s *summary) view(source string) *View {
	now := &s.status
	if now.Gauges[metric.BreakerOpen] > 0 {
		now.Degraded = append(now.Degraded, "a circuit breaker was open: the store of the counters did not answer")
	}
	if now.Gauges[metric.RulesBreakerOpen] > 0 {
		now.Degraded = append(now.Degraded, "a circuit breaker was open: the rules table did not answer")
	}
	if n := now.Counters[metric.Degraded]; n > 0 {
		now.Degraded = append(now.Degraded, fmt.Sprintf("%d decisions were made without the store or without rules", n))
	}
	for _, name := range slices.Sorted(maps.Keys(s.rules)) {
		now.Rules = append(now.Rules, admin.Rule{Name: name, Counters: s.rules[name]})
	}
	now.TopDenied, now.TopNear = telemetry.Merge(now.TopDenied, telemetry.ByCount), telemetry.Merge(now.TopNear, telemetry.ByShare)
	return newView(source, &admin.Status{At: now.StartedAt}, now)
}
