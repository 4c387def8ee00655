package doctor

import (
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	resttypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	dbtypes "github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/embedded"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

const testTemplate = "testdata/template.json"

func (w *world) examine(t *testing.T, template string) *Report {
	t.Helper()
	r, err := w.doctor().Examine(t.Context(), "shop", "", template)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestHealthy: a limiter that is as it must be has no findings.
func TestHealthy(t *testing.T) {
	r := newWorld(t).examine(t, testTemplate)
	if !r.Healthy() || r.Checks < 15 {
		t.Errorf("%+v", r)
	}
	if want := []string{"REST API shop (a1)", "HTTP API web (h1)"}; !slices.Equal(r.APIs, want) {
		t.Errorf("the APIs are %q, want %q", r.APIs, want)
	}
}

// response changes a gateway response of the API.
func (w *world) response(kind string, change func(*resttypes.GatewayResponse)) {
	r := w.api.responses[kind]
	r.ResponseParameters = maps.Clone(r.ResponseParameters)
	change(&r)
	w.api.responses[kind] = r
}

// TestFaults plants one fault after the other. Each draws one finding, which names
// the fault, the place and the mend.
func TestFaults(t *testing.T) {
	const deploy = "; then aws apigateway create-deployment --rest-api-id a1 --stage-name prod"
	const api = "REST API shop (a1)"
	for name, test := range map[string]struct {
		plant             func(*testing.T, *world)
		where, what, mend string
		live              bool // the fault is in the API and not deployed
	}{
		"result TTL": {plant: func(_ *testing.T, w *world) { w.api.authorizers[0].AuthorizerResultTtlInSeconds = sdk.Int32(60) }, where: api,
			what: "authorizer Slidegate keeps results for 60 s", mend: "aws apigateway update-authorizer --rest-api-id a1 --authorizer-id auth --patch-operations op=replace,path=/authorizerResultTtlInSeconds,value=0" + deploy},
		"result TTL by default": {plant: func(_ *testing.T, w *world) { w.api.authorizers[0].AuthorizerResultTtlInSeconds = nil }, where: api, what: "for 300 s"},
		"a method without authorizer": {plant: func(_ *testing.T, w *world) { w.api.resources[0].ResourceMethods["GET"] = method1("GET", "") }, where: api,
			what: "GET /items has no authorizer: nothing limits it", mend: "aws apigateway update-method --rest-api-id a1 --resource-id res --http-method GET --patch-operations op=replace,path=/authorizationType,value=CUSTOM op=replace,path=/authorizerId,value=auth"},
		"a method with AWS_IAM": {plant: func(_ *testing.T, w *world) {
			m := method1("GET", "")
			m.AuthorizationType = sdk.String("AWS_IAM")
			w.api.resources[0].ResourceMethods["GET"] = m
		}, where: api, what: "GET /items has AWS_IAM in place of the limiter's authorizer", mend: "limitlambda.Wrap"},
		"an authorizer on OPTIONS": {plant: func(_ *testing.T, w *world) {
			w.api.resources[0].ResourceMethods["OPTIONS"] = method1("OPTIONS", "auth")
		}, where: api,
			what: "OPTIONS /items has the limiter's authorizer", mend: "--http-method OPTIONS --patch-operations op=replace,path=/authorizationType,value=NONE" + deploy},
		"a gateway response is missing": {plant: func(_ *testing.T, w *world) { delete(w.api.responses, "ACCESS_DENIED") }, where: api,
			what: "gateway response ACCESS_DENIED is missing", mend: `aws apigateway put-gateway-response --rest-api-id a1 --response-type ACCESS_DENIED --response-parameters '{"gatewayresponse.header.Access-Control-Allow-Origin":"'\''*'\''",`},
		"a field of the API's own that stays": {plant: func(_ *testing.T, w *world) {
			w.response("UNAUTHORIZED", func(r *resttypes.GatewayResponse) {
				r.ResponseParameters = map[string]string{"gatewayresponse.header.access-control-allow-origin": "'https://shop.example'"}
				r.ResponseTemplates = map[string]string{"application/json": `{"error":1}`}
			})
		}, where: api, what: "gateway response UNAUTHORIZED lacks the field Access-Control-Expose-Headers, lacks the field WWW-Authenticate",
			mend: `"gatewayresponse.header.access-control-allow-origin":"'\''https://shop.example'\''"}' --response-templates '{"application/json":"{\"error\":1}"}' --status-code 401`},
		"a name in a body that stays otherwise": {plant: func(_ *testing.T, w *world) {
			w.response("UNAUTHORIZED", func(r *resttypes.GatewayResponse) {
				r.ResponseTemplates = map[string]string{"application/json": `{"title": "$context.authorizer.title"}`}
			})
		}, where: api, what: "names context.authorizer.title", mend: `--response-templates '{"application/json":"{\"message\":$context.error.messageString}"}' --status-code 401`},
		"another status": {plant: func(_ *testing.T, w *world) {
			w.response("ACCESS_DENIED", func(r *resttypes.GatewayResponse) { r.StatusCode = sdk.String("403") })
		}, where: api, what: "gateway response ACCESS_DENIED has status 403, not 429", mend: "--status-code 429"},
		"a field is missing": {plant: func(_ *testing.T, w *world) {
			w.response("ACCESS_DENIED", func(r *resttypes.GatewayResponse) { delete(r.ResponseParameters, apigw.ResponseField+"Retry-After") })
		}, where: api, what: "gateway response ACCESS_DENIED lacks the field Retry-After"},
		"a name in a field": {plant: func(_ *testing.T, w *world) {
			w.response("ACCESS_DENIED", func(r *resttypes.GatewayResponse) {
				r.ResponseParameters[apigw.ResponseField+"Retry-After"] = "context.authorizer.retry"
			})
		}, where: api, what: "has the field Retry-After by context.authorizer.retry, not context.authorizer.retryAfter"},
		"a name in a template": {plant: func(_ *testing.T, w *world) {
			w.response("ACCESS_DENIED", func(r *resttypes.GatewayResponse) {
				r.ResponseTemplates = map[string]string{"application/json": `{"title": "$context.authorizer.title"}`}
			})
		}, where: api, what: "names context.authorizer.title, which the authorizer does not set"},
		"changed and not deployed": {plant: func(t *testing.T, w *world) {
			right := w.api.responses["ACCESS_DENIED"]
			w.response("ACCESS_DENIED", func(r *resttypes.GatewayResponse) { r.StatusCode = sdk.String("403") })
			w.api.resources[0].ResourceMethods["GET"] = method1("GET", "")
			w.api.deploy(t)
			w.api.responses["ACCESS_DENIED"], w.api.resources[0].ResourceMethods["GET"] = right, method1("GET", "auth")
		}, live: true, where: api + ", stage prod",
			what: "the API was changed and not deployed; the stage still serves: GET /items has no authorizer: nothing limits it; gateway response ACCESS_DENIED has status 403, not 429",
			mend: "aws apigateway create-deployment --rest-api-id a1 --stage-name prod"},
		"a method deleted and not deployed": {plant: func(t *testing.T, w *world) {
			w.api.resources[0].ResourceMethods["PUT"] = method1("PUT", "")
			w.api.deploy(t)
			delete(w.api.resources[0].ResourceMethods, "PUT")
		}, live: true, where: api + ", stage prod", what: "still serves: PUT /items has no authorizer"},
		"HTTP API: result TTL": {plant: func(_ *testing.T, w *world) { w.v2.AuthorizerResultTtlInSeconds = sdk.Int32(5) }, where: "HTTP API web (h1)",
			what: "keeps results for 5 s", mend: "aws apigatewayv2 update-authorizer --api-id h1 --authorizer-id v2auth --authorizer-result-ttl-in-seconds 0"},
		"HTTP API: a route without authorizer": {plant: func(_ *testing.T, w *world) {
			w.routes[0].AuthorizerId, w.routes[0].AuthorizationType = nil, v2types.AuthorizationTypeNone
		}, where: "HTTP API web (h1)", what: "GET /items has no authorizer", mend: "aws apigatewayv2 update-route --api-id h1 --route-id r1 --authorization-type CUSTOM --authorizer-id v2auth"},
		"HTTP API: an authorizer on OPTIONS": {plant: func(_ *testing.T, w *world) {
			w.routes[1].AuthorizerId, w.routes[1].AuthorizationType = sdk.String("v2auth"), v2types.AuthorizationTypeCustom
		}, where: "HTTP API web (h1)", what: "OPTIONS /items has the limiter's authorizer", mend: "--route-id r2 --authorization-type NONE"},
		"WebSocket API: $connect without authorizer": {plant: func(_ *testing.T, w *world) {
			w.protocol = v2types.ProtocolTypeWebsocket
			w.routes = []v2types.Route{{RouteKey: sdk.String("$connect"), RouteId: sdk.String("r1")}, {RouteKey: sdk.String("$default"), RouteId: sdk.String("r2")}}
		}, where: "WEBSOCKET API web (h1)", what: "$connect has no authorizer"},
		"TTL off": {plant: func(_ *testing.T, w *world) {
			w.expiry = dbtypes.TimeToLiveDescription{TimeToLiveStatus: dbtypes.TimeToLiveStatusDisabled}
		}, where: "table counters", what: "its TTL is off", mend: "aws dynamodb update-time-to-live --table-name counters --time-to-live-specification Enabled=true,AttributeName=ttl"},
		"another TTL attribute": {plant: func(_ *testing.T, w *world) { w.expiry.AttributeName = sdk.String("expires") }, where: "table counters",
			what: "its items expire by attribute expires, not ttl", mend: "Enabled=false,AttributeName=expires, and an hour later aws"},
		"rights beyond the documented ones": {plant: func(_ *testing.T, w *world) {
			w.policies["more"] = `{"Statement": {"Effect": "Allow", "Action": "dynamodb:*", "Resource": "*"}}`
		}, where: "role authorizer, policy more", what: "it allows more than the function needs: dynamodb:* on *", mend: "aws iam delete-role-policy --role-name authorizer --policy-name more"},
		"rights beyond, in the limiter's policy": {plant: func(_ *testing.T, w *world) {
			w.policies["own"] = strings.Replace(w.policies["own"], `"dynamodb:UpdateItem"`, `"dynamodb:UpdateItem", "dynamodb:DeleteItem"`, 1)
		}, where: "role authorizer, policy own", what: "dynamodb:DeleteItem on arn:aws:dynamodb:eu-north-1:123456789012:table/counters",
			mend: `aws iam put-role-policy --role-name authorizer --policy-name own --policy-document '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":["logs:CreateLogStream","logs:PutLogEvents"],"Resource":["arn:aws:logs:eu-north-1:123456789012:log-group:log:*"]},{"Effect":"Allow","Action":["dynamodb:GetItem","dynamodb:UpdateItem"],"Resource":["arn:aws:dynamodb:eu-north-1:123456789012:table/counters"]},`},
		"an attached policy": {plant: func(_ *testing.T, w *world) { w.attached = []string{"arn:aws:iam::aws:policy/AdministratorAccess"} }, where: "role authorizer",
			what: "the policy arn:aws:iam::aws:policy/AdministratorAccess is attached", mend: "aws iam detach-role-policy --role-name authorizer --policy-arn arn:aws:iam::aws:policy/AdministratorAccess"},
		"a right is missing": {plant: func(_ *testing.T, w *world) {
			w.policies["own"] = strings.Replace(w.policies["own"], `, "dynamodb:UpdateItem"`, "", 1)
		}, where: "role authorizer", what: "the function lacks dynamodb:UpdateItem on arn:aws:dynamodb:eu-north-1:123456789012:table/counters", mend: "aws iam put-role-policy --role-name authorizer --policy-name own --policy-document"},
		"a right is denied": {plant: func(_ *testing.T, w *world) {
			w.policies["stop"] = `{"Statement": [{"Effect": "Deny", "Action": "dynamodb:Get*", "Resource": "*:table/rules"}]}`
		}, where: "role authorizer, policy stop", what: "it denies what the function needs: dynamodb:GetItem on arn:aws:dynamodb:eu-north-1:123456789012:table/rules", mend: "aws iam delete-role-policy --role-name authorizer --policy-name stop"},
		"log format": {plant: func(_ *testing.T, w *world) { w.function.LoggingConfig.LogFormat = lambdatypes.LogFormatText }, where: "function authorize",
			what: "its log format is Text, not JSON", mend: "aws lambda update-function-configuration --function-name authorize --logging-config '{\"LogFormat\":\"JSON\",\"LogGroup\":\"log\",\"SystemLogLevel\":\"WARN\"}'"},
		"other code": {plant: func(_ *testing.T, w *world) { w.function.CodeSha256 = sdk.String("AAAA") }, where: "function authorize",
			what: "its code is not that of the stack: SHA-256 000000…, not 0123456789ab…", mend: "aws lambda update-function-code --function-name authorize --s3-bucket code --s3-key slidegate/0123"},
		"an older version": {plant: func(_ *testing.T, w *world) { w.deployed.Version = "v1.1.0" }, where: "stack shop",
			what: "it has version v1.1.0, and this command carries v1.2.0", mend: "slidegate aws deploy --stack shop"},
		"a newer version": {plant: func(_ *testing.T, w *world) { w.deployed.Version = "v1.3.0" }, where: "stack shop", what: "it has version v1.3.0, and this command carries v1.2.0", mend: "install the command of version v1.3.0"},
		"concurrency":     {plant: func(_ *testing.T, w *world) { w.concurrency = 10 }, where: "account, region eu-north-1", what: "run 10 calls at a time", mend: "aws service-quotas request-service-quota-increase"},
		"no rules":        {plant: func(_ *testing.T, w *world) { clear(w.items) }, where: "table rules", what: "no rules were ever published", mend: "slidegate rules apply rules.yaml --rules dynamodb://rules"},
		"rules of another shape": {plant: func(_ *testing.T, w *world) {
			w.items["current"]["version"] = &dbtypes.AttributeValueMemberS{Value: "x"}
		}, where: "table rules", what: "the rules in force cannot be read: table rules: item (set, current) is damaged", mend: "slidegate rules rollback VERSION --rules dynamodb://rules --why TEXT, or slidegate rules apply rules.yaml"},
		"rules that need a secret": {plant: func(t *testing.T, w *world) {
			w.publish(t, `{"hash_secret": {"env": "SLIDEGATE_HASH_SECRET", "check": "01234567"}, "rules": [{"name": "api", "key": "ip:{ip}", "hash": true, "limits": [{"capacity": 1, "window": "1m"}]}]}`)
		}, where: "table rules", what: "the function lacks a secret of the rules: hash_secret: a secret that the rules name is not set: set the environment variable SLIDEGATE_HASH_SECRET",
			mend: "slidegate aws deploy --stack shop --secret VARIABLE=NAME"},
		"clock":        {plant: func(_ *testing.T, w *world) { w.ahead = -90 * time.Second }, where: "this machine", what: "its clock is 90.0 s behind AWS's", mend: "chronyc"},
		"alarm is off": {plant: func(_ *testing.T, w *world) { w.alarms[0].ActionsEnabled = sdk.Bool(false) }, where: "stack shop", what: "alarms whose actions are off", mend: "aws cloudwatch enable-alarm-actions --alarm-names shop-RateLimitDegraded"},
		"a table of another region, by its ARN": {plant: func(_ *testing.T, w *world) {
			const arn = "arn:aws:dynamodb:us-east-1:123456789012:table/counters"
			w.function.Environment.Variables[countersVariable] = arn
			w.policies["own"] = strings.Replace(w.policies["own"], "arn:aws:dynamodb:eu-north-1:123456789012:table/counters", arn, 1)
		}, where: "table arn:aws:dynamodb:us-east-1:123456789012:table/counters", what: "it is in region us-east-1, and the function in eu-north-1", mend: "deploy the limiter in region us-east-1, or with tables in eu-north-1"},
		"a table that is gone": {plant: func(_ *testing.T, w *world) { delete(w.tables, "counters") }, where: "table counters", what: "it is not in region eu-north-1, where the function looks for it", mend: "slidegate tables create --counters counters"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			test.plant(t, w)
			if !test.live {
				w.api.deploy(t)
			}
			r := w.examine(t, testTemplate)
			if len(r.Findings) != 1 || len(r.Unchecked) > 0 {
				t.Fatalf("findings %+v, unchecked %+v, want one finding", r.Findings, r.Unchecked)
			}
			f := r.Findings[0]
			if f.Where != test.where || !strings.Contains(f.What, test.what) || !strings.Contains(f.Mend, test.mend) || f.Mend == "" {
				t.Errorf("found %+v\nwant %s: %s\nmend %s", f, test.where, test.what, test.mend)
			}
		})
	}
}

// TestNotes: what a deployment may be, and what an emulator lacks, is noted. The
// deployment is healthy all the same.
func TestNotes(t *testing.T) {
	const emulator = "MiniStack 1.5.33 at 127.0.0.1:4566"
	for name, test := range map[string]struct {
		emulator          string
		plant             func(*testing.T, *world)
		where, what, mend string
	}{
		"alarms without a target": {"", func(_ *testing.T, w *world) { w.alarms[0].AlarmActions = nil }, "stack shop",
			"alarms without a target, so they send no message: shop-RateLimitDegraded", "slidegate aws deploy --stack shop --alarm-topic ARN, of an SNS topic to which somebody subscribes"},
		"no TTL from templates": {emulator, func(_ *testing.T, w *world) {
			w.expiry = dbtypes.TimeToLiveDescription{TimeToLiveStatus: dbtypes.TimeToLiveStatusDisabled}
		}, "table counters", "its TTL is off: " + emulator + " may take none from templates", "aws dynamodb update-time-to-live --table-name counters"},
		"no gateway responses in exports": {emulator, func(t *testing.T, w *world) {
			own := w.api.responses
			w.api.responses = nil
			w.api.deploy(t)
			w.api.responses = own
		}, "REST API shop (a1), stage prod", emulator + " exports no gateway responses, so those that the stage serves are not compared", ""},
		"nothing for the gateway's throttle": {"", func(t *testing.T, w *world) {
			delete(w.api.responses, "THROTTLED")
			w.api.deploy(t)
		}, "REST API shop (a1)", "gateway response THROTTLED is missing, so clients get DEFAULT_4XX in place of problem details",
			`aws apigateway put-gateway-response --rest-api-id a1 --response-type THROTTLED --response-parameters '{"gatewayresponse.header.Access-Control-Allow-Origin":"'\''*'\''",`},
		"nothing for the gateway's throttle, beside a default of the API": {"", func(t *testing.T, w *world) {
			w.response("DEFAULT_4XX", func(r *resttypes.GatewayResponse) {
				r.ResponseParameters[apigw.ResponseField+"Access-Control-Allow-Origin"] = "'https://shop.example'"
			})
			delete(w.api.responses, "THROTTLED")
			w.api.deploy(t)
		}, "REST API shop (a1)", "gateway response THROTTLED is missing",
			`--response-type THROTTLED --response-parameters '{"gatewayresponse.header.Access-Control-Allow-Origin":"'\''https://shop.example'\''",`},
		"nothing for a failed authorizer": {"", func(t *testing.T, w *world) {
			delete(w.api.responses, "AUTHORIZER_FAILURE")
			w.api.deploy(t)
		}, "REST API shop (a1)", "gateway response AUTHORIZER_FAILURE is missing, so clients get DEFAULT_5XX", "then aws apigateway create-deployment --rest-api-id a1 --stage-name prod"},
		"a throttle's answer that is not deployed": {"", func(t *testing.T, w *world) {
			own := w.api.responses
			w.api.responses = maps.Clone(own)
			delete(w.api.responses, "QUOTA_EXCEEDED")
			w.api.deploy(t)
			w.api.responses = own
		}, "REST API shop (a1), stage prod", "the stage still serves: gateway response QUOTA_EXCEEDED is missing", "aws apigateway create-deployment --rest-api-id a1 --stage-name prod"},
		"a call that it lacks": {emulator, func(_ *testing.T, w *world) { w.refused = "DescribeAlarms" }, "stack shop",
			"not checked, because " + emulator + " does not have the call: operation error CloudWatch: DescribeAlarms", ""},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.emulator = test.emulator
			test.plant(t, w)
			r := w.examine(t, testTemplate)
			want := 1
			if test.emulator != "" { // it is named first
				want = 2
			}
			if !r.Healthy() || len(r.Notes) != want || want == 2 && !strings.HasPrefix(r.Notes[0].What, emulator+" stands in for AWS") {
				t.Fatalf("report %+v, want one note, and the emulator", r)
			}
			n := r.Notes[want-1]
			if n.Where != test.where || !strings.Contains(n.What, test.what) || !strings.Contains(n.Mend, test.mend) || (n.Mend == "") != (test.mend == "") {
				t.Errorf("noted %+v\nwant %s: %s\nmend %s", n, test.where, test.what, test.mend)
			}
		})
	}
}

