// Package apis reads the APIs of API Gateway: REST, HTTP and WebSocket APIs in
// one form. It changes nothing.
package apis

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"

	"github.com/slidegate/slidegate/internal/lambda/apigw"
)

// The protocols of APIs.
const (
	RESTProtocol = "REST"
	HTTP         = "HTTP"
	WebSocket    = "WEBSOCKET"
)

// The types of authorization of methods that this package's callers name.
const (
	None   = "NONE"
	Custom = "CUSTOM" // by a function
)

// API is an API as it is configured, or as a stage serves it. The methods of
// Reader fill in what is behind Tags.
type API struct {
	Protocol    string
	ID, Name    string
	Tags        map[string]string
	Authorizers map[string]Authorizer // by id, or by name as a stage serves it
	Methods     []Method
	Responses   map[string]Response // by type, of a REST API
}

func (a *API) String() string { return fmt.Sprintf("%s API %s (%s)", a.Protocol, a.Name, a.ID) }

// Authorizer is one of an API.
type Authorizer struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	Type string `json:"type,omitempty"` // such as REQUEST; "" as a stage serves it
	URI  string `json:"uri,omitempty"`
	TTL  int    `json:"ttl"` // of results, in seconds
}

// Asks reports whether the authorizer is a function, whatever its version or alias.
func (a Authorizer) Asks(function string) bool {
	_, after, found := strings.Cut(a.URI, ":function:"+function)
	return found && function != "" && strings.IndexAny(after, "/:") == 0
}

// Method is one of a REST API, or a route of another.
type Method struct {
	Name string // GET /items, or a key of routes such as $connect
	ID   string // of its resource, or of the route
	Authorization
	APIKey      bool   // whether the method requires a key, of a REST API
	Integration string // its type and address, of a REST API
}

// Authorization is who may call a method.
type Authorization struct {
	Type       string   `json:"type"` // such as NONE or AWS_IAM
	Authorizer string   `json:"authorizer,omitempty"`
	Scopes     []string `json:"scopes,omitempty"`
}

// Open reports whether everybody may call the method.
func (a Authorization) Open() bool { return a.Type == None && a.Authorizer == "" }

// Verb returns GET of GET /items.
func (m Method) Verb() string {
	verb, _, _ := strings.Cut(m.Name, " ")
	return verb
}

// Limitable reports whether an authorizer belongs on the method. Preflights carry
// no credentials, and a WebSocket API asks about connections alone.
func (m Method) Limitable(api *API) bool {
	if api.Protocol == WebSocket {
		return m.Name == "$connect"
	}
	return m.Verb() != "OPTIONS"
}

// Response is a gateway response.
type Response struct {
	Own        bool              `json:"-"` // the API states it; otherwise API Gateway does
	Status     string            `json:"status,omitempty"`
	Parameters map[string]string `json:"parameters,omitempty"` // expressions by names, such as gatewayresponse.header.Retry-After
	Templates  map[string]string `json:"templates,omitempty"`
}

// Headers returns the expressions by names of header fields.
func (r Response) Headers() map[string]string {
	headers := map[string]string{}
	for name, expression := range r.Parameters {
		if field, ok := strings.CutPrefix(name, apigw.ResponseField); ok {
			headers[field] = expression
		}
	}
	return headers
}

// With returns a response that has all of wanted, and keeps what else it has: its
// values of fields that do not come from the limiter, such as one origin, and its
// body. A type that the API does not state has what it inherits from a default.
func (r Response) With(wanted apigw.GatewayResponse) *Response {
	after := &Response{Parameters: wanted.Keep(r.Headers()).Parameters(), Templates: maps.Clone(r.Templates)}
	if r.Own {
		after.Status = r.Status
	}
	if wanted.Status != 0 {
		after.Status = strconv.Itoa(wanted.Status)
	}
	switch {
	case wanted.Body != "":
		after.Templates = map[string]string{"application/json": wanted.Body}
	case len(after.Templates) == 0:
		after.Templates = map[string]string{"application/json": OwnBody}
	}
	return after
}

// OwnBody is API Gateway's own body, which it gives a response without one.
const OwnBody = `{"message":$context.error.messageString}`

// Replaces reports whether the API states a gateway response that stays in place of
// an optional one of the limiter's.
func (a *API) Replaces(r apigw.GatewayResponse) bool {
	if r.Fallback == "" {
		return false
	}
	for kind, own := range a.Responses {
		ownBody := slices.ContainsFunc(slices.Collect(maps.Values(own.Templates)), func(body string) bool { return body != "" && body != OwnBody })
		if own.Own && r.IsReplaced(kind, ownBody) {
			return true
		}
	}
	return false
}

