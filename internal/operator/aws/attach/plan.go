package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/operator/aws"
	"github.com/slidegate/slidegate/internal/operator/aws/gateway"
)

// plan is how a job comes to be, and what forbids it.
type plan struct {
	*job
	limiter  limiter
	options  Options
	resumed  bool
	reasons  []string // not to change anything
	avoiding []string // the same, unless the options say anyway
	notes    []string
}

// authorizerName is of what attach adds.
const authorizerName = "Slidegate"

// plan completes a job: by the state of an earlier one, or by a new one.
func (r *Region) plan(ctx context.Context, p *plan, s *State) error {
	p.state = s
	if p.resumed {
		p.adopt()
		if changed := p.changedSince(); changed != nil {
			p.reasons = append(p.reasons, "somebody has changed since attach began: "+strings.Join(changed, ", ")+": detach first, and then attach again")
		}
	} else {
		p.begin(r.Name)
	}
	if len(p.steps()) == 0 || p.resumed && s.complete() {
		return p.refusal()
	}
	if err := p.limiter.permits(r.Name, p.api.ID); err != nil {
		p.reasons = append(p.reasons, err.Error())
	}
	p.checkStages()
	p.checkOwner()
	if err := p.checkUnpublished(ctx, r.apis(), r.V2); err != nil {
		p.avoiding = append(p.avoiding, fmt.Sprintf("it cannot be compared with what stage %s serves: %v", p.stage.Name, err))
	}
	p.notePreflights()
	return p.refusal()
}

// refusal is the error of a plan that must not be carried out.
func (p *plan) refusal() error {
	if p.options.Anyway {
		p.notes = append(p.avoiding, p.notes...)
		p.avoiding = nil
	}
	for i, reason := range p.avoiding {
		p.avoiding[i] = reason + "; --anyway goes on"
	}
	reasons := append(p.reasons, p.avoiding...)
	if reasons == nil {
		return nil
	}
	for i, reason := range reasons {
		reasons[i] = fmt.Sprintf("%s: %s", p.api, reason)
	}
	return errors.New(strings.Join(reasons, "\n"))
}

// begin makes the state of an API that is as before.
func (p *plan) begin(region string) {
	s := &State{
		Form: form, Protocol: p.api.Protocol, API: p.api.ID, Name: p.api.Name, Stage: p.stage.Name, Region: region,
		Limiter: p.options.Limiter.String(), Function: p.limiter.name, Responses: []Response{}, Methods: []Method{},
	}
	s.Authorizer.Authorizer = gateway.Authorizer{Name: authorizerName, Type: "REQUEST", URI: p.limiter.uri}
	p.state = s
	for _, m := range p.choose() {
		a, known := p.api.Authorizers[m.Authorizer]
		switch {
		case a.Asks(p.limiter.name): // it is limited already
		case m.Type != gateway.None || m.Authorizer != "":
			who := m.Type
			if known {
				who = "authorizer " + a.Name
			}
			p.reasons = append(p.reasons, fmt.Sprintf("%s has %s: an API asks one authorizer only; have its function decide by lambdalimit.Wrap, or choose other methods by --method", m.Name, who))
		default:
			s.Methods = append(s.Methods, Method{Name: m.Name, ID: m.ID, Before: m.Authorization})
		}
	}
	if len(s.Methods) == 0 {
		return
	}
	for _, a := range p.api.Authorizers {
		if a.Name == authorizerName {
			p.reasons = append(p.reasons, "it has an authorizer "+authorizerName+" already: go on by the file of the attach that added it (--state), or remove it")
		}
	}
	if p.api.Protocol == gateway.RESTProtocol {
		s.Responses = responses(p.api)
	}
	if !p.stage.AutoDeploy {
		s.Deployment = &Deployment{Before: p.stage.Deployment}
	}
}

