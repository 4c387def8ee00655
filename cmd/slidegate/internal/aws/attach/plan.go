package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
)

// plan builds a job and collects the reasons that forbid it.
type plan struct {
	*job
	region    *Region
	options   Options
	resumed   bool
	reasons   []string // not to change anything
	avoidable []string // the same, unless the options say anyway
}

// The name and type of the authorizer that attach adds.
const (
	authorizerName = "Slidegate"
	authorizerType = "REQUEST"
)

func (p *plan) refuse(format string, args ...any) {
	p.reasons = append(p.reasons, fmt.Sprintf(format, args...))
}

func (p *plan) avoid(format string, args ...any) {
	p.avoidable = append(p.avoidable, fmt.Sprintf(format, args...))
}

func (j *job) note(format string, args ...any) {
	j.report.Notes = append(j.report.Notes, fmt.Sprintf(format, args...))
}

// build completes the job by the state of an earlier one, or by a new one. Its error
// has every reason to change nothing, on a line each.
func (p *plan) build(ctx context.Context) error {
	if p.resumed = p.state != nil; p.resumed {
		p.checkOthers()
		p.noteOpen()
	} else {
		p.begin()
	}
	begins := slices.ContainsFunc(p.steps(), func(s step) bool { return !s.after })
	if begins {
		p.limiter.check(p)
		p.checkStages()
		p.checkOwner()
		p.notePreflights()
	}
	if begins || len(p.state.Methods)+len(p.reasons) == 0 {
		if err := p.checkUnpublished(ctx); err != nil {
			p.avoid("it cannot be compared with what stage %s serves: %v", p.stage.Name, aws.Explain(err))
		}
	}
	for _, reason := range p.avoidable {
		if p.options.Anyway {
			p.note("%s", reason)
		} else {
			p.refuse("%s; --anyway goes on", reason)
		}
	}
	if len(p.reasons) == 0 {
		return nil
	}
	return errors.New(p.api.String() + ": " + strings.Join(p.reasons, "\n"+p.api.String()+": "))
}

// checkOthers refuses to resume if a field changed since attach, or if the state
// sets other values than a new attach would. A deployment that no stage serves yet
// is made again, because the state may name any deployment.
func (p *plan) checkOthers() {
	if len(p.options.Methods) > 0 {
		p.refuse("table %s says which methods to limit: leave --method out, or detach first: %s", p.report.Table, p.report.DetachCommand())
	}
	if d := p.state.Deployment; d != nil && !d.Done && d.After != p.stage.Deployment {
		d.After = ""
	}
	fresh := responses(p.api)
	for _, r := range p.state.Responses {
		s := p.response(&r)
		if !r.Done && s.before && !slices.ContainsFunc(fresh, func(own Response) bool { return same(own, r) }) {
			p.refuse("the state would set %s to another value than attach does: detach, then attach again: %s", s.what, p.report.DetachCommand())
		}
	}
	changed := slices.DeleteFunc(p.steps(), func(s step) bool { return s.after || s.before && !*s.done })
	if len(changed) > 0 {
		p.refuse("somebody has changed since attach began: %s: detach, then attach again: %s",
			list(changed, func(s step) string { return s.what }), p.report.DetachCommand())
	}
}

// noteOpen names methods without an authorizer, and gateway responses that the API
// lacks, which the state does not list.
func (p *plan) noteOpen() {
	lacks := slices.DeleteFunc(responses(p.api), func(r Response) bool {
		return slices.ContainsFunc(p.state.Responses, func(own Response) bool { return own.Type == r.Type })
	})
	if len(lacks) > 0 {
		p.note("the earlier attach did not set the gateway responses %s: slidegate aws doctor prints the command that sets each",
			list(lacks, func(r Response) string { return r.Type }))
	}
	for _, m := range p.api.Methods {
		if !p.state.contains(m) && m.Limitable(p.api) && m.Open() {
			p.note("nothing limits %s, which was added since: to limit it too, detach, and attach again", m.Name)
		}
	}
}

