package doctor

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigateway/types"
)

// checkStage compares what a stage serves with the API. Faults of the API itself
// are known.
func (e *exam) checkStage(ctx context.Context, api *restAPI, s types.Stage, known map[string]bool) error {
	answer, err := e.REST.GetExport(ctx, &apigateway.GetExportInput{
		RestApiId: &api.id, StageName: s.StageName, ExportType: sdk.String("oas30"), Accepts: sdk.String("application/json"),
		Parameters: map[string]string{"extensions": "apigateway"},
	})
	if err != nil {
		return err
	}
	served, err := e.readExport(api, answer.Body)
	if err != nil {
		return fmt.Errorf("its export: %w", err)
	}
	var old []string
	for _, f := range served.faults() {
		if !known[f.What] {
			old = append(old, f.What)
		}
	}
	if old != nil {
		e.find("deployment", api.String()+", stage "+*s.StageName, "the API was changed and not deployed; the stage still serves: "+strings.Join(old, "; "), deployREST(api, s))
	}
	return nil
}

// verbs are the methods of REST APIs. A path of an export has other fields too.
var verbs = []string{"ANY", "DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"}

// readExport reads what a stage serves out of its export, an OpenAPI document. AWS
// does not list the extensions of exports ("Export a REST API from API Gateway").
// Those that people have published have the authorizers and gateway responses.
func (e *exam) readExport(api *restAPI, data []byte) (*restAPI, error) {
	var document struct {
		Paths      map[string]map[string]json.RawMessage
		Components struct {
			SecuritySchemes map[string]struct {
				Authorizer *struct {
					AuthorizerURI *string
					TTL           *int32 `json:"authorizerResultTtlInSeconds"`
				} `json:"x-amazon-apigateway-authorizer"`
			}
		}
		Responses map[string]struct {
			StatusCode                            any // a number or a text
			ResponseParameters, ResponseTemplates map[string]string
		} `json:"x-amazon-apigateway-gateway-responses"`
	}
	if err := json.Unmarshal(data, &document); err != nil {
		return nil, err
	}
	served := &restAPI{id: api.id, name: api.name, authorizers: map[string]authorizer{}, responses: map[string]response{}}
	for name, s := range document.Components.SecuritySchemes {
		if s.Authorizer != nil {
			served.authorizers[name] = e.authorizer(&name, &name, s.Authorizer.AuthorizerURI, s.Authorizer.TTL)
		}
	}
	for kind, r := range document.Responses {
		status := ""
		if r.StatusCode != nil {
			status = fmt.Sprint(r.StatusCode)
		}
		served.responses[kind] = newResponse(status, r.ResponseParameters, r.ResponseTemplates)
	}
	live := map[string]method{}
	for _, m := range api.methods {
		live[m.name] = m
	}
	for _, path := range slices.Sorted(maps.Keys(document.Paths)) {
		for _, key := range slices.Sorted(maps.Keys(document.Paths[path])) {
			verb := strings.ToUpper(strings.Replace(key, "x-amazon-apigateway-any-method", "any", 1))
			if !slices.Contains(verbs, verb) {
				continue
			}
			var operation struct{ Security []map[string]any }
			if err := json.Unmarshal(document.Paths[path][key], &operation); err != nil {
				return nil, err
			}
			m := live[verb+" "+path]
			m.name, m.authorizer = verb+" "+path, ""
			for _, requirement := range operation.Security {
				for name := range requirement {
					if _, ok := served.authorizers[name]; ok {
						m.authorizer = name
					}
				}
			}
			served.methods = append(served.methods, m)
		}
	}
	return served, nil
}