// choose returns the methods of the options.
func (p *plan) choose() (chosen []gateway.Method) {
	var names []string
	for _, m := range p.api.Methods {
		names = append(names, m.Name)
		if len(p.options.Methods) == 0 && m.Limitable(p.api) || slices.Contains(p.options.Methods, m.Name) {
			chosen = append(chosen, m)
		}
	}
	for _, name := range p.options.Methods {
		if !slices.Contains(names, name) {
			p.reasons = append(p.reasons, "it has no method "+name+": it has "+orNone(names))
		}
	}
	for _, m := range chosen {
		if !m.Limitable(p.api) {
			p.reasons = append(p.reasons, m.Name+" cannot be limited: preflights carry no credentials, and WebSocket APIs ask about $connect alone")
		}
	}
	if len(chosen) == 0 && p.reasons == nil {
		p.reasons = append(p.reasons, "it has no method to limit: it has "+orNone(names))
	}
	return chosen
}

// responses returns the gateway responses that an API needs and lacks.
func responses(api *gateway.API) (all []Response) {
	for _, wanted := range apigw.GatewayResponses() {
		has := api.Responses[wanted.Type]
		if has.Own && wanted.Differences(has.Status, has.Headers(), has.Templates) == nil {
			continue
		}
		r := Response{Type: wanted.Type, After: merge(has, wanted)}
		if has.Own {
			r.Before = &has
		}
		all = append(all, r)
	}
	return all
}

// ownBody is API Gateway's own body, which it gives a response without one.
const ownBody = `{"message":$context.error.messageString}`

// merge returns a response that has all of wanted, and keeps what else it has: its
// values of fields that do not come from the limiter, such as one origin, and its
// body. A type that the API does not state has those of a default that it states.
func merge(has gateway.Response, wanted apigw.GatewayResponse) *gateway.Response {
	after := &gateway.Response{Own: true, Parameters: map[string]string{}, Templates: maps.Clone(has.Templates)}
	if has.Own {
		after.Status = has.Status
	}
	if wanted.Status != 0 {
		after.Status = strconv.Itoa(wanted.Status)
	}
	if wanted.Body != "" {
		after.Templates = map[string]string{"application/json": wanted.Body}
	} else if len(after.Templates) == 0 {
		after.Templates = map[string]string{"application/json": ownBody}
	}
	for name, expression := range wanted.Headers {
		after.Parameters[apigw.ResponseField+name] = expression
	}
	for name, expression := range has.Parameters {
		field := http.CanonicalHeaderKey(strings.TrimPrefix(name, apigw.ResponseField))
		for limiters := range wanted.Headers {
			if http.CanonicalHeaderKey(limiters) == field && !strings.HasPrefix(wanted.Headers[limiters], "'") {
				expression = ""
			} else if http.CanonicalHeaderKey(limiters) == field {
				delete(after.Parameters, apigw.ResponseField+limiters)
			}
		}
		if expression != "" {
			after.Parameters[name] = expression
		}
	}
	return after
}

// checkStages names stages that serve what attach does not want or mean.
func (p *plan) checkStages() {
	switch s := p.stage; {
	case s.Canary:
		p.reasons = append(p.reasons, "stage "+s.Name+" has a canary: promote it, or delete it")
	case s.Deployment == "" && !s.AutoDeploy:
		p.reasons = append(p.reasons, "stage "+s.Name+" has no deployment, so it serves nothing: deploy it first")
	}
	for _, s := range p.stages {
		if s.AutoDeploy && s.Name != p.stage.Name {
			p.notes = append(p.notes, "stage "+s.Name+" deploys by itself, so it is limited too")
		}
	}
}

// stackTag is how CloudFormation marks what it manages.
const stackTag = "aws:cloudformation:stack-name"

func (p *plan) checkOwner() {
	if stack := p.api.Tags[stackTag]; stack != "" {
		p.avoiding = append(p.avoiding, "stack "+stack+" of CloudFormation manages it, so its next deployment takes the authorizer away: write it into its template (docs/deploy.md)")
		return
	}
	p.notes = append(p.notes, "if Terraform or another tool manages the API, its next run takes this away: write it there too (docs/deploy.md)")
}

