package telemetry_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
	"github.com/slidegate/slidegate/internal/observe/telemetry/watch"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// startOfLog is the first minute of a Lambda whose lines a test reads.
var startOfLog = time.Date(2026, 11, 23, 15, 0, 0, 0, time.UTC)

// lambda is a recorder whose lines a test reads.
type lambda struct {
	*telemetry.Recorder
	*telemetry.LambdaLog
	log       bytes.Buffer
	confirmed time.Time
	open      bool
	rulesOpen bool
	local     int
}

func newLambda() *lambda {
	l := &lambda{confirmed: startOfLog}
	l.Recorder = telemetry.NewRecorder(telemetry.Options{
		RulesConfirmed: func() time.Time { return l.confirmed }, BreakerOpen: func() bool { return l.open }, RulesBreakerOpen: func() bool { return l.rulesOpen }, LocalKeys: func() int { return l.local },
	})
	l.LambdaLog = telemetry.NewLambdaLog(&l.log, "shop/RateLimit", l.Recorder)
	return l
}

// decide begins a request and decides it by one rule with a limit of 10, of which
// the key has used some.
func (l *lambda) decide(at time.Duration, rule, key string, allowed bool, used int64) {
	now := startOfLog.Add(at)
	l.Begin(now)
	v := engine.Verdict{Resolution: engine.Resolution{
		Rule: &rules.Rule{Name: rule}, Key: key,
		Terms: &rules.Terms{Limits: []limit.Limit{{Capacity: 10}}, Costs: []int64{1}},
	}}
	v.Snapshot = !allowed
	v.Allowed, v.Limits = allowed, []limit.Result{{Allowed: allowed, Remaining: 10 - used}}
	l.Decided(context.Background(), now, nil, &engine.Decision{Allowed: allowed, Verdicts: []engine.Verdict{v}})
}

// TestLines is a trace of an environment: what each of its minutes has written,
// and what is written only as it ends.
func TestLines(t *testing.T) {
	l := newLambda()
	l.Sent("GetItem", 12*time.Millisecond) // the rules, before the first request
	l.decide(5*time.Second, "api", "ip:203.0.113.9", true, 9)
	l.Sent("UpdateItem", 4*time.Millisecond)
	l.decide(20*time.Second, "api", "ip:203.0.113.9", false, 10)
	l.decide(59*time.Second, "login", "ip:203.0.113.7", false, 10)
	if l.log.Len() > 0 {
		t.Errorf("before the minute has ended: %s", &l.log)
	}

	// The environment thaws after an hour, and reads its rules again before it
	// decides. The line of the minute before knows nothing of that hour.
	l.open, l.confirmed = true, startOfLog.Add(time.Hour-2*time.Second)
	l.decide(time.Hour, "api", "ip:203.0.113.9", true, 1)
	l.Rejected()
	l.decide(time.Hour+time.Second, "api", "ip:203.0.113.9", true, 2)
	l.Flush(startOfLog.Add(2 * time.Hour))
	l.Flush(startOfLog.Add(2 * time.Hour))
	golden.Check(t, "testdata/lines.jsonl", l.log.String())
	check(t, l.log.String())
}

// TestQueries: the dashboard's queries name what the line of keys has. They are
// also the only readers of it in this project.
func TestQueries(t *testing.T) {
	lines, err := os.ReadFile("testdata/lines.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	var line map[string]any
	for text := range strings.Lines(string(lines)) {
		if strings.Contains(text, `"msg":"top keys"`) {
			if err := json.Unmarshal([]byte(text), &line); err != nil {
				t.Fatal(err)
			}
		}
	}
	queries := 0
	for _, section := range watch.Dashboard {
		for _, table := range section.Tables {
			queries++
			if !strings.HasPrefix(table.Query, `filter msg = "top keys" and Limiter = "%s" | `) || line["Limiter"] == nil {
				t.Errorf("%s is of other lines: %s", table.Title, table.Query)
			}
			list := regexp.MustCompile(`unnest line\.(\w+) into (\w+)`).FindStringSubmatch(table.Query)
			keys, _ := line[list[1]].([]any)
			if len(keys) == 0 {
				t.Fatalf("the line has no list %s: %v", list[1], line)
			}
			for _, field := range regexp.MustCompile(`\b`+list[2]+`\.(\w+)`).FindAllStringSubmatch(table.Query, -1) {
				if keys[0].(map[string]any)[field[1]] == nil {
					t.Errorf("%s: a key of %s has no %s: %v", table.Title, list[1], field[1], keys[0])
				}
			}
		}
	}
	if queries != 2 {
		t.Errorf("there are %d queries", queries)
	}
}

// check validates lines, by the schema that AWS publishes in "Specification:
// Embedded metric format" and by what its text adds to it.
func check(t *testing.T, log string) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	compiler.DefaultDraft(jsonschema.Draft6) // the schema names none, and its ids are of an old one
	schema, err := compiler.Compile("testdata/emf.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for text := range strings.Lines(log) {
		line, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		root := line.(map[string]any)
		if root["msg"] == "top keys" {
			continue // it has no metrics
		}
		if err := schema.Validate(line); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		checkTargets(t, root)
	}
}

