package doctor

import (
	"context"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	resttypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/aws-sdk-go-v2/service/cloudwatch"
	cwtypes "github.com/aws/aws-sdk-go-v2/service/cloudwatch/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/iam"
	iamtypes "github.com/aws/aws-sdk-go-v2/service/iam/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

const (
	uri      = "arn:aws:apigateway:eu-north-1:lambda:path/2015-03-31/functions/arn:aws:lambda:eu-north-1:123456789012:function:authorize/invocations"
	codeHash = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
)

// world is an account with a healthy limiter, which tests change.
type world struct {
	ruletable.API // nil: calls that no test expects
	apis.REST

	deployed    aws.Deployed
	function    *lambda.GetFunctionConfigurationOutput
	concurrency int32
	tables      map[string]bool
	expiry      dbtypes.TimeToLiveDescription                // of counters
	items       map[string]map[string]dbtypes.AttributeValue // of the rules table, by sort key
	policies    map[string]string
	attached    []string
	alarms      []cwtypes.MetricAlarm
	api         *fakeREST
	routes      []v2types.Route
	v2          v2types.Authorizer
	protocol    v2types.ProtocolType
	ahead       time.Duration
	refused     string // the call that AWS does not permit
	emulator    string // whose calls it lacks fail with 501
}

// fakeREST is a REST API. What its stage serves is an export.
type fakeREST struct {
	authorizers []resttypes.Authorizer
	resources   []resttypes.Resource
	responses   map[string]resttypes.GatewayResponse
	stage       []byte
}

func method1(verb, authorizer string) resttypes.Method {
	if authorizer == "" {
		return resttypes.Method{HttpMethod: &verb, AuthorizationType: sdk.String("NONE")}
	}
	return resttypes.Method{HttpMethod: &verb, AuthorizationType: sdk.String("CUSTOM"), AuthorizerId: &authorizer}
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{
		deployed: aws.Deployed{
			Limiter: aws.Limiter{ID: "RateLimit", CountersTable: "counters", RulesTable: "rules", Function: "authorize"},
			Version: "v1.2.0", CodeBucket: "code", CodeKey: "slidegate/" + codeHash + ".zip",
		},
		function: &lambda.GetFunctionConfigurationOutput{
			FunctionArn: sdk.String("arn:aws:lambda:eu-north-1:123456789012:function:authorize"), Role: sdk.String("arn:aws:iam::123456789012:role/path/authorizer"),
			Environment:   &lambdatypes.EnvironmentResponse{Variables: map[string]string{countersVariable: "counters", rulesVariable: "rules"}},
			LoggingConfig: &lambdatypes.LoggingConfig{LogFormat: lambdatypes.LogFormatJson, LogGroup: sdk.String("log")},
		},
		concurrency: 1000,
		tables:      map[string]bool{"counters": true, "rules": true},
		expiry:      dbtypes.TimeToLiveDescription{AttributeName: sdk.String("ttl"), TimeToLiveStatus: dbtypes.TimeToLiveStatusEnabled},
		policies: map[string]string{"own": `{"Version": "2012-10-17", "Statement": [
			{"Effect": "Allow", "Action": ["logs:CreateLogStream", "logs:PutLogEvents"], "Resource": "arn:aws:logs:eu-north-1:123456789012:log-group:log:*"},
			{"Effect": "Allow", "Action": ["dynamodb:GetItem", "dynamodb:UpdateItem"], "Resource": "arn:aws:dynamodb:eu-north-1:123456789012:table/counters"},
			{"Effect": "Allow", "Action": "dynamodb:GetItem", "Resource": ["arn:aws:dynamodb:eu-north-1:123456789012:table/rules"]}]}`},
		alarms:   []cwtypes.MetricAlarm{{AlarmName: sdk.String("shop-RateLimitDegraded"), AlarmActions: []string{"arn:aws:sns:…"}, ActionsEnabled: sdk.Bool(true)}},
		v2:       v2types.Authorizer{AuthorizerId: sdk.String("v2auth"), Name: sdk.String("Slidegate"), AuthorizerUri: sdk.String(uri), AuthorizerResultTtlInSeconds: sdk.Int32(0)},
		protocol: v2types.ProtocolTypeHttp,
		routes: []v2types.Route{
			{RouteKey: sdk.String("GET /items"), RouteId: sdk.String("r1"), AuthorizerId: sdk.String("v2auth"), AuthorizationType: v2types.AuthorizationTypeCustom},
			{RouteKey: sdk.String("OPTIONS /items"), RouteId: sdk.String("r2"), AuthorizationType: v2types.AuthorizationTypeNone},
		},
	}
	hash, err := hex.DecodeString(codeHash)
	if err != nil {
		t.Fatal(err)
	}
	w.function.CodeSha256 = sdk.String(base64.StdEncoding.EncodeToString(hash))
	w.publish(t, `{"rules": [{"name": "api", "key": "ip:{ip}", "limits": [{"capacity": 1, "window": "1m"}]}]}`)
	w.api = &fakeREST{
		authorizers: []resttypes.Authorizer{{Id: sdk.String("auth"), Name: sdk.String("Slidegate"), AuthorizerUri: sdk.String(uri), AuthorizerResultTtlInSeconds: sdk.Int32(0)}},
		resources: []resttypes.Resource{{Id: sdk.String("res"), Path: sdk.String("/items"), ResourceMethods: map[string]resttypes.Method{
			"GET": method1("GET", "auth"), "ANY": method1("ANY", "auth"), "OPTIONS": method1("OPTIONS", ""),
		}}},
		responses: map[string]resttypes.GatewayResponse{},
	}
	for _, own := range apigw.GatewayResponses() {
		r := resttypes.GatewayResponse{ResponseType: resttypes.GatewayResponseType(own.Type), ResponseParameters: map[string]string{}}
		for name, expression := range own.Headers {
			r.ResponseParameters[apigw.ResponseField+name] = expression
		}
		if own.Status != 0 {
			r.StatusCode = sdk.String(strconv.Itoa(own.Status))
		}
		if own.Body != "" {
			r.ResponseTemplates = map[string]string{"application/json": own.Body}
		}
		w.api.responses[own.Type] = r
	}
	w.api.deploy(t)
	return w
}

func (w *world) doctor() *Doctor {
	return &Doctor{
		Stacks: w, Functions: w, Tables: w, Roles: w, Alarms: w, APIs: apis.Reader{REST: w, V2: fakeV2{of: w}}, Region: "eu-north-1",
		Emulator: func(context.Context) string { return w.emulator },
		Ahead:    func() (time.Duration, bool) { return w.ahead, true },
	}
}

// publish publishes rules.
func (w *world) publish(t *testing.T, text string) {
	t.Helper()
	w.items = map[string]map[string]dbtypes.AttributeValue{}
	document, err := ruledoc.Unmarshal([]byte(text))
	if err == nil {
		_, err = ruletable.New(w, "rules").Publish(t.Context(), ruletable.Version{Text: []byte(text), Document: document}, 0)
	}
	if err != nil {
		t.Fatal(err)
	}
}

func (w *world) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return &dynamodb.QueryOutput{}, nil
}