// TestOwnOptionalResponses: an API may answer for the gateway's throttle and for a
// failed authorizer in its own words.
func TestOwnOptionalResponses(t *testing.T) {
	w := newWorld(t)
	w.response("THROTTLED", func(r *resttypes.GatewayResponse) { r.StatusCode, r.ResponseParameters = sdk.String("503"), nil })
	w.response("DEFAULT_5XX", func(r *resttypes.GatewayResponse) {
		r.ResponseTemplates = map[string]string{"application/json": `{"error": "$context.error.responseType"}`}
	})
	delete(w.api.responses, "AUTHORIZER_FAILURE")
	w.api.deploy(t)
	if r := w.examine(t, testTemplate); !r.Healthy() || len(r.Notes) > 0 {
		t.Errorf("%+v", r)
	}
}

// TestEmulatorsFaults: a fault is a finding on an emulator too.
func TestEmulatorsFaults(t *testing.T) {
	w := newWorld(t)
	w.emulator = "LocalStack 4.14.0 at localhost:4566"
	w.expiry.AttributeName = sdk.String("expires")
	delete(w.api.responses, "ACCESS_DENIED")
	w.api.deploy(t)
	if r := w.examine(t, testTemplate); len(r.Findings) != 2 || len(r.Notes) != 1 {
		t.Errorf("%+v", r)
	}
}

