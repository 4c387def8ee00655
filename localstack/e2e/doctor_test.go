//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	resttypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// exporting returns the address of a proxy that adds to the exports of stages what
// MiniStack leaves out: the gateway responses that were deployed.
func exporting(t *testing.T, emulator string, cfg aws.Config) (address string) {
	t.Helper()
	target, err := url.Parse(emulator)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	deployed := map[string]map[string]any{} // by id of the deployment
	rest := apigateway.NewFromConfig(cfg)
	path := regexp.MustCompile(`^/restapis/([^/]+)/(deployments|stages/([^/]+)/exports/.*)$`)
	server := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Host = r.In.Host // it is signed
		},
		ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(answer *http.Response) error {
			match := path.FindStringSubmatch(answer.Request.URL.Path)
			if match == nil || answer.StatusCode/100 != 2 {
				return nil
			}
			mu.Lock()
			defer mu.Unlock()
			text, err := io.ReadAll(answer.Body)
			var document map[string]any
			if err == nil {
				err = json.Unmarshal(text, &document)
			}
			switch api, ctx := match[1], answer.Request.Context(); {
			case err != nil:
			case answer.Request.Method == http.MethodPost:
				deployed[document["id"].(string)], err = ownResponses(ctx, rest, api)
			case match[3] != "":
				var stage *apigateway.GetStageOutput
				if stage, err = rest.GetStage(ctx, &apigateway.GetStageInput{RestApiId: &api, StageName: &match[3]}); err == nil {
					document["x-amazon-apigateway-gateway-responses"] = deployed[*stage.DeploymentId]
					text, err = json.Marshal(document)
				}
			}
			answer.Body, answer.ContentLength = io.NopCloser(bytes.NewReader(text)), int64(len(text))
			answer.Header.Set("Content-Length", strconv.Itoa(len(text)))
			return err
		},
	})
	t.Cleanup(server.Close)
	return server.URL
}

// ownResponses returns the gateway responses that an API states, as exports have
// them.
func ownResponses(ctx context.Context, rest *apigateway.Client, api string) (map[string]any, error) {
	list, err := rest.GetGatewayResponses(ctx, &apigateway.GetGatewayResponsesInput{RestApiId: &api})
	if err != nil {
		return nil, err
	}
	all := map[string]any{}
	for _, r := range list.Items {
		own := map[string]any{"responseParameters": r.ResponseParameters, "responseTemplates": r.ResponseTemplates}
		if r.StatusCode != nil {
			own["statusCode"] = json.Number(*r.StatusCode)
		}
		if !r.DefaultResponse {
			all[string(r.ResponseType)] = own
		}
	}
	return all, nil
}

// clinic is a limiter on an emulator, with a REST API and an HTTP API behind it.
type clinic struct {
	*shop
	rest                                                    *apigateway.Client
	v2                                                      *apigatewayv2.Client
	functions                                               *lambda.Client
	db                                                      *dynamodb.Client
	function, role, counters, rules                         string
	uri, api, root, authorizer, http, route, httpAuthorizer string
}

// examined deploys a limiter and APIs, and plants one fault after the other.
// Doctor names each, and is silent once it is mended.
func (c *shop) examined() {
	defer catch(c.t)
	plain := c.endpoint
	c.endpoint = exporting(c.t, c.endpoint, c.cfg.Copy())
	c.cfg.BaseEndpoint = &c.endpoint
	if printed, code := c.run("aws", "deploy", "--rules", "rules.yaml"); code != 0 {
		c.t.Fatal(printed)
	}
	x := &clinic{shop: c, rest: apigateway.NewFromConfig(c.cfg), v2: apigatewayv2.NewFromConfig(c.cfg),
		functions: lambda.NewFromConfig(c.cfg), db: dynamodb.NewFromConfig(c.cfg)}
	x.readStack()
	x.addAPIs()
	x.healthy(x.t, "its TTL is off: MiniStack 1.", "alarms without a target") // MiniStack takes no TTL from templates
	x.expire(true)
	x.healthy(x.t, "alarms without a target")
	if printed, code := c.run("aws", "deploy", "--alarm-topic", "arn:aws:sns:"+region+":"+account+":alarms"); code != 0 {
		c.t.Fatal(printed)
	}
	x.healthy(x.t)
	for _, f := range x.faults() {
		x.t.Run(f.name, func(t *testing.T) {
			defer catch(t)
			f.plant()
			x.finds(t, f.found)
			f.mend()
		})
	}
	x.healthy(x.t)
	exports := c.endpoint
	c.endpoint = plain
	x.healthy(x.t, "exports no gateway responses, so those that the stage serves are not compared")
	c.endpoint = exports
	c.permit(strings.ReplaceAll(c.policy, `"apigateway:GET"`, `"sts:GetCallerIdentity"`))
	printed, code := c.doctor()
	const unchecked = "not checked: apis of REST APIs: AWS does not permit the call"
	if code != 1 || strings.Contains(printed, "wrong:") || !strings.Contains(printed, unchecked) {
		x.t.Errorf("without apigateway:GET doctor prints (exit %d):\n%s", code, printed)
	}
	c.permit(c.policy)
	if printed, code := c.run("aws", "delete", "--yes"); code != 0 {
		c.t.Fatal(printed)
	}
}

