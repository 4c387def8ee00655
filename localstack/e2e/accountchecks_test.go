//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

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

// isHealthy asks doctor. The account's concurrency is not the test's.
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
		return f.Check == "concurrency"
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

// responseField says by which gateway response the API of this test answers.
const responseField = "Slidegate-Response"

// reportsThrottled has Lambda refuse to start the authorizer, and reports by which
// gateway response the API answers then: AWS documents none. It judges nothing. It
// comes last, because it leaves the function so.
func (a *live) reportsThrottled() {
	const what = "Lambda throttles the authorizer"
	_, err := lambda.NewFromConfig(a.cfg).PutFunctionConcurrency(a.ctx, &lambda.PutFunctionConcurrencyInput{
		FunctionName: aws.String(a.outputs["RateLimitFunction"]), ReservedConcurrentExecutions: aws.Int32(0)})
	if err != nil {
		a.seen(false, false, what, "%v", err)
		return
	}
	got := a.mustAsk("/free", "ann", nil)
	for end := time.Now().Add(time.Minute); a.emulator == "" && got.status == http.StatusOK && time.Now().Before(end); { // AWS takes some seconds
		time.Sleep(time.Second)
		got = a.mustAsk("/free", "ann", nil)
	}
	a.seen(a.emulator == "" || got.header.Get(responseField) != "", false, what, "%d by %q, error type %q, Retry-After %q: %s", got.status,
		got.header.Get(responseField), got.header.Get("X-Amzn-Errortype"), got.header.Get("Retry-After"), got.body)
}

// deployAPI puts a REST API behind the limiter, with the gateway responses that the
// construct deploys.
func (a *live) deployAPI() {
	began := time.Now()
	template, err := json.Marshal(apiTemplate(a.outputs["AuthorizerUri"]))
	if err != nil {
		a.t.Fatal(err)
	}
	stacks := cloudformation.NewFromConfig(a.cfg)
	name := aws.String(a.stack + "-api")
	a.t.Cleanup(func() { a.removeStack(*name) })
	_, err = stacks.CreateStack(a.ctx, &cloudformation.CreateStackInput{StackName: name, TemplateBody: aws.String(string(template))})
	var out *cloudformation.DescribeStacksOutput
	if err == nil {
		out, err = cloudformation.NewStackCreateCompleteWaiter(stacks, func(o *cloudformation.StackCreateCompleteWaiterOptions) {
			o.MinDelay, o.MaxDelay = time.Second, 5*time.Second
		}).WaitForOutput(a.ctx, &cloudformation.DescribeStacksInput{StackName: name}, 10*time.Minute)
	}
	if err != nil {
		a.t.Fatalf("the API behind the limiter cannot be deployed; if CloudFormation says `Invalid mapping expression`, it refuses context.authorizer.*: %v", err)
	}
	id := *out.Stacks[0].Outputs[0].OutputValue
	a.api = "https://" + id + ".execute-api." + a.cfg.Region + ".amazonaws.com/prod"
	if a.emulator != "" {
		a.api = a.emulator + "/restapis/" + id + "/prod/_user_request_"
	}
	a.seen(true, true, "CloudFormation accepts the mappings", "API %s in %.0f s", id, time.Since(began).Seconds())
	for end := time.Now().Add(time.Minute); ; { // DNS and the stage need some seconds
		got, err := a.ask("/free", "warm", nil)
		if err == nil && got.status == http.StatusOK {
			return
		}
		if time.Now().After(end) {
			a.t.Fatalf("the API answers %d, error %v", got.status, err)
		}
		time.Sleep(time.Second)
	}
}

// apiTemplate is a REST API with one method behind the authorizer. It answers
// itself, with what the authorizer passes on.
func apiTemplate(authorizer string) map[string]any {
	type object = map[string]any
	ref := func(id string) object { return object{"Ref": id} }
	res := func(kind string, properties object) object {
		return object{"Type": "AWS::ApiGateway::" + kind, "Properties": properties}
	}
	method := res("Method", object{
		"RestApiId": ref("Api"), "ResourceId": ref("Path"), "HttpMethod": "GET", "AuthorizationType": "CUSTOM", "AuthorizerId": ref("Authorizer"),
		"MethodResponses": []any{object{"StatusCode": "200"}},
		"Integration": object{"Type": "MOCK", "RequestTemplates": object{"application/json": `{"statusCode": 200}`},
			"IntegrationResponses": []any{object{"StatusCode": "200", "ResponseTemplates": object{
				"application/json": `{"rule":"$context.authorizer.rule","remaining":"$context.authorizer.remaining","degraded":"$context.authorizer.degraded"}`}}}},
	})
	resources := object{
		"Api":  res("RestApi", object{"Name": ref("AWS::StackName"), "EndpointConfiguration": object{"Types": []any{"REGIONAL"}}}),
		"Path": res("Resource", object{"RestApiId": ref("Api"), "ParentId": object{"Fn::GetAtt": []any{"Api", "RootResourceId"}}, "PathPart": "{proxy+}"}),
		"Authorizer": res("Authorizer", object{
			"RestApiId": ref("Api"), "Name": "Slidegate", "Type": "REQUEST", "AuthorizerUri": authorizer, "AuthorizerResultTtlInSeconds": 0,
		}),
		"Method": method,
	}
	depends := []any{"Method"}
	for _, r := range apigw.GatewayResponses() {
		parameters := object{"gatewayresponse.header." + responseField: "'" + r.Type + "'"}
		for name, value := range r.Headers {
			parameters["gatewayresponse.header."+name] = value
		}
		properties := object{"RestApiId": ref("Api"), "ResponseType": r.Type, "ResponseParameters": parameters}
		if r.Status != 0 {
			properties["StatusCode"] = strconv.Itoa(r.Status)
		}
		if r.Body != "" {
			properties["ResponseTemplates"] = object{"application/json": r.Body}
		}
		id := strings.ReplaceAll(r.Type, "_", "")
		resources[id] = res("GatewayResponse", properties)
		depends = append(depends, id)
	}
	deployment := res("Deployment", object{"RestApiId": ref("Api"), "StageName": "prod"})
	deployment["DependsOn"] = depends
	resources["Deployment"] = deployment
	return object{"Resources": resources, "Outputs": object{"Id": object{"Value": ref("Api")}}}
}