// TestEmulatorAt names each emulator by what it answers.
func TestEmulatorAt(t *testing.T) {
	health := func(version string) string {
		return `{"services": {"s3": "running"}, "edition": "light", "version": "` + version + `"}`
	}
	for name, test := range map[string]struct {
		field, value string
		pages        map[string]string
		want         string
	}{
		"MiniStack, with LocalStack's page too": {"", "", map[string]string{"/_ministack/health": health("1.5.33"), "/_localstack/health": health("1.5.33")}, "MiniStack 1.5.33"},
		"LocalStack":                            {"", "", map[string]string{"/_localstack/health": health("4.14.0")}, "LocalStack 4.14.0"},
		"LocalStack, by its field":              {"X-Localstack", "2026.3.1", nil, "LocalStack 2026.3.1"},
		"Dynoxide":                              {"X-Dynoxide-Version", "1.5.0", nil, "Dynoxide 1.5.0"},
		"another, on this machine":              {"", "", map[string]string{"/_localstack/health": `{"status": "ok"}`}, "an emulator"},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if test.field != "" {
					w.Header().Set(test.field, test.value)
				}
				text, ok := test.pages[r.URL.Path]
				if !ok {
					w.WriteHeader(http.StatusNotFound)
				}
				io.WriteString(w, text)
			}))
			defer server.Close()
			want := test.want + " at " + strings.TrimPrefix(server.URL, "http://")
			if got := emulatorAt(t.Context(), &server.URL); got != want {
				t.Errorf("%q, want %q", got, want)
			}
			t.Setenv("AWS_ACCESS_KEY_ID", "test")
			t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
			t.Setenv("AWS_REGION", "us-east-1")
			for _, variable := range []string{"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB"} {
				t.Setenv("AWS_ENDPOINT_URL", "")
				t.Setenv(variable, server.URL)
				if d, err := Connect(t.Context()); err != nil || d.Emulator(t.Context()) != want {
					t.Errorf("by %s: %v, want %q", variable, err, want)
				}
			}
		})
	}
	if got := emulatorAt(t.Context(), nil); got != "" {
		t.Errorf("AWS is %q", got)
	}
}

