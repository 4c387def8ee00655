//go:build e2e

package e2e

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

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
		parameters := object{}
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
