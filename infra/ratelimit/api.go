package ratelimit

import (
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/apigw"
)

// MethodOptions puts methods behind the authorizer. Pass them as
// DefaultMethodOptions of an API to cover all its methods, or as the options of
// one method. The preflights that CDK adds for DefaultCorsPreflightOptions stay
// open.
func (r *RateLimit) MethodOptions() *awsapigateway.MethodOptions {
	return &awsapigateway.MethodOptions{
		AuthorizationType: awsapigateway.AuthorizationType_CUSTOM,
		Authorizer:        r.Authorizer,
	}
}

// Protect makes the API answer denials with 429 and the rate limit fields, and
// lets browsers read them. It removes the authorizer from every OPTIONS method:
// a preflight carries no credentials, and denying one hides the answer to the
// real request. Give the API DefaultCorsPreflightOptions: otherwise an ANY
// method receives the preflights of its path.
func (r *RateLimit) Protect(api awsapigateway.RestApi) {
	for _, response := range apigw.GatewayResponses() {
		api.AddGatewayResponse(jsii.String(response.Type), gatewayResponse(response))
	}
	awscdk.Aspects_Of(api).Add(&openPreflights{r.Authorizer.AuthorizerId()}, nil)
}

// gatewayResponse translates a response that the local gateway also uses.
func gatewayResponse(response apigw.GatewayResponse) *awsapigateway.GatewayResponseOptions {
	headers := map[string]*string{}
	for name, expression := range response.Headers {
		headers[name] = jsii.String(expression)
	}
	options := &awsapigateway.GatewayResponseOptions{
		Type:            awsapigateway.ResponseType_Of(jsii.String(response.Type)),
		ResponseHeaders: &headers,
	}
	if response.Status != 0 {
		options.StatusCode = jsii.String(strconv.Itoa(response.Status))
	}
	if response.Body != "" { // an empty map would remove the gateway's own bodies
		options.Templates = &map[string]*string{"application/json": jsii.String(response.Body)}
	}
	return options
}

// openPreflights removes the authorizer from OPTIONS methods, including those
// that the app itself adds.
type openPreflights struct{ authorizer *string }

func (o *openPreflights) Visit(node constructs.IConstruct) {
	method, ok := node.(awsapigateway.CfnMethod)
	if !ok || *method.HttpMethod() != "OPTIONS" || method.AuthorizerId() == nil || *method.AuthorizerId() != *o.authorizer {
		return
	}
	method.SetAuthorizationType(jsii.String("NONE"))
	method.SetAuthorizerId(nil)
}