func (w *world) TransactWriteItems(_ context.Context, in *dynamodb.TransactWriteItemsInput, _ ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, write := range in.TransactItems {
		w.items[write.Put.Item["s"].(*dbtypes.AttributeValueMemberS).Value] = write.Put.Item
	}
	return &dynamodb.TransactWriteItemsOutput{}, nil
}

// deploy has the stage serve the API as it is, and returns the document that API
// Gateway exports of it.
func (f *fakeREST) deploy(t *testing.T) {
	t.Helper()
	schemes, paths, responses := map[string]any{}, map[string]any{}, map[string]any{}
	names := map[string]string{}
	for _, a := range f.authorizers {
		names[*a.Id] = *a.Name
		schemes[*a.Name] = map[string]any{"type": "apiKey", "name": "Unused", "in": "header", "x-amazon-apigateway-authtype": "custom", "x-amazon-apigateway-authorizer": map[string]any{
			"authorizerUri": a.AuthorizerUri, "authorizerResultTtlInSeconds": a.AuthorizerResultTtlInSeconds, "type": "request",
		}}
	}
	for _, r := range f.resources {
		item := map[string]any{"parameters": []any{}}
		for verb, m := range r.ResourceMethods {
			operation := map[string]any{"responses": map[string]any{}}
			if m.AuthorizerId != nil {
				operation["security"] = []any{map[string]any{names[*m.AuthorizerId]: []any{}}}
			}
			key := strings.ToLower(verb)
			if verb == "ANY" {
				key = "x-amazon-apigateway-any-method"
			}
			item[key] = operation
		}
		paths[*r.Path] = item
	}
	for kind, r := range f.responses {
		object := map[string]any{"responseParameters": r.ResponseParameters, "responseTemplates": r.ResponseTemplates}
		if r.StatusCode != nil {
			status, err := strconv.Atoi(*r.StatusCode)
			if err != nil {
				t.Fatal(err)
			}
			object["statusCode"] = status
		}
		responses[kind] = object
	}
	data, err := json.Marshal(map[string]any{
		"openapi": "3.0.1", "paths": paths, "components": map[string]any{"securitySchemes": schemes}, "x-amazon-apigateway-gateway-responses": responses,
	})
	if err != nil {
		t.Fatal(err)
	}
	f.stage = data
}

