package ratelimit_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2authorizers"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigatewayv2integrations"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/infra/internal/cdktest"
	"github.com/slidegate/slidegate/infra/ratelimit"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

type (
	stackOf = awscdk.Stack
	limiter = *ratelimit.RateLimit
)

func restAPI(stack stackOf, props *awsapigateway.RestApiProps) awsapigateway.RestApi {
	api := awsapigateway.NewRestApi(stack, jsii.String("Api"), props)
	api.Root().AddMethod(jsii.String("GET"), nil, nil)
	return api
}

func httpAPI(stack stackOf, props awsapigatewayv2.HttpApiProps) awsapigatewayv2.HttpApi {
	props.DefaultIntegration = awsapigatewayv2integrations.NewHttpUrlIntegration(jsii.String("Backend"), jsii.String("https://backend.example"), nil)
	return awsapigatewayv2.NewHttpApi(stack, jsii.String("Api"), &props)
}

func webSocketAPI(stack stackOf) awsapigatewayv2.WebSocketApi {
	mock := awsapigatewayv2integrations.NewWebSocketMockIntegration(jsii.String("Mock"), nil)
	api := awsapigatewayv2.NewWebSocketApi(stack, jsii.String("Api"), &awsapigatewayv2.WebSocketApiProps{
		ConnectRouteOptions: &awsapigatewayv2.WebSocketRouteOptions{Integration: mock},
	})
	api.AddRoute(jsii.String("talk"), &awsapigatewayv2.WebSocketRouteOptions{Integration: mock})
	return api
}

// endpoints lists methods and routes as "NAME AUTHORIZER".
func endpoints(tpl cdktest.Template) (lines []string) {
	for id, r := range tpl.Resources {
		name := map[string]any{"AWS::ApiGateway::Method": r.Properties["HttpMethod"], "AWS::ApiGatewayV2::Route": r.Properties["RouteKey"]}[r.Type]
		if name == nil {
			continue
		}
		if r.Type == "AWS::ApiGateway::Method" {
			name = fmt.Sprint(id[:len(id)-8], " ", name)
		}
		authorizer := r.Properties["AuthorizationType"]
		if id, ok := r.Properties["AuthorizerId"].(map[string]any); ok {
			authorizer = regexp.MustCompile(`[0-9A-F]{8}$`).ReplaceAllString(id["Ref"].(string), "")
		}
		lines = append(lines, fmt.Sprint(name, " ", authorizer))
	}
	slices.Sort(lines)
	return lines
}

