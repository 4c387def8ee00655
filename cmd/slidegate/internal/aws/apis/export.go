package apis

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
)

// Served returns a REST API as a stage serves it, by the stage's export. Where the
// export has no name for an authorization, such as AWS_IAM, it is that of the API.
func (r Reader) Served(ctx context.Context, api *API, stage string) (*API, error) {
	answer, err := r.REST.GetExport(ctx, &apigateway.GetExportInput{
		RestApiId: &api.ID, StageName: &stage, ExportType: sdk.String("oas30"), Accepts: sdk.String("application/json"),
		Parameters: map[string]string{"extensions": "apigateway"},
	})
	if err != nil {
		return nil, err
	}
	var d document
	if err := json.Unmarshal(answer.Body, &d); err != nil {
		return nil, fmt.Errorf("its export: %w", err)
	}
	return d.read(api)
}

// document is an OpenAPI document of a stage. AWS does not list the extensions of
// exports ("Export a REST API from API Gateway"). Those that people have published
// have the authorizers and gateway responses.
type document struct {
	Paths      map[string]map[string]json.RawMessage
	Components struct {
		SecuritySchemes map[string]struct {
			Authorizer *struct {
				AuthorizerURI string
				TTL           *int32 `json:"authorizerResultTtlInSeconds"`
			} `json:"x-amazon-apigateway-authorizer"`
		}
	}
	Responses map[string]struct {
		StatusCode                            any // a number or a text
		ResponseParameters, ResponseTemplates map[string]string
	} `json:"x-amazon-apigateway-gateway-responses"`
}

// operation is a method of a document.
type operation struct {
	Security    []map[string]any
	Integration *struct{ Type, URI string } `json:"x-amazon-apigateway-integration"`
}

// keyScheme is how exports name that a method requires an API key.
const keyScheme = "api_key"

// verbs are the methods of REST APIs. A path of an export has other fields too.
var verbs = []string{"ANY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

func (d *document) read(api *API) (*API, error) {
	served := &API{Protocol: api.Protocol, ID: api.ID, Name: api.Name, Authorizers: map[string]Authorizer{}, Responses: map[string]Response{}}
	for name, s := range d.Components.SecuritySchemes {
		if s.Authorizer != nil {
			served.Authorizers[name] = Authorizer{ID: name, Name: name, URI: s.Authorizer.AuthorizerURI, TTL: restTTL(s.Authorizer.TTL)}
		}
	}
	for kind, r := range d.Responses {
		status := ""
		if r.StatusCode != nil {
			status = fmt.Sprint(r.StatusCode)
		}
		served.Responses[kind] = Response{true, status, r.ResponseParameters, r.ResponseTemplates}
	}
	live := map[string]Method{}
	for _, m := range api.Methods {
		live[m.Name] = m
	}
	for _, path := range slices.Sorted(maps.Keys(d.Paths)) {
		for _, key := range slices.Sorted(maps.Keys(d.Paths[path])) {
			verb := strings.ToUpper(strings.Replace(key, "x-amazon-apigateway-any-method", "any", 1))
			if !slices.Contains(verbs, verb) {
				continue
			}
			var o operation
			if err := json.Unmarshal(d.Paths[path][key], &o); err != nil {
				return nil, fmt.Errorf("its export: %w", err)
			}
			served.Methods = append(served.Methods, o.method(served, live[verb+" "+path], verb+" "+path))
		}
	}
	return served, nil
}

// method returns a method as a stage serves it.
func (o *operation) method(served *API, live Method, name string) Method {
	m := Method{Name: name, ID: live.ID, Authorization: Authorization{Type: live.Type}}
	for _, requirement := range o.Security {
		for name := range requirement {
			if _, ok := served.Authorizers[name]; ok {
				m.Authorizer = name
			}
			m.APIKey = m.APIKey || name == keyScheme
		}
	}
	if o.Integration != nil {
		m.Integration = integration(o.Integration.Type, o.Integration.URI)
	}
	return m
}