// Stage is a stage of an API.
type Stage struct {
	Name       string
	Deployment string // its id
	AutoDeploy bool   // each change of the API
	Canary     bool   // another deployment gets a part of the requests
}

// REST has the calls of API Gateway for REST APIs that this package makes.
type REST interface {
	GetRestApi(context.Context, *apigateway.GetRestApiInput, ...func(*apigateway.Options)) (*apigateway.GetRestApiOutput, error)
	GetRestApis(context.Context, *apigateway.GetRestApisInput, ...func(*apigateway.Options)) (*apigateway.GetRestApisOutput, error)
	GetAuthorizers(context.Context, *apigateway.GetAuthorizersInput, ...func(*apigateway.Options)) (*apigateway.GetAuthorizersOutput, error)
	GetResources(context.Context, *apigateway.GetResourcesInput, ...func(*apigateway.Options)) (*apigateway.GetResourcesOutput, error)
	GetGatewayResponses(context.Context, *apigateway.GetGatewayResponsesInput, ...func(*apigateway.Options)) (*apigateway.GetGatewayResponsesOutput, error)
	GetStages(context.Context, *apigateway.GetStagesInput, ...func(*apigateway.Options)) (*apigateway.GetStagesOutput, error)
	GetExport(context.Context, *apigateway.GetExportInput, ...func(*apigateway.Options)) (*apigateway.GetExportOutput, error)
}

// V2 has the calls of API Gateway for HTTP and WebSocket APIs that this package makes.
type V2 interface {
	GetApi(context.Context, *apigatewayv2.GetApiInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetApiOutput, error)
	GetApis(context.Context, *apigatewayv2.GetApisInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetApisOutput, error)
	GetAuthorizers(context.Context, *apigatewayv2.GetAuthorizersInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetAuthorizersOutput, error)
	GetRoutes(context.Context, *apigatewayv2.GetRoutesInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetRoutesOutput, error)
	GetStages(context.Context, *apigatewayv2.GetStagesInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetStagesOutput, error)
}

// Reader reads the APIs of an account and region.
type Reader struct {
	REST REST
	V2   V2
}

// Find returns an API by its id, or nil.
func (r Reader) Find(ctx context.Context, id string) (*API, error) {
	api, err := r.findREST(ctx, id)
	if api != nil || err != nil {
		return api, err
	}
	return r.findV2(ctx, id)
}

// Read reads an API's authorizers, methods and gateway responses.
func (r Reader) Read(ctx context.Context, api *API) error {
	for _, read := range []func(context.Context, *API) error{r.Authorizers, r.Methods, r.Responses} {
		if err := read(ctx, api); err != nil {
			return err
		}
	}
	return nil
}

// Authorizers reads the authorizers of an API.
func (r Reader) Authorizers(ctx context.Context, api *API) error {
	read := r.v2Authorizers
	if api.Protocol == RESTProtocol {
		read = r.restAuthorizers
	}
	all, err := read(ctx, api)
	api.Authorizers = map[string]Authorizer{}
	for _, a := range all {
		api.Authorizers[a.ID] = a
	}
	return err
}

// Methods reads the methods or routes of an API, in the order of their names.
func (r Reader) Methods(ctx context.Context, api *API) (err error) {
	read := r.routes
	if api.Protocol == RESTProtocol {
		read = r.restMethods
	}
	api.Methods, err = read(ctx, api)
	slices.SortFunc(api.Methods, func(a, b Method) int { return strings.Compare(a.path()+a.Name, b.path()+b.Name) })
	return err
}

// path returns /items of GET /items.
func (m Method) path() string {
	_, path, _ := strings.Cut(m.Name, " ")
	return path
}

// Responses reads the gateway responses of a REST API. Others have none.
func (r Reader) Responses(ctx context.Context, api *API) error {
	if api.Protocol != RESTProtocol {
		return nil
	}
	return r.restResponses(ctx, api)
}

// Stages returns the stages of an API.
func (r Reader) Stages(ctx context.Context, api *API) ([]Stage, error) {
	if api.Protocol == RESTProtocol {
		return r.restStages(ctx, api)
	}
	return r.v2Stages(ctx, api)
}

// pages returns the items of all pages.
func pages[T any](page func(token *string) ([]T, *string, error)) (all []T, err error) {
	for token := (*string)(nil); ; {
		items, next, err := page(token)
		all = append(all, items...)
		if err != nil || next == nil || *next == "" {
			return all, err
		}
		token = next
	}
}