// TestProtect: every method and route gets the authorizer, whenever it was added,
// except OPTIONS and messages.
func TestProtect(t *testing.T) {
	const own = "ApiSlidegateAuthorizer"
	tests := []struct {
		name   string
		extend func(stackOf, limiter)
		want   []string
	}{
		{"REST", func(stack stackOf, limiter limiter) {
			api := newAPI(stack)
			limiter.Protect(api)
			v1 := api.Root().AddResource(jsii.String("v1"), nil)
			v1.AddMethod(jsii.String("ANY"), nil, nil)
			v2 := api.Root().AddResource(jsii.String("v2"), nil)
			v2.Node().TryRemoveChild(jsii.String("OPTIONS")) // CDK's own
			v2.AddMethod(jsii.String("OPTIONS"), nil, nil)
		}, []string{"ApiGET GET " + own, "ApiOPTIONS OPTIONS NONE", "Apiv1ANY ANY " + own, "Apiv1OPTIONS OPTIONS NONE", "Apiv2OPTIONS OPTIONS NONE"}},
		{"another API", func(stack stackOf, limiter limiter) {
			limiter.Protect(newAPI(stack))
			awsapigateway.NewRestApi(stack, jsii.String("Open"), nil).Root().AddMethod(jsii.String("GET"), nil, nil)
		}, []string{"ApiGET GET " + own, "ApiOPTIONS OPTIONS NONE", "OpenGET GET NONE"}},
		{"HTTP", func(stack stackOf, limiter limiter) {
			api := httpAPI(stack, awsapigatewayv2.HttpApiProps{})
			limiter.Protect(api)
			api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
				Path:        jsii.String("/items/{id}"),
				Methods:     &[]awsapigatewayv2.HttpMethod{awsapigatewayv2.HttpMethod_POST, awsapigatewayv2.HttpMethod_OPTIONS},
				Integration: awsapigatewayv2integrations.NewHttpUrlIntegration(jsii.String("Items"), jsii.String("https://items.example"), nil),
			})
		}, []string{"$default " + own, "OPTIONS /items/{id} NONE", "POST /items/{id} " + own}},
		{"WebSocket", func(stack stackOf, limiter limiter) {
			limiter.Protect(webSocketAPI(stack))
		}, []string{"$connect " + own, "talk NONE"}},
		{"WebSocket with an authorizer of CDK's", func(stack stackOf, limiter limiter) {
			mock := awsapigatewayv2integrations.NewWebSocketMockIntegration(jsii.String("Mock"), nil)
			limiter.Protect(awsapigatewayv2.NewWebSocketApi(stack, jsii.String("Api"), &awsapigatewayv2.WebSocketApiProps{
				ConnectRouteOptions: &awsapigatewayv2.WebSocketRouteOptions{
					Integration: mock, Authorizer: awsapigatewayv2authorizers.NewWebSocketLambdaAuthorizer(jsii.String("Own"), limiter.Function, nil),
				},
			}))
		}, []string{"$connect ApiOwn"}},
		{"TOKEN", func(stack stackOf, limiter limiter) {
			limiter.Protect(restAPI(stack, &awsapigateway.RestApiProps{DefaultMethodOptions: token(stack, limiter, 0)}))
		}, []string{"ApiGET GET Token"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stack := build(t, unwatched, tt.extend)
			tpl := cdktest.Synth(t, stack)
			diff(t, "endpoints", tt.want, endpoints(tpl))
			diff(t, "errors", []string(nil), cdktest.Messages(t, stack, "error"))
			diff(t, "warnings", []string(nil), cdktest.Messages(t, stack, "warning"))
		})
	}
}

func token(stack stackOf, limiter limiter, seconds int) *awsapigateway.MethodOptions {
	return &awsapigateway.MethodOptions{Authorizer: awsapigateway.NewTokenAuthorizer(stack, jsii.String("Token"), &awsapigateway.TokenAuthorizerProps{
		Handler: limiter.Function, ResultsCacheTtl: awscdk.Duration_Seconds(jsii.Number(seconds)),
	})}
}

// TestAuthorizers compares all properties of the authorizers of other APIs.
func TestAuthorizers(t *testing.T) {
	tests := []struct {
		name   string
		extend func(stackOf, limiter)
		want   map[string]any
	}{
		{"HTTP", func(stack stackOf, limiter limiter) { limiter.Protect(httpAPI(stack, awsapigatewayv2.HttpApiProps{})) }, map[string]any{
			"AuthorizerPayloadFormatVersion": "2.0", "EnableSimpleResponses": true, "AuthorizerResultTtlInSeconds": 0.0,
		}},
		{"WebSocket", func(stack stackOf, limiter limiter) { limiter.Protect(webSocketAPI(stack)) }, map[string]any{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tpl := synth(t, ratelimit.Props{}, tt.extend)
			id := tpl.ID(t, "AWS::ApiGatewayV2::Authorizer", "Api")
			api := tpl.ID(t, "AWS::ApiGatewayV2::Api", "Api")
			got := tpl.Resources[id].Properties
			maps.Copy(tt.want, map[string]any{
				"ApiId": ref(api), "AuthorizerType": "REQUEST", "Name": "Slidegate", "IdentitySource": []any{}, "AuthorizerUri": got["AuthorizerUri"],
			})
			diff(t, "authorizer", tt.want, got)
			diff(t, "URI", joined("arn:", "AWS::Partition", ":apigateway:", "AWS::Region", ":lambda:path/2015-03-31/functions/",
				arn(tpl.ID(t, "AWS::Lambda::Function", "RateLimit")), "/invocations"), got["AuthorizerUri"])
			permission := tpl.One(t, "AWS::Lambda::Permission", "ApiSlidegate").Properties
			diff(t, "permission", joined("arn:", "AWS::Partition", ":execute-api:", "AWS::Region", ":", "AWS::AccountId", ":",
				ref(api), "/authorizers/", ref(id)), permission["SourceArn"])
		})
	}
}