func (c *shop) doctor() (printed string, code int) {
	c.t.Helper()
	return c.run("aws", "doctor", "--template", "template.json")
}

// healthy has doctor find nothing, and note these facts and no others.
func (x *clinic) healthy(t *testing.T, notes ...string) {
	t.Helper()
	pattern := `^note: region \S+: MiniStack [0-9.]+ at \S+ stands in for AWS: what it lacks is a note\n`
	for _, note := range notes {
		pattern += `note: [^\n]*` + regexp.QuoteMeta(note) + `[^\n]*\n(?:  to change it: [^\n]+\n)?`
	}
	nothing := regexp.MustCompile(pattern + `nothing to mend: \d+ checks of stack slidegate and 2 APIs\n$`)
	if printed, code := x.doctor(); code != 0 || !nothing.MatchString(printed) {
		t.Fatalf("doctor prints (exit %d):\n%s\nwant %s", code, printed, nothing)
	}
}

// finds has doctor find these faults and no others.
func (x *clinic) finds(t *testing.T, faults ...string) {
	t.Helper()
	printed, code := x.doctor()
	for _, fault := range faults {
		if !strings.Contains(printed, fault) {
			t.Errorf("doctor does not find %q", fault)
		}
	}
	wrong, mends := strings.Count(printed, "wrong: "), strings.Count(printed, "  mend: ")
	checked := !strings.Contains(printed, "not checked")
	if code != 1 || wrong != len(faults) || mends != len(faults) || !checked || t.Failed() {
		t.Errorf("doctor prints (exit %d):\n%s", code, printed)
	}
}

// must returns the answer of a call. catch fails the test if there is none.
func must[T any](answer T, err error) T {
	if err != nil {
		panic(err)
	}
	return answer
}

func catch(t *testing.T) {
	if err := recover(); err != nil {
		t.Fatal(err)
	}
}

// readStack reads what the tests change.
func (x *clinic) readStack() {
	ctx := x.t.Context()
	name := &cloudformation.DescribeStacksInput{StackName: aws.String("slidegate")}
	stacks := must(cloudformation.NewFromConfig(x.cfg).DescribeStacks(ctx, name))
	outputs := map[string]string{}
	for _, o := range stacks.Stacks[0].Outputs {
		outputs[*o.OutputKey] = *o.OutputValue
	}
	x.uri, x.function = outputs["AuthorizerUri"], outputs["RateLimitFunction"]
	x.counters, x.rules = outputs["RateLimitCountersTable"], outputs["RateLimitRulesTable"]
	in := &lambda.GetFunctionConfigurationInput{FunctionName: &x.function}
	function := must(x.functions.GetFunctionConfiguration(ctx, in))
	x.role = (*function.Role)[strings.LastIndex(*function.Role, "/")+1:]
}

// addAPIs puts a REST API and an HTTP API behind the limiter, each with a method
// GET and OPTIONS.
func (x *clinic) addAPIs() {
	ctx := x.t.Context()
	x.api = *must(x.rest.CreateRestApi(ctx, &apigateway.CreateRestApiInput{Name: aws.String("shop")})).Id
	x.root = *must(x.rest.GetResources(ctx, &apigateway.GetResourcesInput{RestApiId: &x.api})).Items[0].Id
	x.authorizer = *must(x.rest.CreateAuthorizer(ctx, &apigateway.CreateAuthorizerInput{
		RestApiId: &x.api, Name: aws.String("Slidegate"),
		Type: resttypes.AuthorizerTypeRequest, AuthorizerUri: &x.uri, AuthorizerResultTtlInSeconds: aws.Int32(0)})).Id
	x.method("GET", true)
	x.method("OPTIONS", false)
	for _, r := range apigw.GatewayResponses() {
		x.response(r)
	}
	x.deploy()
	web := &apigatewayv2.CreateApiInput{Name: aws.String("web"), ProtocolType: v2types.ProtocolTypeHttp}
	x.http = *must(x.v2.CreateApi(ctx, web)).ApiId
	x.httpAuthorizer = *must(x.v2.CreateAuthorizer(ctx, &apigatewayv2.CreateAuthorizerInput{
		ApiId: &x.http, Name: aws.String("Slidegate"), AuthorizerType: v2types.AuthorizerTypeRequest,
		IdentitySource: []string{}, AuthorizerUri: &x.uri,
		AuthorizerPayloadFormatVersion: aws.String("2.0"), AuthorizerResultTtlInSeconds: aws.Int32(0),
	})).AuthorizerId
	x.route = *must(x.v2.CreateRoute(ctx, &apigatewayv2.CreateRouteInput{ApiId: &x.http, RouteKey: aws.String("GET /"),
		AuthorizationType: v2types.AuthorizationTypeCustom, AuthorizerId: &x.httpAuthorizer})).RouteId
	must(x.v2.CreateRoute(ctx, &apigatewayv2.CreateRouteInput{ApiId: &x.http, RouteKey: aws.String("OPTIONS /")}))
}

