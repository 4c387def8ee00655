package ratelimit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-cdk-go/awscdk/v2"
	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// prepareREST makes the authorizer. It sets no identity source, because the
// gateway itself answers 401 to a request without that source.
func (p *protection) prepareREST(scope constructs.Construct, api awsapigateway.RestApi) (finish func()) {
	own := awsapigateway.NewCfnAuthorizer(scope, jsii.String("Authorizer"), &awsapigateway.CfnAuthorizerProps{
		Name:                         jsii.String("Slidegate"),
		Type:                         jsii.String("REQUEST"),
		RestApiId:                    api.RestApiId(),
		AuthorizerUri:                p.uri(),
		AuthorizerResultTtlInSeconds: jsii.Number(0),
	})
	p.permit(scope, api.RestApiId(), own.Ref())
	p.own = own.Ref()
	p.covers = func(e endpoint) bool {
		m, ok := e.(awsapigateway.CfnMethod)
		return ok && *m.HttpMethod() != "OPTIONS"
	}
	return func() {
		var methods []endpoint
		for _, m := range findOf(api, api.RestApiId(), awsapigateway.CfnMethod.RestApiId) {
			methods = append(methods, m)
			acknowledge(m, "COG4", "Slidegate's authorizer verifies tokens where the rules ask for it, and preflights carry none")
		}
		attached := p.attach(methods)
		if len(attached) == 0 { // the app's own authorizers call the function
			scope.Node().TryRemoveChild(jsii.String("Authorizer"))
			scope.Node().TryRemoveChild(jsii.String("Permission"))
		}
		for _, response := range missingResponses(api) {
			addGatewayResponse(scope, api, response)
		}
		if isDeployed(api) {
			api.LatestDeployment().AddToLogicalId(map[string]any{"slidegate": own.AuthorizerUri(), "methods": attached})
		}
	}
}

// isDeployed reports whether the API has a deployment, and warns if not.
func isDeployed(api awsapigateway.RestApiBase) bool {
	if api.LatestDeployment() != nil {
		return true
	}
	addWarning(api, warnDeployment, "the API has Deploy: false, so nothing deploys what Protect adds: make a new deployment, "+
		"or its stages stay open")
	return false
}

// missingResponses returns the limiter's gateway responses in whose place the app has
// none of its own, and names what the app's lack.
func missingResponses(api awsapigateway.RestApiBase) []apigw.GatewayResponse {
	missing := apigw.GatewayResponses()
	for _, r := range findOf(api, api.RestApiId(), awsapigateway.CfnGatewayResponse.RestApiId) {
		parameters, _ := r.ResponseParameters().(map[string]any)
		missing = replaceResponses(missing, r, *r.ResponseType(), text(r.StatusCode()), parameters, r.ResponseTemplates())
	}
	return missing
}

// replaceResponses returns missing without what a gateway response of the app
// replaces, and compares that. It does not compare an optional one, because an app
// turns the limiter's off by stating its own. The others of a default's family keep
// its fields, such as the app's origin, which these answers have without the limiter.
func replaceResponses(missing []apigw.GatewayResponse, at constructs.IConstruct, kind, status string, parameters map[string]any, templates any) []apigw.GatewayResponse {
	fields := map[string]string{}
	for parameter, expression := range parameters {
		if name, ok := strings.CutPrefix(parameter, apigw.ResponseField); ok {
			fields[name] = *awscdk.Token_AsString(expression, nil) // which may be a function of CloudFormation
		}
	}
	var left []apigw.GatewayResponse
	for _, own := range missing {
		switch {
		case own.IsReplaced(kind, templates != nil):
			if own.Fallback == "" {
				warnLacks(at, own, status, fields)
			}
		case own.Inherits(kind):
			left = append(left, own.Keep(fields))
		default:
			left = append(left, own)
		}
	}
	return left
}

// warnLacks names what the limiter's response has and the app's lacks.
func warnLacks(at constructs.IConstruct, own apigw.GatewayResponse, status string, fields map[string]string) {
	var lacks []string
	if own.Status != 0 && status != strconv.Itoa(own.Status) {
		lacks = append(lacks, "the status "+strconv.Itoa(own.Status))
	}
	for _, name := range slices.Sorted(maps.Keys(own.Headers)) {
		if _, ok := fields[name]; !ok {
			lacks = append(lacks, name)
		}
	}
	if lacks != nil {
		addWarning(at, warnResponse, "the app's own gateway response "+own.Type+" stays in place of the limiter's, and lacks "+
			strings.Join(lacks, ", ")+": remove it, or acknowledge this warning")
	}
}

// addGatewayResponse translates a response that the local gateway also uses.
func addGatewayResponse(scope constructs.Construct, api awsapigateway.RestApi, response apigw.GatewayResponse) {
	props := &awsapigateway.GatewayResponseProps{
		RestApi:         api,
		Type:            awsapigateway.ResponseType_Of(jsii.String(response.Type)),
		ResponseHeaders: &map[string]*string{},
	}
	for name, expression := range response.Headers {
		(*props.ResponseHeaders)[name] = jsii.String(expression)
	}
	if response.Status != 0 {
		props.StatusCode = jsii.String(strconv.Itoa(response.Status))
	}
	if response.Body != "" { // an empty map would remove the gateway's own bodies
		props.Templates = &map[string]*string{"application/json": jsii.String(response.Body)}
	}
	awsapigateway.NewGatewayResponse(scope, jsii.String(response.Type), props)
}