// joined is a Fn::Join of texts, pseudo parameters and other values.
func joined(parts ...any) any {
	for i, part := range parts {
		if name, ok := part.(string); ok && strings.HasPrefix(name, "AWS::") {
			parts[i] = ref(name)
		}
	}
	return map[string]any{"Fn::Join": []any{"", parts}}
}

// TestProtectRefuses lists what is an error at synthesis, by construct.
func TestProtectRefuses(t *testing.T) {
	tests := []struct {
		name   string
		extend func(stackOf, limiter)
		want   string
	}{
		{"another authorizer", func(stack stackOf, limiter limiter) {
			other := awsapigatewayv2authorizers.NewHttpJwtAuthorizer(jsii.String("Tokens"), jsii.String("https://issuer.example"),
				&awsapigatewayv2authorizers.HttpJwtAuthorizerProps{JwtAudience: jsii.Strings("api")})
			limiter.Protect(httpAPI(stack, awsapigatewayv2.HttpApiProps{DefaultAuthorizer: other}))
		}, "/Test/Api/DefaultRoute/Resource: Slidegate: it has the authorizer Test/Api/Tokens, and API Gateway asks one authorizer only. " +
			"Either remove that, and let Slidegate verify the tokens (authentication in the rules), or leave this API out of Protect, " +
			"and limit in the function behind it by limitlambda.Wrap"},
		{"IAM", func(stack stackOf, limiter limiter) {
			limiter.Protect(restAPI(stack, &awsapigateway.RestApiProps{
				DefaultMethodOptions: &awsapigateway.MethodOptions{AuthorizationType: awsapigateway.AuthorizationType_IAM}}))
		}, "/Test/Api/Default/GET/Resource: Slidegate: it has authorization by AWS_IAM, and"},
		{"cached answers", func(stack stackOf, limiter limiter) {
			limiter.Protect(restAPI(stack, &awsapigateway.RestApiProps{DefaultMethodOptions: token(stack, limiter, 1)}))
		}, "/Test/Token/Resource: Slidegate: it caches the limiter's answers, so requests pass uncounted: set ResultsCacheTtl to 0 seconds"},
		{"twice", func(stack stackOf, limiter limiter) {
			api := newAPI(stack)
			limiter.Protect(api)
			limiter.Protect(api)
		}, "/Test/Api: Slidegate: a limiter protects this API already"},
		{"no $connect", func(stack stackOf, limiter limiter) {
			limiter.Protect(awsapigatewayv2.NewWebSocketApi(stack, jsii.String("Api"), nil))
		}, "/Test/Api: Slidegate: the API has no route $connect, so nothing limits its connections: pass ConnectRouteOptions"},
		{"another aspect", func(stack stackOf, limiter limiter) {
			limiter.Protect(newAPI(stack))
			awscdk.Aspects_Of(stack).Add(&opens{}, nil)
		}, "/Test/Api/Default/GET/Resource: Slidegate: another aspect adds this, or replaces its authorizer, so nothing limits it"},
		{"imported", func(stack stackOf, limiter limiter) {
			limiter.Protect(awsapigateway.RestApi_FromRestApiId(stack, jsii.String("Api"), jsii.String("abc")))
		}, "/Test/Api: Slidegate: Protect cannot change this: pass a RestApi, SpecRestApi, HttpApi or WebSocketApi that this app defines"},
		{"no API", func(stack stackOf, limiter limiter) { limiter.Protect(limiter.CountersTable) },
			"/Test/RateLimit/Counters: Slidegate: Protect cannot change this"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := cdktest.Messages(t, build(t, unwatched, tt.extend), "error")
			if len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("errors are %q, want one that starts with %q", got, tt.want)
			}
		})
	}
}

// opens is an aspect of an app that removes authorizers.
type opens struct{}

func (*opens) Visit(node constructs.IConstruct) {
	if m, ok := node.(awsapigateway.CfnMethod); ok {
		m.SetAuthorizationType(jsii.String("NONE"))
		m.SetAuthorizerId(nil)
	}
}