// refuse is AWS's answer to a call without the right, or an emulator's to one that
// it lacks.
func (w *world) refuse(service, call string) error {
	if w.refused != call {
		return nil
	}
	err := error(&smithy.GenericAPIError{Code: "AccessDeniedException", Message: "no"})
	if w.emulator != "" {
		answer := &smithyhttp.Response{Response: &http.Response{StatusCode: http.StatusNotImplemented}}
		err = &smithyhttp.ResponseError{Response: answer, Err: &smithy.GenericAPIError{Code: "InternalFailure", Message: "not yet implemented"}}
	}
	return &smithy.OperationError{ServiceID: service, OperationName: call, Err: err}
}

func (w *world) Deployed(context.Context, string, string) (aws.Deployed, error) {
	return w.deployed, nil
}

func (w *world) GetFunctionConfiguration(context.Context, *lambda.GetFunctionConfigurationInput, ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error) {
	if w.function == nil {
		return nil, &lambdatypes.ResourceNotFoundException{}
	}
	return w.function, w.refuse("Lambda", "GetFunctionConfiguration")
}

func (w *world) GetAccountSettings(context.Context, *lambda.GetAccountSettingsInput, ...func(*lambda.Options)) (*lambda.GetAccountSettingsOutput, error) {
	return &lambda.GetAccountSettingsOutput{AccountLimit: &lambdatypes.AccountLimit{ConcurrentExecutions: w.concurrency}}, w.refuse("Lambda", "GetAccountSettings")
}

func (w *world) DescribeTable(_ context.Context, in *dynamodb.DescribeTableInput, _ ...func(*dynamodb.Options)) (*dynamodb.DescribeTableOutput, error) {
	if !w.tables[*in.TableName] {
		return nil, &dbtypes.ResourceNotFoundException{}
	}
	return &dynamodb.DescribeTableOutput{Table: &dbtypes.TableDescription{}}, w.refuse("DynamoDB", "DescribeTable")
}

func (w *world) DescribeTimeToLive(context.Context, *dynamodb.DescribeTimeToLiveInput, ...func(*dynamodb.Options)) (*dynamodb.DescribeTimeToLiveOutput, error) {
	return &dynamodb.DescribeTimeToLiveOutput{TimeToLiveDescription: &w.expiry}, w.refuse("DynamoDB", "DescribeTimeToLive")
}

func (w *world) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{Item: w.items[in.Key["s"].(*dbtypes.AttributeValueMemberS).Value]}, w.refuse("DynamoDB", "GetItem")
}

func (w *world) ListRolePolicies(context.Context, *iam.ListRolePoliciesInput, ...func(*iam.Options)) (*iam.ListRolePoliciesOutput, error) {
	return &iam.ListRolePoliciesOutput{PolicyNames: slices.Sorted(maps.Keys(w.policies))}, w.refuse("IAM", "ListRolePolicies")
}

func (w *world) GetRolePolicy(_ context.Context, in *iam.GetRolePolicyInput, _ ...func(*iam.Options)) (*iam.GetRolePolicyOutput, error) {
	return &iam.GetRolePolicyOutput{PolicyDocument: sdk.String(url.QueryEscape(w.policies[*in.PolicyName]))}, nil
}

func (w *world) ListAttachedRolePolicies(context.Context, *iam.ListAttachedRolePoliciesInput, ...func(*iam.Options)) (*iam.ListAttachedRolePoliciesOutput, error) {
	out := &iam.ListAttachedRolePoliciesOutput{}
	for _, arn := range w.attached {
		out.AttachedPolicies = append(out.AttachedPolicies, iamtypes.AttachedPolicy{PolicyArn: &arn})
	}
	return out, nil
}

