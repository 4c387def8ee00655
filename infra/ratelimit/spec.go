package ratelimit

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-cdk-go/awscdk/v2/awsapigateway"
	"github.com/aws/constructs-go/constructs/v10"
	"github.com/aws/jsii-runtime-go"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// Extensions of OpenAPI that API Gateway reads.
const (
	extAuthorizer = "x-amazon-apigateway-authorizer"
	extAuthType   = "x-amazon-apigateway-authtype"
	extAuth       = "x-amazon-apigateway-auth"
	extResponses  = "x-amazon-apigateway-gateway-responses"
)

// schemeName names the authorizer in definitions.
const schemeName = "Slidegate"

// operations are the fields of a path's item that hold one, without OPTIONS.
var operations = []string{"get", "put", "post", "delete", "head", "patch", "trace", "x-amazon-apigateway-any-method"}

// prepareSpec protects an API by its definition: importing a definition removes
// what other resources added to the API. The definition has the authorizer, so
// nothing knows its id.
func (p *protection) prepareSpec(scope constructs.Construct, api awsapigateway.SpecRestApi) (finish func()) {
	p.permit(scope, api.RestApiId(), jsii.String("*"))
	return func() {
		cfn := api.Node().DefaultChild().(awsapigateway.CfnRestApi)
		body, inline := cfn.Body().(map[string]any)
		if !inline {
			addError(api, "the definition is not inline, so Protect cannot change it: use ApiDefinition_FromInline, or leave out Protect, "+
				"let API Gateway call the function (limiter.Function.AddPermission), and paste this, with the security for each operation: "+fragment())
			return
		}
		d := definition{p, body}
		d.protect(scheme(*p.uri()))
		missing := missingResponses(api)
		responses := child(body, extResponses)
		for kind, response := range responses {
			if app, ok := response.(map[string]any); ok {
				parameters, _ := app["responseParameters"].(map[string]any)
				missing = replaceResponses(missing, api, kind, jsonText(app["statusCode"]), parameters, app["responseTemplates"])
			}
		}
		maps.Copy(responses, responseObjects(missing))
		cfn.SetBody(body) // its hash is in the deployment's logical id
		isDeployed(api)
	}
}

// definition is an OpenAPI 3 or Swagger 2 document.
type definition struct {
	*protection
	body map[string]any
}

// protect adds the authorizer to the security of every operation.
func (d definition) protect(scheme map[string]any) {
	schemes := d.schemes()
	schemes[schemeName] = scheme
	paths, _ := d.body["paths"].(map[string]any)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		item, _ := paths[path].(map[string]any)
		for _, method := range operations {
			operation, ok := item[method].(map[string]any)
			if !ok {
				continue
			}
			if other := d.other(operation, schemes); other != "" {
				addError(d.api, method+" "+path+": "+foreign(other))
				continue
			}
			delete(operation, extAuth)
			operation["security"] = secured(d.security(operation))
		}
	}
}

// schemes returns the place of authorizers and API keys.
func (d definition) schemes() map[string]any {
	if d.body["swagger"] != nil {
		return child(d.body, "securityDefinitions")
	}
	return child(child(d.body, "components"), "securitySchemes")
}

// security returns what an operation requires: its own, or the document's.
func (d definition) security(operation map[string]any) []any {
	required, ok := operation["security"]
	if !ok {
		required = d.body["security"]
	}
	list, _ := required.([]any)
	return list
}

// other names the authorizer that the app gave an operation; "" for none.
func (d definition) other(operation, schemes map[string]any) string {
	if auth, ok := operation[extAuth].(map[string]any); ok && auth["type"] != "NONE" {
		return "authorization by " + jsonText(auth["type"])
	}
	for _, requirement := range d.security(operation) {
		names, _ := requirement.(map[string]any)
		for name := range names {
			if scheme, ok := schemes[name].(map[string]any); ok && (scheme[extAuthorizer] != nil || scheme[extAuthType] != nil) {
				return "the authorizer " + name
			}
		}
	}
	return ""
}

// secured adds the authorizer to each of an operation's alternatives, which may
// require API keys.
func secured(alternatives []any) []any {
	if len(alternatives) == 0 {
		return []any{map[string]any{schemeName: []any{}}}
	}
	var all []any
	for _, requirement := range alternatives {
		names, _ := requirement.(map[string]any)
		with := map[string]any{schemeName: []any{}}
		maps.Copy(with, names)
		all = append(all, with)
	}
	return all
}

// scheme is the authorizer as API Gateway reads it from a definition. The name
// of the header is required and has no effect without an identity source.
func scheme(uri string) map[string]any {
	return map[string]any{
		"type": "apiKey", "name": "Unused", "in": "header",
		extAuthType:   "custom",
		extAuthorizer: map[string]any{"type": "request", "authorizerUri": uri, "authorizerResultTtlInSeconds": 0},
	}
}

// fragment is the limiter's part of a definition in a file.
func fragment() string {
	uri := "arn:aws:apigateway:REGION:lambda:path/2015-03-31/functions/FUNCTION_ARN/invocations"
	data, err := json.Marshal(map[string]any{
		"components": map[string]any{"securitySchemes": map[string]any{schemeName: scheme(uri)}},
		"security":   secured(nil),
		extResponses: responseObjects(apigw.GatewayResponses()),
	})
	if err != nil {
		panic(err) // of strings and maps
	}
	return string(data)
}

// responseObjects returns gateway responses as a definition has them.
func responseObjects(responses []apigw.GatewayResponse) map[string]any {
	all := map[string]any{}
	for _, response := range responses {
		object := map[string]any{"responseParameters": response.Parameters()}
		if response.Status != 0 {
			object["statusCode"] = strconv.Itoa(response.Status)
		}
		if response.Body != "" {
			object["responseTemplates"] = map[string]any{"application/json": response.Body}
		}
		all[response.Type] = object
	}
	return all
}

// child returns an object's object, which it adds if there is none.
func child(object map[string]any, name string) map[string]any {
	if found, ok := object[name].(map[string]any); ok {
		return found
	}
	added := map[string]any{}
	object[name] = added
	return added
}

// jsonText returns a string or a number of a document as text.
func jsonText(value any) string {
	if s, ok := value.(string); ok {
		return s
	}
	data, _ := json.Marshal(value)
	return string(data)
}
