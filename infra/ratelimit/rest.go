package ratelimit

import (
	"maps"
	"slices"
	"strconv"
	"strings"

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
		stated := appResponses(api)
		for _, response := range apigw.GatewayResponses() {
			if !stated[response.Type] {
				addGatewayResponse(scope, api, response)
			}
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

// appResponses returns the types of the limiter's gateway responses in whose place
// the app has its own, and names what these lack.
func appResponses(api awsapigateway.RestApiBase) map[string]bool {
	stated := map[string]bool{}
	for _, r := range findOf(api, api.RestApiId(), awsapigateway.CfnGatewayResponse.RestApiId) {
		parameters, _ := r.ResponseParameters().(map[string]any)
		replaceResponse(stated, r, *r.ResponseType(), text(r.StatusCode()), parameters, r.ResponseTemplates())
	}
	return stated
}

// replaceResponse adds to stated what a gateway response of the app replaces, and
// compares it with the limiter's. It does not compare an optional one, because an app
// turns the limiter's off by stating its own.
func replaceResponse(stated map[string]bool, at constructs.IConstruct, kind, status string, parameters map[string]any, templates any) {
	for _, own := range apigw.GatewayResponses() {
		if !own.IsReplaced(kind, templates != nil) {
			continue
		}
		if stated[own.Type] = true; own.Fallback != "" {
			continue
		}
		var lacks []string
		if own.Status != 0 && status != strconv.Itoa(own.Status) {
			lacks = append(lacks, "the status "+strconv.Itoa(own.Status))
		}
		for _, name := range slices.Sorted(maps.Keys(own.Headers)) {
			if _, ok := parameters[apigw.ResponseField+name]; !ok {
				lacks = append(lacks, name)
			}
		}
		if lacks != nil {
			addWarning(at, warnResponse, "the app's own gateway response "+kind+" stays in place of the limiter's, and lacks "+
				strings.Join(lacks, ", ")+": remove it, or acknowledge this warning")
		}
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