// notePreflights names the methods that receive preflights.
func (p *plan) notePreflights() {
	var names []string
	for _, m := range p.state.Methods {
		path, any := strings.CutPrefix(m.Name, "ANY ")
		if !any && m.Name != "$default" || p.api.Protocol == gateway.WebSocket {
			continue
		}
		if !slices.ContainsFunc(p.api.Methods, func(o gateway.Method) bool { return o.Name == "OPTIONS "+path }) {
			names = append(names, m.Name)
		}
	}
	if names != nil {
		p.notes = append(p.notes, "preflights of browsers are limited too, which carry no credentials: "+strings.Join(names, ", ")+"; a method OPTIONS of the same path stays open")
	}
}

// checkUnpublished compares the API with what the stage serves: a deployment would
// publish what differs. It leaves out what this job has changed.
func (p *plan) checkUnpublished(ctx context.Context, apis gateway.Reader, v2 V2) error {
	var differ []string
	var err error
	switch {
	case p.state.Deployment == nil:
		return nil
	case p.api.Protocol == gateway.RESTProtocol:
		var served *gateway.API
		if served, err = apis.Served(ctx, p.api, p.stage.Name); err == nil {
			differ = p.unpublished(served)
		}
	case p.api.Protocol == gateway.HTTP && !p.resumed:
		differ, err = p.unexported(ctx, v2)
	default:
		p.notes = append(p.notes, "nothing shows whether the API was changed since its last deployment: the new one publishes it as it is")
	}
	if err != nil {
		return aws.Explain(err)
	}
	if len(differ) > 0 {
		p.avoiding = append(p.avoiding, "it was changed and not deployed to stage "+p.stage.Name+", and a deployment would publish that: "+strings.Join(differ, ", "))
	}
	return nil
}

// unpublished names what differs between a REST API and a stage of it, as far as
// the stage's export shows it: methods, their authorizers, API keys and addresses,
// and gateway responses.
func (p *plan) unpublished(served *gateway.API) []string {
	ours := map[string]bool{}
	if p.resumed {
		for _, s := range p.fields() {
			ours[s.what] = true
		}
	}
	live, old := values(p.api), values(served)
	names := slices.Sorted(maps.Keys(live))
	for name := range old {
		if _, ok := live[name]; !ok {
			names = append(names, name)
		}
	}
	return slices.DeleteFunc(names, func(name string) bool { return ours[name] || live[name] == old[name] })
}

// values returns the fields of an API that a stage's export has, by names as steps
// have them.
func values(api *gateway.API) map[string]string {
	all := map[string]string{}
	for _, m := range api.Methods {
		all[m.Name] = fmt.Sprint(api.Authorizers[m.Authorizer].Name, m.APIKey, m.Integration)
	}
	for kind, r := range api.Responses {
		if r.Own {
			all["gateway response "+kind] = fmt.Sprint(r.Status, r.Parameters, r.Templates)
		}
	}
	return all
}

// unexported names the parts of an HTTP API's export that differ from the export of
// its stage.
func (p *plan) unexported(ctx context.Context, v2 V2) (names []string, err error) {
	var exports [2]map[string]json.RawMessage
	for i, stage := range []*string{nil, &p.stage.Name} {
		out, err := v2.ExportApi(ctx, &apigatewayv2.ExportApiInput{ApiId: &p.api.ID, StageName: stage, OutputType: sdk.String("JSON"), Specification: sdk.String("OAS30")})
		if err == nil {
			err = json.Unmarshal(out.Body, &exports[i])
		}
		if err != nil {
			return nil, err
		}
	}
	for name := range exports[0] {
		if name != "servers" && name != "info" && !same(exports[0][name], exports[1][name]) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}