// begin makes the state of an API before its first change.
func (p *plan) begin() {
	p.state = &State{
		Form: form, Protocol: p.api.Protocol, API: p.api.ID, Stage: p.stage.Name, Region: p.region.Name,
		Responses: []Response{}, Methods: []Method{},
		Authorizer: Authorizer{Authorizer: apis.Authorizer{Name: authorizerName, Type: authorizerType, URI: p.limiter.uri}},
	}
	for _, m := range p.choose() {
		a, known := p.api.Authorizers[m.Authorizer]
		switch {
		case p.limiter.invokedBy(a.URI), a.Name == authorizerName: // this limiter decides already, or another one
		case !m.Open():
			who := m.Type
			if known {
				who = "authorizer " + a.Name
			}
			p.refuse("%s has %s, and API Gateway asks one authorizer only: have its function decide by limitlambda.Wrap, or choose other methods by --method", m.Name, who)
		default:
			p.state.Methods = append(p.state.Methods, Method{Name: m.Name, ID: m.ID, Before: m.Authorization})
		}
	}
	if !p.stage.AutoDeploy {
		p.state.Deployment = &Deployment{Before: p.stage.Deployment}
	}
	for _, a := range p.api.Authorizers {
		if a.Name == authorizerName && (len(p.state.Methods) > 0 || !p.limiter.invokedBy(a.URI)) {
			p.refuse("it has an authorizer %s already, which invokes %s, and table %s has no state of it for stage %s: first detach the other stage, or the other limiter (--limiter), or run attach where slidegate-%s.json of an earlier version is", authorizerName, a.URI, p.report.Table, p.stage.Name, p.api.ID)
		}
	}
	if len(p.state.Methods) > 0 {
		p.state.Responses = responses(p.api)
	}
}

// choose returns the methods that the options name.
func (p *plan) choose() (chosen []apis.Method) {
	has := list(p.api.Methods, func(m apis.Method) string { return m.Name })
	for _, m := range p.api.Methods {
		switch asked := slices.Contains(p.options.Methods, m.Name); {
		case asked && !m.Limitable(p.api):
			p.refuse("%s cannot be limited: preflights carry no credentials, and WebSocket APIs ask about $connect alone", m.Name)
		case asked || len(p.options.Methods) == 0 && m.Limitable(p.api):
			chosen = append(chosen, m)
		}
	}
	for _, name := range p.options.Methods {
		if !slices.ContainsFunc(p.api.Methods, func(m apis.Method) bool { return m.Name == name }) {
			p.refuse("it has no method %s: it has %s", name, has)
		}
	}
	if len(chosen)+len(p.reasons) == 0 {
		p.refuse("it has no method to limit: it has %s", has)
	}
	return chosen
}

// checkStages names the other stages that would serve the change.
func (p *plan) checkStages() {
	switch s := p.stage; {
	case s.Canary:
		p.refuse("stage %s has a canary: promote it, or delete it", s.Name)
	case s.Deployment == "" && !s.AutoDeploy:
		p.refuse("stage %s has no deployment, so it serves nothing: deploy it first", s.Name)
	}
	for _, s := range p.stages {
		if s.AutoDeploy && s.Name != p.stage.Name {
			p.note("stage %s deploys by itself, so it is limited too", s.Name)
		}
	}
}

// page shows how each tool declares the authorizer.
const page = "https://github.com/slidegate/slidegate/blob/main/docs/deploy.md#put-an-api-behind-it"

// stackTag is the tag that CloudFormation sets on resources that it manages.
const stackTag = "aws:cloudformation:stack-name"

func (p *plan) checkOwner() {
	if stack := p.api.Tags[stackTag]; stack != "" {
		p.avoid("stack %s of CloudFormation manages it, so its next deployment may take the authorizer away: write it into its template: "+page, stack)
	} else {
		p.note("if Terraform or another tool manages the API, its next run takes this away: write it there too: " + page)
	}
}