// TestProtectWarns lists what leaves requests uncounted, or denials unlike the
// limiter's own.
func TestProtectWarns(t *testing.T) {
	tests := []struct {
		name   string
		extend func(stackOf, limiter)
		want   string
	}{
		{"nothing protected", func(stackOf, limiter) {},
			"/Test/RateLimit: Slidegate: the limiter protects no API: call Protect with each, or set Standalone"},
		{"no deployment", func(stack stackOf, limiter limiter) {
			limiter.Protect(restAPI(stack, &awsapigateway.RestApiProps{Deploy: jsii.Bool(false)}))
		}, "/Test/Api: Slidegate: the API has Deploy: false, so nothing deploys what Protect adds"},
		{"a stage without deployments", func(stack stackOf, limiter limiter) {
			api := httpAPI(stack, awsapigatewayv2.HttpApiProps{CreateDefaultStage: jsii.Bool(false)})
			api.AddStage(jsii.String("Stage"), &awsapigatewayv2.HttpStageOptions{})
			limiter.Protect(api)
		}, "/Test/Api/Stage/Resource: Slidegate: the stage has no AutoDeploy"},
		{"preflights", func(stack stackOf, limiter limiter) {
			limiter.Protect(httpAPI(stack, awsapigatewayv2.HttpApiProps{CorsPreflight: &awsapigatewayv2.CorsPreflightOptions{AllowOrigins: jsii.Strings("*")}}))
		}, "/Test/Api: Slidegate: the route $default receives preflights"},
		{"preflights of a path", func(stack stackOf, limiter limiter) {
			api := awsapigatewayv2.NewHttpApi(stack, jsii.String("Api"), &awsapigatewayv2.HttpApiProps{
				CorsPreflight: &awsapigatewayv2.CorsPreflightOptions{AllowOrigins: jsii.Strings("*")},
			})
			api.AddRoutes(&awsapigatewayv2.AddRoutesOptions{
				Path:        jsii.String("/items/{id}"), // of all methods
				Integration: awsapigatewayv2integrations.NewHttpUrlIntegration(jsii.String("Items"), jsii.String("https://items.example"), nil),
			})
			limiter.Protect(api)
		}, "/Test/Api: Slidegate: the route ANY /items/{id} receives preflights, which carry no credentials: add a route OPTIONS /items/{id}"},
		{"a gateway response", func(stack stackOf, limiter limiter) {
			api := newAPI(stack)
			limiter.Protect(api)
			api.AddGatewayResponse(jsii.String("Mine"), &awsapigateway.GatewayResponseOptions{
				Type:            awsapigateway.ResponseType_UNAUTHORIZED(),
				ResponseHeaders: &map[string]*string{"WWW-Authenticate": jsii.String("'Bearer'"), "Access-Control-Allow-Origin": jsii.String("'*'")},
			})
		}, "/Test/Api/Mine/Resource: Slidegate: the app's own gateway response UNAUTHORIZED stays in place of the limiter's, " +
			"and lacks the status 401, Access-Control-Expose-Headers: remove it"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			stack := build(t, unwatched, tt.extend)
			got := cdktest.Messages(t, stack, "warning")
			if len(got) != 1 || !strings.HasPrefix(got[0], tt.want) {
				t.Errorf("warnings are %q, want one that starts with %q", got, tt.want)
			}
			diff(t, "errors", []string(nil), cdktest.Messages(t, stack, "error"))
		})
	}
}

