//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/observe/telemetry/metric"
)

// allowed is what the rule per-client lets through.
const allowed = 5

func (a *live) answersAllowed() {
	var got raw
	for i := range allowed {
		if got = a.mustAsk("/limited", "ann", nil); got.status != http.StatusOK {
			a.t.Fatalf("request %d of %d is answered %d: %s", i+1, allowed, got.status, got.body)
		}
	}
	a.seen(true, true, "five requests are allowed", "%d", got.status)
	a.seen(got.body == `{"rule":"per-client","remaining":"0","degraded":"false"}`, false, "the integration reads context.authorizer.*", "%s", got.body)
}

// answersDenied checks each field that the gateway response maps, and the body.
func (a *live) answersDenied() {
	got := a.mustAsk("/limited", "ann", nil)
	a.seen(got.status == http.StatusTooManyRequests, true, "the sixth request is denied", "%d", got.status)
	a.hasFields(got, "ACCESS_DENIED")
	var problem struct {
		Type, Title string
		Status      int
		Violated    []string `json:"violated-policies"`
	}
	err := json.Unmarshal([]byte(got.body), &problem)
	ok := err == nil && !strings.Contains(got.body, "$context") && problem.Status == 429 && problem.Type != "" && problem.Title != "" && slices.Equal(problem.Violated, []string{"per-client"})
	a.seen(ok, false, "the 429's body has no variable left", "%s", got.body)
}

func (a *live) answersUnauthorized() {
	got := a.mustAsk("/limited", "eve", http.Header{"X-Api-Key": {"sg_59b94cffe8b34dbf_7DQ4PWBHSX2LKNAVGTC3MRE6YF"}})
	a.seen(got.status == http.StatusUnauthorized, true, "a made-up API key is refused", "%d", got.status)
	a.hasFields(got, "UNAUTHORIZED")
}

// hasFields compares an answer's fields with what a gateway response states.
func (a *live) hasFields(got raw, kind string) {
	all := apigw.GatewayResponses()
	fields := all[slices.IndexFunc(all, func(r apigw.GatewayResponse) bool { return r.Type == kind })].Headers
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		value := got.header.Get(name)
		literal, isLiteral := strings.CutPrefix(fields[name], "'")
		ok := value != "" && !isLiteral || isLiteral && value == strings.TrimSuffix(literal, "'")
		a.seen(ok, isLiteral, fmt.Sprintf("the %d has %s", got.status, name), "%q by %s", value, fields[name])
	}
}

// countsExactly reads the counter: denials took nothing.
func (a *live) countsExactly() {
	d := deployment{counters: a.outputs["RateLimitCountersTable"], db: dynamodb.NewFromConfig(a.cfg)}
	c := d.counter(a.t, "per-client|client:ann|")
	a.seen(c != nil && c.charged == allowed, true, "the table counts what was allowed", "%+v", c)
}

// measures states the latency of a warm authorizer with API Gateway. It judges
// nothing.
func (a *live) measures() {
	var took []time.Duration
	for range 50 {
		took = append(took, a.mustAsk("/free", "ann", nil).took)
	}
	slices.Sort(took)
	a.seen(true, true, "50 requests, one after another", "median %v, slowest %v", took[25].Round(time.Millisecond), took[49].Round(time.Millisecond))
}

// isHealthy asks doctor. The alarms of this stack have no target, and the account's
// concurrency is not the test's.
func (a *live) isHealthy() {
	var report struct {
		Checks    int
		Findings  []struct{ Check, Where, What string }
		Unchecked []struct{ Check, Where, Why string }
	}
	out, failed := a.run("aws", "doctor", "--stack", a.stack, "--template", "template.json", "--json")
	if err := json.Unmarshal(out, &report); err != nil {
		a.t.Fatalf("%v: %v", failed, err)
	}
	report.Findings = slices.DeleteFunc(report.Findings, func(f struct{ Check, Where, What string }) bool {
		return f.Check == "alarms" || f.Check == "concurrency"
	})
	a.seen(report.Checks > 0 && len(report.Findings)+len(report.Unchecked) == 0, false, "aws doctor finds nothing", "%d checks, %v, not made: %v",
		report.Checks, report.Findings, report.Unchecked)
}

// hasMetrics waits until CloudWatch has taken a metric out of the authorizer's log,
// which has the line of a minute once a request comes after it.
func (a *live) hasMetrics() {
	end := time.Now()
	if a.emulator == "" {
		end = end.Add(5 * time.Minute)
	}
	for {
		a.mustAsk("/free", "ann", nil)
		out, err := cloudwatch.NewFromConfig(a.cfg).GetMetricStatistics(a.ctx, &cloudwatch.GetMetricStatisticsInput{
			Namespace: aws.String(metric.Namespace), MetricName: aws.String(metric.Decisions), Period: aws.Int32(60), Statistics: []types.Statistic{types.StatisticSum},
			Dimensions: []types.Dimension{{Name: aws.String(metric.Limiter), Value: aws.String(a.stack + "/RateLimit")}},
			StartTime:  aws.Time(time.Now().Add(-time.Hour)), EndTime: aws.Time(time.Now().Add(time.Minute)),
		})
		if err != nil {
			a.t.Fatal(err)
		}
		sum := 0.0
		for _, p := range out.Datapoints {
			sum += *p.Sum
		}
		if sum > 0 || time.Now().After(end) {
			a.seen(sum > 0, false, "CloudWatch has the log's metrics", "%.0f decisions", sum)
			return
		}
		select {
		case <-a.ctx.Done():
			a.t.Fatal(a.ctx.Err())
		case <-time.After(15 * time.Second):
		}
	}
}