// checkTargets: dimensions and metrics are members of the root, dimensions are
// texts, and metrics are numbers or at most 100 of them.
func checkTargets(t *testing.T, root map[string]any) {
	t.Helper()
	directive := root["_aws"].(map[string]any)["CloudWatchMetrics"].([]any)[0].(map[string]any)
	for _, name := range directive["Dimensions"].([]any)[0].([]any) {
		if value, ok := root[name.(string)].(string); !ok || value == "" {
			t.Errorf("dimension %s is %v", name, root[name.(string)])
		}
	}
	definitions := directive["Metrics"].([]any)
	for _, d := range definitions {
		switch value := root[d.(map[string]any)["Name"].(string)].(type) {
		case json.Number:
		case []any:
			if len(value) == 0 || len(value) > 100 {
				t.Errorf("%v has %d values", d, len(value))
			}
		default:
			t.Errorf("%v is %v", d, value)
		}
	}
	if len(definitions) == 0 || len(definitions) > 100 {
		t.Errorf("%d metrics", len(definitions))
	}
}

// TestSize: a minute in which everything happened takes 2 KB, beside the lines
// of rules and keys. It has every metric that is the Lambda's.
func TestSize(t *testing.T) {
	l := newLambda()
	l.confirmed, l.open, l.rulesOpen, l.local = startOfLog.Add(-time.Hour), true, true, 50_000
	for i := range 123_456 {
		l.Sent("UpdateItem", time.Duration(i)*time.Microsecond)
		l.decide(time.Second, "api", "ip:203.0.113.9", i%2 == 0, 10)
	}
	l.Sent("GetItem", time.Second)
	l.Rejected()
	l.StoreCall(t.Context(), engine.CallRefund)(nil)
	shadow := engine.Verdict{Resolution: engine.Resolution{Rule: &rules.Rule{Name: "next"}}}
	l.Decided(t.Context(), startOfLog, nil, &engine.Decision{Allowed: true, Degraded: true, Shadows: []engine.Verdict{shadow}})
	l.Flush(startOfLog)
	line, _, _ := strings.Cut(l.log.String(), "\n")
	var got map[string]any
	if err := json.Unmarshal([]byte(line), &got); err != nil {
		t.Fatal(err)
	}
	for _, m := range metric.All {
		if _, ok := got[m.Name]; ok != (m.Exporters&metric.Lambda != 0 || m.Name == metric.RulesBreakerOpen) {
			t.Errorf("%s: there is one: %v", m.Name, ok)
		}
	}
	if len(line) > 2048 {
		t.Errorf("the line has %d bytes: %s", len(line), line)
	}
	check(t, l.log.String())
}

// TestManyRules: 20 rules have a line, those that denied most. The line of the
// minute says how many others there were, and one line lists ten keys.
func TestManyRules(t *testing.T) {
	l := newLambda()
	for i := range 25 {
		for range i + 1 {
			l.decide(0, fmt.Sprintf("rule-%02d", i), fmt.Sprintf("user:%d", i), false, 10)
		}
	}
	l.Flush(startOfLog)
	var rulesWritten, keys []string
	for text := range strings.Lines(l.log.String()) {
		var line struct {
			Rule         string
			RulesLeftOut int
			Msg          string
			TopDenied    []telemetry.TopKey `json:"top_denied"`
		}
		if err := json.Unmarshal([]byte(text), &line); err != nil {
			t.Fatal(err)
		}
		if line.Msg == "metrics" && line.RulesLeftOut != 5 {
			t.Errorf("%d rules left out, want 5", line.RulesLeftOut)
		}
		if line.Rule != "" {
			rulesWritten = append(rulesWritten, line.Rule)
		}
		for _, k := range line.TopDenied {
			keys = append(keys, fmt.Sprintf("%s %s %d", k.Rule, k.Key, k.Count))
		}
	}
	slices.Sort(rulesWritten)
	if len(rulesWritten) != 20 || rulesWritten[0] != "rule-05" {
		t.Errorf("lines of the rules %q", rulesWritten)
	}
	if len(keys) != 10 || keys[0] != "rule-24 user:24 25" || keys[9] != "rule-15 user:15 16" {
		t.Errorf("top keys %q", keys)
	}
}

// TestTimes: the values drawn for CloudWatch have the percentiles of the times,
// within a bucket, and none is beyond its bucket.
func TestTimes(t *testing.T) {
	l := newLambda()
	l.Begin(startOfLog)
	for i := range 1000 {
		took := 4 * time.Millisecond
		if i%50 == 0 { // 2%
			took = 125 * time.Millisecond
		}
		l.Sent("UpdateItem", took)
	}
	l.Flush(startOfLog)
	var line struct{ StoreLatency []float64 }
	if err := json.Unmarshal(l.log.Bytes(), &line); err != nil {
		t.Fatal(err)
	}
	got := line.StoreLatency
	if len(got) != 100 || !slices.IsSorted(got) {
		t.Fatalf("%d values: %v", len(got), got)
	}
	slow := slices.IndexFunc(got, func(ms float64) bool { return ms > 100 })
	if slow != 98 || got[99] > 125 || got[0] < 3.15 || math.Abs(got[97]-4) > .01 {
		t.Errorf("values %v", got)
	}
}

// TestQuiet: an environment that did nothing writes nothing, and neither does one
// without metrics.
func TestQuiet(t *testing.T) {
	l := newLambda()
	l.Flush(startOfLog)
	if diff := cmp.Diff("", l.log.String()); diff != "" {
		t.Error(diff)
	}
	var none *telemetry.LambdaLog
	none.Begin(startOfLog)
	none.Flush(startOfLog)
}