// TestAppResponsesStay: of two responses of a type the gateway refuses one. A default
// of the app with a body stays for what the gateway answers by itself, too.
func TestAppResponsesStay(t *testing.T) {
	own := apigw.GatewayResponses()
	all := make([]string, len(own))
	for i, r := range own {
		all[i] = r.Type
	}
	body := &map[string]*string{"application/json": jsii.String(`{"error":1}`)}
	for name, tt := range map[string]struct {
		app  []awsapigateway.GatewayResponseOptions
		left []string // out by the construct
	}{
		"a default without a body": {[]awsapigateway.GatewayResponseOptions{{Type: awsapigateway.ResponseType_DEFAULT_5XX()}}, []string{"DEFAULT_5XX"}},
		"a default with a body": {[]awsapigateway.GatewayResponseOptions{{Type: awsapigateway.ResponseType_DEFAULT_5XX(), Templates: body}},
			[]string{"DEFAULT_5XX", "AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR"}},
		"the other default with a body": {[]awsapigateway.GatewayResponseOptions{{Type: awsapigateway.ResponseType_DEFAULT_4XX(), Templates: body}},
			[]string{"DEFAULT_4XX", "THROTTLED", "QUOTA_EXCEEDED"}},
		"a throttle's answer": {[]awsapigateway.GatewayResponseOptions{{Type: awsapigateway.ResponseType_THROTTLED(), StatusCode: jsii.String("503")}}, []string{"THROTTLED"}},
	} {
		t.Run(name, func(t *testing.T) {
			var mine []string
			stack := build(t, unwatched, func(stack stackOf, limiter limiter) {
				api := newAPI(stack)
				for i, options := range tt.app {
					mine = append(mine, fmt.Sprint("ApiMine", i))
					api.AddGatewayResponse(jsii.String(fmt.Sprint("Mine", i)), &options)
				}
				limiter.Protect(api)
			})
			tpl := cdktest.Synth(t, stack)
			kinds, want := map[any]int{}, map[any]int{}
			for id, r := range tpl.Resources {
				if r.Type == "AWS::ApiGateway::GatewayResponse" && strings.HasPrefix(id, "ApiSlidegate") {
					kinds[r.Properties["ResponseType"]]++
				}
			}
			for _, kind := range all {
				if !slices.Contains(tt.left, kind) {
					want[kind] = 1
				}
			}
			diff(t, "the construct's gateway responses", want, kinds)
			for _, id := range mine {
				tpl.ID(t, "AWS::ApiGateway::GatewayResponse", id)
			}
			for _, warning := range cdktest.Messages(t, stack, "warning") {
				if !strings.Contains(warning, "the app's own gateway response DEFAULT_") {
					t.Errorf("warning %s", warning)
				}
			}
		})
	}
}

// TestAppFieldsStay: an answer of the gateway's has the fields of the app's default
// without the limiter, so an app that sends credentials can read it. Its own
// responses keep these fields, however the app spells them.
func TestAppFieldsStay(t *testing.T) {
	app := map[string]*string{
		"access-control-allow-origin": jsii.String("'https://app.example'"), "Access-Control-Allow-Credentials": jsii.String("'true'"), "retry-after": jsii.String("'9'"),
	}
	const fields, origin, others = "Access-Control-Allow-Credentials 'true', access-control-allow-origin ", "'https://app.example', ", "Access-Control-Allow-Origin '*'"
	want := []string{
		"ACCESS_DENIED " + fields + origin + "Retry-After context.authorizer.retryAfter",
		"AUTHORIZER_CONFIGURATION_ERROR " + others,
		"AUTHORIZER_FAILURE " + others,
		"DEFAULT_4XX " + fields + origin + "retry-after '9'",
		"DEFAULT_5XX " + others,
		"QUOTA_EXCEEDED " + fields + origin + "retry-after '9'",
		"THROTTLED " + fields + origin + "retry-after '9'",
		"UNAUTHORIZED " + fields + origin + "retry-after '9'",
	}
	// got lists a response's fields of CORS, and when to come back.
	got := func(kind any, parameters any) string {
		var names []string
		for name, value := range parameters.(object) {
			name = strings.TrimPrefix(name, apigw.ResponseField)
			if lower := strings.ToLower(name); strings.Contains(lower, "-allow-") || lower == "retry-after" {
				names = append(names, fmt.Sprint(name, " ", value))
			}
		}
		slices.SortFunc(names, func(a, b string) int { return strings.Compare(strings.ToLower(a), strings.ToLower(b)) })
		return fmt.Sprint(kind, " ", strings.Join(names, ", "))
	}
	t.Run("an API", func(t *testing.T) {
		var all []string
		for _, r := range synth(t, ratelimit.Props{}, func(stack stackOf, limiter limiter) {
			api := newAPI(stack)
			limiter.Protect(api)
			api.AddGatewayResponse(jsii.String("Mine"), &awsapigateway.GatewayResponseOptions{Type: awsapigateway.ResponseType_DEFAULT_4XX(), ResponseHeaders: &app})
		}).Resources {
			if r.Type == "AWS::ApiGateway::GatewayResponse" {
				all = append(all, got(r.Properties["ResponseType"], r.Properties["ResponseParameters"]))
			}
		}
		slices.Sort(all)
		diff(t, "gateway responses", want, all)
	})
	t.Run("a definition", func(t *testing.T) {
		parameters := object{}
		for name, value := range app {
			parameters[apigw.ResponseField+name] = *value
		}
		parameters[apigw.ResponseField+"access-control-allow-origin"] = object{"Fn::Sub": "'https://${Host}'"}
		definition := spec(object{"/": object{"get": object{}}})
		definition["x-amazon-apigateway-gateway-responses"] = object{"DEFAULT_4XX": object{"responseParameters": parameters}}
		body := synth(t, ratelimit.Props{}, func(stack stackOf, limiter limiter) { limiter.Protect(specAPI(stack, definition)) }).
			One(t, "AWS::ApiGateway::RestApi", "Api").Properties["Body"].(object)
		var all []string
		for kind, r := range body["x-amazon-apigateway-gateway-responses"].(object) {
			all = append(all, strings.Replace(got(kind, r.(object)["responseParameters"]), "map[Fn::Sub:'https://${Host}']", "'https://app.example'", 1))
		}
		slices.Sort(all)
		diff(t, "gateway responses", want, all)
	})
}