// method puts a method with or without the authorizer.
func (x *clinic) method(verb string, limited bool) {
	in := &apigateway.PutMethodInput{
		RestApiId: &x.api, ResourceId: &x.root, HttpMethod: &verb, AuthorizationType: aws.String("NONE"),
	}
	if limited {
		in.AuthorizationType, in.AuthorizerId = aws.String("CUSTOM"), &x.authorizer
	}
	must(x.rest.PutMethod(x.t.Context(), in))
}

func (x *clinic) response(r apigw.GatewayResponse) {
	in := &apigateway.PutGatewayResponseInput{
		RestApiId: &x.api, ResponseType: resttypes.GatewayResponseType(r.Type), ResponseParameters: map[string]string{},
	}
	for name, expression := range r.Headers {
		in.ResponseParameters["gatewayresponse.header."+name] = expression
	}
	if r.Status != 0 {
		in.StatusCode = aws.String(strconv.Itoa(r.Status))
	}
	if r.Body != "" {
		in.ResponseTemplates = map[string]string{"application/json": r.Body}
	}
	must(x.rest.PutGatewayResponse(x.t.Context(), in))
}

func (x *clinic) deploy() {
	in := &apigateway.CreateDeploymentInput{RestApiId: &x.api, StageName: aws.String("prod")}
	must(x.rest.CreateDeployment(x.t.Context(), in))
}

// expire switches the TTL of the counters.
func (x *clinic) expire(on bool) {
	must(x.db.UpdateTimeToLive(x.t.Context(), &dynamodb.UpdateTimeToLiveInput{TableName: &x.counters,
		TimeToLiveSpecification: &dbtypes.TimeToLiveSpecification{AttributeName: aws.String("ttl"), Enabled: &on}}))
}

// fault is planted, found and mended.
type fault struct {
	name, found string
	plant, mend func()
}

// faults has one for each service that doctor reads. Its own tests have all of
// them, by fakes.
func (x *clinic) faults() []fault {
	ctx, denied := x.t.Context(), apigw.GatewayResponses()[0]
	other := denied
	other.Status = http.StatusForbidden
	route := func(kind v2types.AuthorizationType, authorizer string) func() {
		return func() {
			must(x.v2.UpdateRoute(ctx, &apigatewayv2.UpdateRouteInput{
				ApiId: &x.http, RouteId: &x.route, AuthorizationType: kind, AuthorizerId: &authorizer,
			}))
		}
	}
	code := func(name string) func() {
		return func() {
			zip := must(os.ReadFile(filepath.Join(x.dir, name+"_"+runtime.GOARCH+".zip")))
			must(x.functions.UpdateFunctionCode(ctx, &lambda.UpdateFunctionCodeInput{FunctionName: &x.function, ZipFile: zip}))
		}
	}
	name, own := x.policyOf(x.role)
	var lacking policy
	without := bytes.Replace(must(json.Marshal(own)), []byte(`,"dynamodb:UpdateItem"`), nil, 1)
	must(0, json.Unmarshal(without, &lacking))
	current := map[string]dbtypes.AttributeValue{
		"p": &dbtypes.AttributeValueMemberS{Value: "set"}, "s": &dbtypes.AttributeValueMemberS{Value: "current"},
	}
	pointer := must(x.db.GetItem(ctx, &dynamodb.GetItemInput{TableName: &x.rules, Key: current})).Item
	point := func(item map[string]dbtypes.AttributeValue) func() {
		return func() { must(x.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &x.rules, Item: item})) }
	}
	damaged := maps.Clone(pointer)
	damaged["version"] = &dbtypes.AttributeValueMemberN{Value: "0"}
	return []fault{
		{"a method without authorizer", "GET / has no authorizer",
			func() { x.method("GET", false) }, func() { x.method("GET", true) }},
		{"a route without authorizer", "GET / has no authorizer",
			route(v2types.AuthorizationTypeNone, ""), route(v2types.AuthorizationTypeCustom, x.httpAuthorizer)},
		{"not deployed", "changed and not deployed; the stage still serves: gateway response ACCESS_DENIED has status 403",
			func() { x.response(other); x.deploy(); x.response(denied) }, x.deploy},
		{"a right is missing", "the function lacks dynamodb:UpdateItem on ",
			func() { x.putPolicy(x.role, name, lacking) }, func() { x.putPolicy(x.role, name, own) }},
		{"other code", "its code is not that of the stack", code("operations"), code("authorizer")},
		{"damaged rules", "the rules in force cannot be read", point(damaged), point(pointer)},
	}
}