// TestUnchecked: what cannot be checked is named, with why.
func TestUnchecked(t *testing.T) {
	for call, check := range map[string]string{
		"GetFunctionConfiguration": "function", "GetAccountSettings": "concurrency", "DescribeTimeToLive": "expiry", "GetItem": "rules",
		"ListRolePolicies": "rights", "DescribeAlarms": "alarms", "GetRestApis": "apis", "GetResources": "methods", "GetGatewayResponses": "gateway-responses",
		"GetStages": "deployment", "GetExport": "deployment", "GetApis": "apis", "GetRoutes": "methods", "DescribeTable": "counters-table",
	} {
		t.Run(call, func(t *testing.T) {
			w := newWorld(t)
			w.refused = call
			r := w.examine(t, testTemplate)
			if !slices.ContainsFunc(r.Unchecked, func(u Unchecked) bool {
				return u.Check == check && strings.Contains(u.Why, "AWS does not permit the call")
			}) {
				t.Errorf("unchecked %+v, want %s", r.Unchecked, check)
			}
			if r.Healthy() || len(r.Findings) > 0 {
				t.Errorf("findings %+v", r.Findings)
			}
		})
	}
	r := newWorld(t).examine(t, "")
	if len(r.Unchecked) != 4 || !strings.Contains(r.Unchecked[0].Why, embedded.ErrNone.Error()) || len(r.Findings) > 0 {
		t.Errorf("without a template: %+v", r)
	}
}