// notePreflights names the methods that receive preflights.
func (p *plan) notePreflights() {
	for _, m := range p.state.Methods {
		path, isAny := strings.CutPrefix(m.Name, "ANY ")
		open := slices.ContainsFunc(p.api.Methods, func(o apis.Method) bool { return o.Name == "OPTIONS "+path })
		if (isAny || m.Name == "$default") && !open {
			p.note("%s receives the preflights of browsers, which carry no credentials, and limits them too: a method OPTIONS stays open", m.Name)
		}
	}
}

// checkUnpublished compares the API with what the stage serves: a deployment would
// publish what differs. It leaves out what this job has changed. If all methods ask
// the limiter already, by an attach to another stage, this stage must serve that.
func (p *plan) checkUnpublished(ctx context.Context) error {
	var live, served map[string]string
	switch {
	case p.state.Deployment == nil:
		return nil
	case p.api.Protocol == apis.RESTProtocol:
		api, err := p.region.apis().Served(ctx, p.api, p.stage.Name)
		if err != nil {
			return err
		}
		live, served = fields(p.api), fields(api)
	case p.api.Protocol == apis.HTTP && !p.resumed:
		var err error
		if live, err = p.export(ctx, nil); err == nil {
			served, err = p.export(ctx, &p.stage.Name)
		}
		if err != nil {
			return err
		}
	case len(p.state.Methods) == 0:
		p.avoid("its methods ask the limiter already, and nothing shows whether stage %s serves that: deploy the API to it", p.stage.Name)
		return nil
	default:
		p.note("nothing shows whether the API was changed since its last deployment: the new one publishes it as it is")
		return nil
	}
	if p.resumed {
		for _, s := range p.steps() {
			delete(live, s.what)
			delete(served, s.what)
		}
	}
	maps.DeleteFunc(live, func(name, value string) bool {
		old, ok := served[name]
		delete(served, name)
		return ok && old == value
	})
	maps.Copy(live, served)
	switch differs := strings.Join(slices.Sorted(maps.Keys(live)), ", "); {
	case differs == "":
	case len(p.state.Methods) == 0:
		p.refuse("its methods ask the limiter already, but stage %s serves other values of %s: deploy the API to it", p.stage.Name, differs)
	default:
		p.avoid("it was changed and not deployed to stage %s, and a deployment would publish that: %s", p.stage.Name, differs)
	}
	return nil
}

// fields returns the fields of a REST API that a stage's export shows, by names as
// steps have them: methods with their authorizers, API keys and the addresses of
// their backends, and gateway responses.
func fields(api *apis.API) map[string]string {
	all := map[string]string{}
	for _, m := range api.Methods {
		all[m.Name] = fmt.Sprint(api.Authorizers[m.Authorizer].Name, m.APIKey, m.Integration)
	}
	for kind, r := range api.Responses {
		if r.Templates["application/json"] == apis.OwnBody {
			r.Templates = nil // an export may leave it out
		}
		if r.Own {
			all["gateway response "+kind] = fmt.Sprint(r.Status, r.Parameters, r.Templates)
		}
	}
	return all
}

// export returns the parts of an HTTP API's OpenAPI document, as a stage serves it,
// or as it is. Addresses and versions of a stage are no part of the API.
func (p *plan) export(ctx context.Context, stage *string) (parts map[string]string, err error) {
	var document map[string]json.RawMessage
	out, err := p.region.V2.ExportApi(ctx, &apigatewayv2.ExportApiInput{ApiId: &p.api.ID, StageName: stage, OutputType: sdk.String("JSON"), Specification: sdk.String("OAS30")})
	if err == nil {
		err = json.Unmarshal(out.Body, &document)
	}
	parts = map[string]string{}
	for name, part := range document {
		var value any
		if err == nil && name != "servers" && name != "info" {
			err = json.Unmarshal(part, &value)
			parts[name] = fmt.Sprint(value)
		}
	}
	return parts, err
}
