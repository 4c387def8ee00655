package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"

	"github.com/slidegate/slidegate/internal/apigw"
)

// restAPI is a REST API as it is configured, or as a stage serves it.
type restAPI struct {
	id, name    string
	authorizers map[string]authorizer // by id, or by name in a stage
	methods     []method
	responses   map[string]response // that are not API Gateway's own, by type
}

// authorizer is one of an API.
type authorizer struct {
	id, name string
	ours     bool // the limiter's function decides
	ttl      int  // of results, in seconds
}

// method is one of a REST API, or a route of another.
type method struct {
	name       string // GET /items
	id         string // of its resource, or of the route
	authorizer string // "" for none
	kind       string // of authorization, such as AWS_IAM
}

func (m *method) verb() string { return strings.SplitN(m.name, " ", 2)[0] }

// response is a gateway response.
type response struct {
	status    string
	headers   map[string]string // expressions by names
	templates map[string]string
}

// checkREST checks the REST APIs whose authorizer is the function.
func (e *exam) checkREST(ctx context.Context) {
	e.check("apis", "REST APIs", func() error {
		apis, err := pages(func(token *string) ([]types.RestApi, *string, error) {
			page, err := e.REST.GetRestApis(ctx, &apigateway.GetRestApisInput{Position: token, Limit: sdk.Int32(500)})
			if err != nil {
				return nil, nil, err
			}
			return page.Items, page.Position, nil
		})
		for _, item := range apis {
			api := &restAPI{id: sdk.ToString(item.Id), name: sdk.ToString(item.Name)}
			e.check("apis", api.String(), func() error { return e.readAuthorizers(ctx, api) })
			if slices.ContainsFunc(slices.Collect(maps.Values(api.authorizers)), func(a authorizer) bool { return a.ours }) {
				e.examineREST(ctx, api)
			}
		}
		return err
	})
}

func (a *restAPI) String() string { return fmt.Sprintf("REST API %s (%s)", a.name, a.id) }

// asks reports whether an authorizer's URI names the function.
func (e *exam) asks(uri *string) bool {
	_, after, found := strings.Cut(sdk.ToString(uri), ":function:"+e.deployed.Function)
	return found && e.deployed.Function != "" && strings.IndexAny(after, "/:") == 0 // a version or an alias may follow
}

// readAuthorizers reads the authorizers of an API, of which there are ten at most.
func (e *exam) readAuthorizers(ctx context.Context, api *restAPI) error {
	answer, err := e.REST.GetAuthorizers(ctx, &apigateway.GetAuthorizersInput{RestApiId: &api.id, Limit: sdk.Int32(500)})
	if err != nil {
		return err
	}
	api.authorizers = map[string]authorizer{}
	for _, a := range answer.Items {
		api.authorizers[sdk.ToString(a.Id)] = e.authorizer(a.Id, a.Name, a.AuthorizerUri, a.AuthorizerResultTtlInSeconds)
	}
	return nil
}

// authorizer returns an authorizer of a REST API. API Gateway keeps results for
// five minutes if nothing is stated.
func (e *exam) authorizer(id, name, uri *string, ttl *int32) authorizer {
	if ttl == nil {
		ttl = sdk.Int32(300)
	}
	return authorizer{sdk.ToString(id), sdk.ToString(name), e.asks(uri), int(*ttl)}
}

// examineREST compares the API with what it must be, and then what its stages
// serve with the API.
func (e *exam) examineREST(ctx context.Context, api *restAPI) {
	e.report.APIs = append(e.report.APIs, api.String())
	var stages []types.Stage
	read := e.check("methods", api.String(), func() error { return e.readMethods(ctx, api) })
	read = e.check("gateway-responses", api.String(), func() error { return e.readResponses(ctx, api) }) && read
	e.check("deployment", api.String(), func() error {
		answer, err := e.REST.GetStages(ctx, &apigateway.GetStagesInput{RestApiId: &api.id})
		if err == nil {
			stages = answer.Item
		}
		return err
	})
	then := ""
	for _, s := range stages {
		then += "; then " + deployREST(api, s)
	}
	known := map[string]bool{}
	for _, f := range api.faults() {
		known[f.What] = true
		f.Mend += then
		e.report.Findings = append(e.report.Findings, f)
	}
	for _, s := range stages {
		if read {
			e.check("deployment", api.String()+", stage "+*s.StageName, func() error { return e.checkStage(ctx, api, s, known) })
		}
	}
}

func deployREST(api *restAPI, s types.Stage) string {
	return fmt.Sprintf("aws apigateway create-deployment --rest-api-id %s --stage-name %s", api.id, *s.StageName)
}

