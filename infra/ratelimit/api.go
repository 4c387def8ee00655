package ratelimit

import (
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/apigw"
)

// MethodOptions puts methods behind the authorizer. As DefaultMethodOptions of an API they hold for all its methods,
// as options of one method for that one. The preflights that CDK adds for DefaultCorsPreflightOptions stay open.
func (r *RateLimit) MethodOptions() *awsapigateway.MethodOptions {
	return &awsapigateway.MethodOptions{
		AuthorizationType: awsapigateway.AuthorizationType_CUSTOM,
		Authorizer:        r.Authorizer,
	}
}

// Protect makes the API answer a denial with 429 and its fields, lets browsers read them, and keeps every OPTIONS
// method of the API free of the authorizer: a preflight carries no credentials, and refusing one hides the answer to
// the real request. An ANY method takes the preflights of a path that has no OPTIONS method, so give the API
// DefaultCorsPreflightOptions.
func (r *RateLimit) Protect(api awsapigateway.RestApi) {
	for _, response := range apigw.GatewayResponses() {
		api.AddGatewayResponse(jsii.String(response.Type), gatewayResponse(response))
	}
	awscdk.Aspects_Of(api).Add(&openPreflights{r.Authorizer.AuthorizerId()}, nil)
}

// gatewayResponse translates a response that the local gateway applies as well. CDK puts the prefix of the literal
// parameter names back.
func gatewayResponse(response apigw.GatewayResponse) *awsapigateway.GatewayResponseOptions {
	headers := map[string]*string{}
	for name, expression := range response.Parameters {
		headers[strings.TrimPrefix(name, "gatewayresponse.header.")] = jsii.String(expression)
	}
	options := &awsapigateway.GatewayResponseOptions{
		Type:            awsapigateway.ResponseType_Of(jsii.String(response.Type)),
		ResponseHeaders: &headers,
	}
	if response.Status != 0 {
		options.StatusCode = jsii.String(strconv.Itoa(response.Status))
	}
	if len(response.Templates) > 0 { // none keeps the gateway's own, an empty map would take it away
		templates := map[string]*string{}
		for contentType, template := range response.Templates {
			templates[contentType] = jsii.String(template)
		}
		options.Templates = &templates
	}
	return options
}

// openPreflights takes the authorizer off OPTIONS methods, also off those that an app adds by hand.
type openPreflights struct{ authorizer *string }

func (o *openPreflights) Visit(node constructs.IConstruct) {
	method, ok := node.(awsapigateway.CfnMethod)
	if !ok || *method.HttpMethod() != "OPTIONS" || method.AuthorizerId() == nil || *method.AuthorizerId() != *o.authorizer {
		return
	}
	method.SetAuthorizationType(jsii.String("NONE"))
	method.SetAuthorizerId(nil)
}
