package attach

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
)

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
		if r.Templates["application/json"] == ownBody {
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