func (e *exam) readMethods(ctx context.Context, api *restAPI) error {
	resources, err := pages(func(token *string) ([]types.Resource, *string, error) {
		page, err := e.REST.GetResources(ctx, &apigateway.GetResourcesInput{RestApiId: &api.id, Embed: []string{"methods"}, Position: token, Limit: sdk.Int32(500)})
		if err != nil {
			return nil, nil, err
		}
		return page.Items, page.Position, nil
	})
	for _, r := range resources {
		for _, verb := range slices.Sorted(maps.Keys(r.ResourceMethods)) {
			m := r.ResourceMethods[verb]
			api.methods = append(api.methods, method{verb + " " + sdk.ToString(r.Path), sdk.ToString(r.Id), sdk.ToString(m.AuthorizerId), sdk.ToString(m.AuthorizationType)})
		}
	}
	return err
}

func (e *exam) readResponses(ctx context.Context, api *restAPI) error {
	answer, err := e.REST.GetGatewayResponses(ctx, &apigateway.GetGatewayResponsesInput{RestApiId: &api.id, Limit: sdk.Int32(500)})
	if err != nil {
		return err
	}
	api.responses = map[string]response{}
	for _, r := range answer.Items {
		if !r.DefaultResponse {
			api.responses[string(r.ResponseType)] = newResponse(sdk.ToString(r.StatusCode), r.ResponseParameters, r.ResponseTemplates)
		}
	}
	return nil
}

func newResponse(status string, parameters, templates map[string]string) response {
	r := response{status, map[string]string{}, templates}
	for name, expression := range parameters {
		if header, ok := strings.CutPrefix(name, apigw.ResponseField); ok {
			r.headers[header] = expression
		}
	}
	return r
}

// faults returns what is wrong with an API, without where in AWS it is.
func (a *restAPI) faults() (all []Finding) {
	own := ""
	for _, id := range slices.Sorted(maps.Keys(a.authorizers)) {
		auth := a.authorizers[id]
		if auth.ours && auth.ttl > 0 {
			all = append(all, Finding{"cache", a.String(), cached(auth), fmt.Sprintf("aws apigateway update-authorizer --rest-api-id %s --authorizer-id %s "+
				"--patch-operations op=replace,path=/authorizerResultTtlInSeconds,value=0", a.id, auth.id)})
		}
		if auth.ours {
			own = id
		}
	}
	for _, m := range a.methods {
		command := fmt.Sprintf("aws apigateway update-method --rest-api-id %s --resource-id %s --http-method %s --patch-operations op=replace,path=/authorizationType,value=",
			a.id, m.id, m.verb())
		all = append(all, m.faults(a.String(), a.authorizers, m.verb() != "OPTIONS", command+"CUSTOM op=replace,path=/authorizerId,value="+own, command+"NONE")...)
	}
	if a.responses == nil { // they could not be read
		return all
	}
	for _, wanted := range apigw.GatewayResponses() {
		has, ok := a.responses[wanted.Type]
		lacks := []string{"is missing"}
		if ok {
			lacks = wanted.Differences(has.status, has.headers, has.templates)
		}
		if lacks != nil {
			all = append(all, Finding{"gateway-responses", a.String(), "gateway response " + wanted.Type + " " + strings.Join(lacks, ", "), putResponse(a.id, wanted)})
		}
	}
	return all
}

func cached(a authorizer) string {
	return fmt.Sprintf("authorizer %s keeps results for %d s: requests pass uncounted meanwhile", a.name, a.ttl)
}

// faults returns what is wrong with the authorization of a method.
func (m *method) faults(where string, authorizers map[string]authorizer, must bool, add, remove string) []Finding {
	auth, ok := authorizers[m.authorizer]
	what, mend := "", add+" (rules `skip` what shall stay open)"
	switch {
	case must && !ok && (m.kind == "" || m.kind == "NONE" || m.kind == "CUSTOM"):
		what = m.name + " has no authorizer: nothing limits it"
	case must && !auth.ours:
		name := m.kind
		if ok {
			name = "authorizer " + auth.name
		}
		what, mend = m.name+" has "+name+" in place of the limiter's authorizer: nothing limits it", "decide in its function by lambdalimit.Wrap, or verify its callers in the rules and: "+add
	case !must && ok && auth.ours:
		what, mend = m.name+" has the limiter's authorizer: preflights carry no credentials, and are counted", remove
	}
	if what == "" {
		return nil
	}
	return []Finding{{"methods", where, what, mend}}
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
