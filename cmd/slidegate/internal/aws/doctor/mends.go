package doctor

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// uncache is the command by which an authorizer keeps no results.
func uncache(api *apis.API, a apis.Authorizer) string {
	if api.Protocol != apis.RESTProtocol {
		return fmt.Sprintf("aws apigatewayv2 update-authorizer --api-id %s --authorizer-id %s --authorizer-result-ttl-in-seconds 0", api.ID, a.ID)
	}
	return fmt.Sprintf("aws apigateway update-authorizer --rest-api-id %s --authorizer-id %s "+
		"--patch-operations op=replace,path=/authorizerResultTtlInSeconds,value=0", api.ID, a.ID)
}

// authorize is the command that gives a method an authorizer, or none.
func authorize(api *apis.API, m apis.Method, authorizer string) string {
	kind := apis.Custom
	if authorizer == "" {
		kind = apis.None
	}
	command, id := fmt.Sprintf("aws apigatewayv2 update-route --api-id %s --route-id %s --authorization-type %s", api.ID, m.ID, kind), " --authorizer-id "
	if api.Protocol == apis.RESTProtocol {
		command = fmt.Sprintf("aws apigateway update-method --rest-api-id %s --resource-id %s --http-method %s "+
			"--patch-operations op=replace,path=/authorizationType,value=%s", api.ID, m.ID, m.Verb(), kind)
		id = " op=replace,path=/authorizerId,value="
	}
	if authorizer == "" {
		return command
	}
	return command + id + authorizer
}

// responseFaults compares the gateway responses of an API with the limiter's. It
// returns none if they could not be read.
func responseFaults(api *apis.API) (all []Finding) {
	if api.Responses == nil {
		return nil
	}
	for _, wanted := range apigw.GatewayResponses() {
		has := api.Responses[wanted.Type]
		lacks := []string{"is missing"}
		if has.Own {
			lacks = wanted.Differences(has.Status, has.Headers(), has.Templates)
		}
		if lacks != nil {
			all = append(all, Finding{"gateway-responses", api.String(), "gateway response " + wanted.Type + " " + strings.Join(lacks, ", "), putResponse(api.ID, wanted)})
		}
	}
	return all
}

// putResponse is the command that sets a gateway response.
func putResponse(api string, r apigw.GatewayResponse) string {
	parameters := map[string]string{}
	for name, expression := range r.Headers {
		parameters[apigw.ResponseField+name] = expression
	}
	command := fmt.Sprintf("aws apigateway put-gateway-response --rest-api-id %s --response-type %s --response-parameters %s", api, r.Type, quoteJSON(parameters))
	if r.Status != 0 {
		command += " --status-code " + strconv.Itoa(r.Status)
	}
	if r.Body != "" {
		command += " --response-templates " + quoteJSON(map[string]string{"application/json": r.Body})
	}
	return command
}
