package doctor

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// wanted is what the template of a limiter says of its parts.
type wanted struct {
	version string
	logging map[string]any // LoggingConfig of the function
	expiry  string         // the TTL attribute of counters
	rights  []right        // on counters, rules and log, or on ARNs
}

// The resources of wanted rights.
const (
	onCounters = "counters"
	onRules    = "rules"
	onLog      = "log"
)

// resource has the properties of a template's resource that this package reads.
type resource struct {
	Properties struct {
		TimeToLiveSpecification struct{ AttributeName string }
		LoggingConfig           map[string]any
		Role                    ref
		Roles                   []ref
		PolicyDocument          policy
	}
}

// ref is a text, or the logical id of the resource that an expression names.
type ref string

// UnmarshalJSON reads a text, Ref or Fn::GetAtt. Other expressions are empty.
func (r *ref) UnmarshalJSON(data []byte) error {
	var e struct {
		Ref string
		Att []string `json:"Fn::GetAtt"`
	}
	if json.Unmarshal(data, (*string)(r)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &e)
	*r = ref(strings.Join(append([]string{e.Ref}, e.Att[:min(1, len(e.Att))]...), ""))
	return err
}

// oneOrMore is a list, or its only element.
type oneOrMore[T any] []T

// UnmarshalJSON reads both forms.
func (l *oneOrMore[T]) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), "[") {
		return json.Unmarshal(data, (*[]T)(l))
	}
	*l = make([]T, 1)
	return json.Unmarshal(data, &(*l)[0])
}

// readWanted reads the template in a file, or that of the command if path is
// empty.
func readWanted(path string) (*wanted, error) {
	text, version, err := aws.Template(path)
	if err != nil {
		return nil, err
	}
	var t struct {
		Resources map[string]resource
		Outputs   map[string]struct{ Value ref }
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, err
	}
	id := func(output string) string { return string(t.Outputs["RateLimit"+output].Value) }
	counters, function := t.Resources[id("CountersTable")].Properties, t.Resources[id("Function")].Properties
	w := &wanted{version: version, logging: function.LoggingConfig, expiry: counters.TimeToLiveSpecification.AttributeName}
	on := map[string]string{id("CountersTable"): onCounters, id("RulesTable"): onRules}
	if group, ok := w.logging["LogGroup"].(map[string]any); ok {
		log, _ := group["Ref"].(string)
		on[log] = onLog
	}
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		p := t.Resources[name].Properties
		if slices.Contains(p.Roles, function.Role) {
			for _, r := range p.PolicyDocument.states() {
				w.rights = append(w.rights, right{r.action, cmp.Or(on[r.on], r.on)})
			}
		}
	}
	if w.expiry == "" || w.logging["LogFormat"] == nil || len(w.rights) == 0 {
		return nil, errors.New("the template lacks the parts of a limiter: give --template of this command's version")
	}
	return w, nil
}

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

// responseFaults compares the gateway responses of an API with the limiter's. A
// missing optional one is a note, unless the API has its own in its place. It
// returns nothing if the responses could not be read.
func responseFaults(api *apis.API) (all, notes []Finding) {
	if api.Responses == nil {
		return nil, nil
	}
	for _, wanted := range apigw.GatewayResponses() {
		has, to := api.Responses[wanted.Type], &all
		lacks := []string{"is missing"}
		switch {
		case api.Replaces(wanted):
			continue
		case wanted.Fallback != "":
			to, lacks = &notes, []string{"is missing, so clients get " + wanted.Fallback + " in place of problem details"}
		case has.Own:
			lacks = wanted.Differences(has.Status, has.Headers(), has.Templates)
		}
		if lacks != nil {
			put := has.With(wanted)
			if wanted.Differences(put.Status, put.Headers(), put.Templates) != nil { // by the API's own body
				put.Templates = map[string]string{"application/json": apis.OwnBody}
			}
			*to = append(*to, Finding{"gateway-responses", api.String(), "gateway response " + wanted.Type + " " + strings.Join(lacks, ", "), putResponse(api.ID, wanted.Type, put)})
		}
	}
	return all, notes
}

// putResponse is the command that sets a gateway response.
func putResponse(api, kind string, r *apis.Response) string {
	command := fmt.Sprintf("aws apigateway put-gateway-response --rest-api-id %s --response-type %s --response-parameters %s --response-templates %s",
		api, kind, quoteJSON(r.Parameters), quoteJSON(r.Templates))
	if r.Status != "" {
		command += " --status-code " + r.Status
	}
	return command
}