func (w *world) DescribeAlarms(_ context.Context, in *cloudwatch.DescribeAlarmsInput, _ ...func(*cloudwatch.Options)) (*cloudwatch.DescribeAlarmsOutput, error) {
	out := &cloudwatch.DescribeAlarmsOutput{}
	for _, a := range w.alarms {
		if strings.HasPrefix(*a.AlarmName, *in.AlarmNamePrefix) {
			out.MetricAlarms = append(out.MetricAlarms, a)
		}
	}
	return out, w.refuse("CloudWatch", "DescribeAlarms")
}

// GetRestApis has a page for each API.
func (w *world) GetRestApis(_ context.Context, in *apigateway.GetRestApisInput, _ ...func(*apigateway.Options)) (*apigateway.GetRestApisOutput, error) {
	if in.Position == nil {
		return &apigateway.GetRestApisOutput{Items: []resttypes.RestApi{{Id: sdk.String("other"), Name: sdk.String("other")}}, Position: sdk.String("2")}, w.refuse("API Gateway", "GetRestApis")
	}
	return &apigateway.GetRestApisOutput{Items: []resttypes.RestApi{{Id: sdk.String("a1"), Name: sdk.String("shop")}}}, nil
}

func (w *world) GetAuthorizers(_ context.Context, in *apigateway.GetAuthorizersInput, _ ...func(*apigateway.Options)) (*apigateway.GetAuthorizersOutput, error) {
	if *in.RestApiId == "other" {
		return &apigateway.GetAuthorizersOutput{Items: []resttypes.Authorizer{{Id: sdk.String("x"), AuthorizerUri: sdk.String(strings.Replace(uri, ":authorize/", ":authorize2/", 1))}}}, nil
	}
	return &apigateway.GetAuthorizersOutput{Items: w.api.authorizers}, nil
}

func (w *world) GetResources(context.Context, *apigateway.GetResourcesInput, ...func(*apigateway.Options)) (*apigateway.GetResourcesOutput, error) {
	return &apigateway.GetResourcesOutput{Items: w.api.resources}, w.refuse("API Gateway", "GetResources")
}

func (w *world) GetGatewayResponses(context.Context, *apigateway.GetGatewayResponsesInput, ...func(*apigateway.Options)) (*apigateway.GetGatewayResponsesOutput, error) {
	items := []resttypes.GatewayResponse{{ResponseType: "THROTTLED", DefaultResponse: true, ResponseParameters: w.api.responses["DEFAULT_4XX"].ResponseParameters}}
	if _, ok := w.api.responses["ACCESS_DENIED"]; !ok {
		items = append(items, resttypes.GatewayResponse{ResponseType: "ACCESS_DENIED", StatusCode: sdk.String("403"), DefaultResponse: true})
	}
	return &apigateway.GetGatewayResponsesOutput{Items: slices.AppendSeq(items, maps.Values(w.api.responses))}, w.refuse("API Gateway", "GetGatewayResponses")
}

func (w *world) GetStages(context.Context, *apigateway.GetStagesInput, ...func(*apigateway.Options)) (*apigateway.GetStagesOutput, error) {
	return &apigateway.GetStagesOutput{Item: []resttypes.Stage{{StageName: sdk.String("prod")}}}, w.refuse("API Gateway", "GetStages")
}

func (w *world) GetExport(context.Context, *apigateway.GetExportInput, ...func(*apigateway.Options)) (*apigateway.GetExportOutput, error) {
	return &apigateway.GetExportOutput{Body: w.api.stage}, w.refuse("API Gateway", "GetExport")
}

// fakeV2 has an API of the protocol that the test says.
type fakeV2 struct {
	apis.V2 // nil: calls that no test expects
	of      *world
}

func (f fakeV2) GetApis(context.Context, *apigatewayv2.GetApisInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetApisOutput, error) {
	return &apigatewayv2.GetApisOutput{Items: []v2types.Api{{ApiId: sdk.String("h1"), Name: sdk.String("web"), ProtocolType: f.of.protocol}}}, f.of.refuse("ApiGatewayV2", "GetApis")
}

func (f fakeV2) GetAuthorizers(context.Context, *apigatewayv2.GetAuthorizersInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetAuthorizersOutput, error) {
	return &apigatewayv2.GetAuthorizersOutput{Items: []v2types.Authorizer{f.of.v2}}, nil
}

func (f fakeV2) GetRoutes(context.Context, *apigatewayv2.GetRoutesInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetRoutesOutput, error) {
	return &apigatewayv2.GetRoutesOutput{Items: f.of.routes}, f.of.refuse("ApiGatewayV2", "GetRoutes")
}