// TestDeploymentOfWhatProtectChanges: a stage serves the authorizers of its
// deployment, so Protect must give that another name.
func TestDeploymentOfWhatProtectChanges(t *testing.T) {
	id := func(extend func(stackOf, limiter)) string {
		return synth(t, ratelimit.Props{Standalone: true}, extend).ID(t, "AWS::ApiGateway::Deployment", "Api")
	}
	open := id(func(stack stackOf, limiter limiter) { newAPI(stack) })
	protected := id(func(stack stackOf, limiter limiter) { limiter.Protect(newAPI(stack)) })
	again := id(func(stack stackOf, limiter limiter) { limiter.Protect(newAPI(stack)) })
	if open == protected || protected != again {
		t.Errorf("the deployment is %s without Protect, then %s and %s", open, protected, again)
	}
}

// TestProtectAcrossStacks: the limiter's stack must not depend on the API's.
func TestProtectAcrossStacks(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	shared := awscdk.NewStack(app, jsii.String("Shared"), nil)
	l, err := ratelimit.New(shared, jsii.String("RateLimit"), &ratelimit.Props{Code: code(t)})
	if err != nil {
		t.Fatal(err)
	}
	stack := awscdk.NewStack(app, jsii.String("Test"), nil)
	l.Protect(newAPI(stack))
	diff(t, "endpoints", []string{"ApiGET GET ApiSlidegateAuthorizer", "ApiOPTIONS OPTIONS NONE"}, endpoints(cdktest.Synth(t, stack)))
	for id, r := range cdktest.Synth(t, shared).Resources {
		if r.Type == "AWS::Lambda::Permission" {
			t.Errorf("the limiter's stack has the permission %s", id)
		}
	}
}

// TestProtectInNestedStacksAndStages: the endpoints state the API's id as a
// reference, which other stacks resolve otherwise.
func TestProtectInNestedStacksAndStages(t *testing.T) {
	app, _ := cdktest.NewApp(t, nil)
	stage := awscdk.NewStage(app, jsii.String("Prod"), nil)
	stack := awscdk.NewStack(stage, jsii.String("Test"), nil)
	l, err := ratelimit.New(stack, jsii.String("RateLimit"), &ratelimit.Props{Code: code(t)})
	if err != nil {
		t.Fatal(err)
	}
	nested := awscdk.NewNestedStack(stack, jsii.String("Nested"), nil)
	l.Protect(newAPI(nested))
	diff(t, "errors", []string(nil), cdktest.Messages(t, stack, "error"))
	diff(t, "endpoints", []string{"ApiGET GET ApiSlidegateAuthorizer", "ApiOPTIONS OPTIONS NONE"}, endpoints(cdktest.Synth(t, nested)))
	for name := range cdktest.Synth(t, stack).Outputs {
		if !strings.HasPrefix(name, "RateLimit") {
			t.Errorf("the output %s does not begin with the construct's id", name)
		}
	}
}
