package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	resttypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/aws/aws-sdk-go-v2/service/lambda"
	lambdatypes "github.com/aws/aws-sdk-go-v2/service/lambda/types"
	"github.com/aws/smithy-go"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

const (
	testRegion  = "eu-north-1"
	functionARN = "arn:aws:lambda:eu-north-1:123456789012:function:authorize"
	noStack     = "-" // in place of a function
	functionURI = "arn:aws:apigateway:eu-north-1:lambda:path/2015-03-31/functions/" + functionARN + "/invocations"
)

// definition is what a deployment keeps of an API, and what tests compare.
type definition struct {
	Authorizers map[string]apis.Authorizer
	Methods     []apis.Method
	Responses   map[string]apis.Response
}

func (d definition) clone() definition {
	return definition{maps.Clone(d.Authorizers), slices.Clone(d.Methods), maps.Clone(d.Responses)}
}

// cloud is an account with one API, which keeps what is deployed.
type cloud struct {
	protocol    string
	tags        map[string]string
	live        definition
	stages      []apis.Stage
	deployments map[string]definition
	made        int // ids
	function    string
	policy      string

	kept    map[string]ruletable.Attachment // in the rules table
	puts    int
	putFail int // the put that fails, from 1; 0 for none

	steps  int            // changes of the API and puts
	during func(step int) // has something else happen before a step; nil for nothing

	calls  []string // that change something
	failAt int      // the call that fails, from 1; 0 for none
	lost   bool     // the call that fails is carried out
	refuse string   // the call that AWS does not permit
}

func newCloud(protocol string) *cloud {
	c := &cloud{protocol: protocol, deployments: map[string]definition{}, function: "authorize", kept: map[string]ruletable.Attachment{},
		policy: `{"Statement": [{"Effect": "Allow", "Principal": {"Service": "apigateway.amazonaws.com"}, "Action": "lambda:InvokeFunction",
			"Condition": {"ArnLike": {"AWS:SourceArn": "arn:aws:execute-api:eu-north-1:123456789012:*/authorizers/*"}}}]}`}
	none := apis.Authorization{Type: apis.None}
	c.live = definition{Authorizers: map[string]apis.Authorizer{}, Responses: map[string]apis.Response{}}
	c.stages = []apis.Stage{{Name: "prod", Deployment: "old", AutoDeploy: protocol == apis.HTTP}}
	switch protocol {
	case apis.WebSocket:
		c.live.Methods = []apis.Method{{Name: "$connect", ID: "r1", Authorization: none}, {Name: "$default", ID: "r2", Authorization: none}}
	default:
		c.live.Methods = []apis.Method{
			{Name: "GET /items", ID: "r1", Authorization: none}, {Name: "OPTIONS /items", ID: "r1", Authorization: none}, {Name: "POST /items", ID: "r1", Authorization: none},
		}
	}
	if protocol == apis.HTTP {
		for i := range c.live.Methods {
			c.live.Methods[i].ID = "r" + strconv.Itoa(i+1)
		}
	}
	if protocol == apis.RESTProtocol {
		for i := range c.live.Methods {
			c.live.Methods[i].Integration = "aws_proxy arn:backend"
		}
		c.live.Responses["DEFAULT_4XX"] = apis.Response{Own: true, Parameters: map[string]string{"gatewayresponse.header.access-control-allow-origin": "'https://shop.example'"},
			Templates: map[string]string{"application/json": `{"error":1}`}}
	}
	c.deployments["old"] = c.live.clone()
	return c
}

func (c *cloud) region() *Region {
	return &Region{Stacks: c, Functions: c, Table: func(string) Table { return c }, REST: fakeREST{cloud: c}, V2: fakeV2{cloud: c}, Name: testRegion}
}

// change carries out a call that changes something, or fails.
func (c *cloud) change(call string, do func()) error {
	c.step()
	c.calls = append(c.calls, call)
	if len(c.calls) != c.failAt {
		do()
		return nil
	}
	if c.lost {
		do()
	}
	return fmt.Errorf("call %d broke off", c.failAt)
}

func (c *cloud) permit(call string) error {
	if c.refuse == call {
		return &smithy.OperationError{ServiceID: "API Gateway", OperationName: call, Err: &smithy.GenericAPIError{Code: "AccessDeniedException", Message: "no"}}
	}
	return nil
}

func (c *cloud) id(kind string) string {
	c.made++
	return kind + strconv.Itoa(c.made)
}

func (c *cloud) method(id, verb string) *apis.Method {
	at := slices.IndexFunc(c.live.Methods, func(m apis.Method) bool { return m.ID == id && (verb == "" || m.Verb() == verb) })
	return &c.live.Methods[at]
}

// set changes the authorization of a method by its name.
func (c *cloud) set(name string, a apis.Authorization) {
	at := slices.IndexFunc(c.live.Methods, func(m apis.Method) bool { return m.Name == name })
	c.live.Methods[at].Authorization = a
}

// asks has the methods ask another authorizer.
func (c *cloud) asks(id, name, uri string) {
	c.live.Authorizers[id] = apis.Authorizer{ID: id, Name: name, URI: uri}
	c.set("GET /items", apis.Authorization{Type: apis.Custom, Authorizer: id})
	c.set("POST /items", apis.Authorization{Type: apis.Custom, Authorizer: id})
}

func (c *cloud) addAuthorizer(a apis.Authorizer) (id string, err error) {
	id = c.id("auth")
	a.ID = id
	var taken error
	err = c.change("CreateAuthorizer "+a.Name, func() {
		for _, other := range c.live.Authorizers {
			if other.Name == a.Name {
				taken = &resttypes.BadRequestException{Message: sdk.String("Authorizer name must be unique")}
				return
			}
		}
		c.live.Authorizers[id] = a
	})
	return id, errors.Join(err, taken)
}

func (c *cloud) removeAuthorizer(id string) error {
	for _, m := range c.live.Methods {
		if m.Authorizer == id {
			return fmt.Errorf("authorizer %s is referenced in %s", id, m.Name)
		}
	}
	return c.change("DeleteAuthorizer", func() { delete(c.live.Authorizers, id) })
}

func (c *cloud) deploy() (id string, err error) {
	id = c.id("deployment")
	return id, c.change("CreateDeployment", func() { c.deployments[id] = c.live.clone() })
}

func (c *cloud) serve(stage, deployment string) error {
	if _, ok := c.deployments[deployment]; !ok || c.stages[0].AutoDeploy {
		return &resttypes.BadRequestException{Message: sdk.String("Invalid Deployment identifier specified")}
	}
	return c.change("UpdateStage "+stage+" "+deployment, func() { c.stages[0].Deployment = deployment })
}

// served is what the stage serves.
func (c *cloud) served() definition {
	if c.stages[0].AutoDeploy {
		return c.live
	}
	return c.deployments[c.stages[0].Deployment]
}

// text is a value as tests compare it.
func text(t *testing.T, value any) string {
	t.Helper()
	data, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func (c *cloud) Limiter(_ context.Context, stack, _ string) (aws.Limiter, error) {
	if c.function == noStack {
		return aws.Limiter{}, fmt.Errorf("stack %s %w", stack, aws.ErrNoStack)
	}
	return aws.Limiter{Function: c.function, RulesTable: "rules"}, nil
}

func (c *cloud) Attachment(_ context.Context, api, stage string) (*ruletable.Attachment, error) {
	if a, ok := c.kept[api+"/"+stage]; ok {
		return &a, nil
	}
	return nil, nil
}

func (c *cloud) PutAttachment(_ context.Context, api, stage string, a ruletable.Attachment) error {
	c.step()
	if c.puts++; c.puts == c.putFail {
		return errFull
	}
	if c.kept[api+"/"+stage].Revision != a.Revision-1 {
		return ruletable.ErrConflict
	}
	c.kept[api+"/"+stage] = a
	return nil
}

func (c *cloud) DeleteAttachment(_ context.Context, api, stage string, revision int64) error {
	if a, ok := c.kept[api+"/"+stage]; !ok || revision > 0 && a.Revision != revision {
		return ruletable.ErrConflict
	}
	delete(c.kept, api+"/"+stage)
	return nil
}

func (c *cloud) step() {
	if c.during != nil {
		c.during(c.steps)
	}
	c.steps++
}

// commands returns attach and detach.
func (c *cloud) commands() map[string]func(context.Context, Options) (*Report, error) {
	return map[string]func(context.Context, Options) (*Report, error){"attach": c.region().Attach, "detach": c.region().Detach}
}

// errFull is the error of a put that fails.
var errFull = errors.New("the put failed")

func (c *cloud) GetFunctionConfiguration(context.Context, *lambda.GetFunctionConfigurationInput, ...func(*lambda.Options)) (*lambda.GetFunctionConfigurationOutput, error) {
	return &lambda.GetFunctionConfigurationOutput{FunctionArn: sdk.String(functionARN)}, c.permit("GetFunctionConfiguration")
}

func (c *cloud) GetPolicy(context.Context, *lambda.GetPolicyInput, ...func(*lambda.Options)) (*lambda.GetPolicyOutput, error) {
	if c.policy == "" {
		return nil, &lambdatypes.ResourceNotFoundException{}
	}
	return &lambda.GetPolicyOutput{Policy: &c.policy}, c.permit("GetPolicy")
}

type fakeREST struct {
	*cloud
	REST // nil: calls that attach does not make
}

func (f fakeREST) GetRestApi(_ context.Context, in *apigateway.GetRestApiInput, _ ...func(*apigateway.Options)) (*apigateway.GetRestApiOutput, error) {
	if f.protocol != apis.RESTProtocol || *in.RestApiId != "a1" {
		return nil, &resttypes.NotFoundException{}
	}
	return &apigateway.GetRestApiOutput{Name: sdk.String("shop"), Tags: f.tags}, f.permit("GetRestApi")
}

func (f fakeREST) GetAuthorizers(context.Context, *apigateway.GetAuthorizersInput, ...func(*apigateway.Options)) (*apigateway.GetAuthorizersOutput, error) {
	out := &apigateway.GetAuthorizersOutput{}
	for id, a := range f.live.Authorizers {
		out.Items = append(out.Items, resttypes.Authorizer{Id: &id, Name: &a.Name, Type: resttypes.AuthorizerType(a.Type), AuthorizerUri: &a.URI, AuthorizerResultTtlInSeconds: sdk.Int32(int32(a.TTL))})
	}
	return out, f.permit("GetAuthorizers")
}

func (f fakeREST) GetResources(context.Context, *apigateway.GetResourcesInput, ...func(*apigateway.Options)) (*apigateway.GetResourcesOutput, error) {
	out := &apigateway.GetResourcesOutput{}
	for _, m := range f.live.Methods {
		_, path, _ := strings.Cut(m.Name, " ")
		kind, uri, _ := strings.Cut(m.Integration, " ")
		out.Items = append(out.Items, resttypes.Resource{Id: &m.ID, Path: &path, ResourceMethods: map[string]resttypes.Method{m.Verb(): {
			AuthorizationType: &m.Type, AuthorizerId: &m.Authorizer, AuthorizationScopes: m.Scopes,
			MethodIntegration: &resttypes.Integration{Type: resttypes.IntegrationType(strings.ToUpper(kind)), Uri: &uri},
		}}})
	}
	return out, f.permit("GetResources")
}

// GetGatewayResponses has one of API Gateway's own, too.
func (f fakeREST) GetGatewayResponses(context.Context, *apigateway.GetGatewayResponsesInput, ...func(*apigateway.Options)) (*apigateway.GetGatewayResponsesOutput, error) {
	out := &apigateway.GetGatewayResponsesOutput{Items: []resttypes.GatewayResponse{{ResponseType: "THROTTLED", DefaultResponse: true}}}
	if !f.live.Responses["ACCESS_DENIED"].Own { // a default of the API is for it too
		out.Items = append(out.Items, resttypes.GatewayResponse{ResponseType: "ACCESS_DENIED", DefaultResponse: true, StatusCode: sdk.String("403"),
			ResponseParameters: f.live.Responses["DEFAULT_4XX"].Parameters, ResponseTemplates: f.live.Responses["DEFAULT_4XX"].Templates})
	}
	for kind, r := range f.live.Responses {
		item := resttypes.GatewayResponse{ResponseType: resttypes.GatewayResponseType(kind), ResponseParameters: r.Parameters, ResponseTemplates: r.Templates}
		if r.Status != "" {
			item.StatusCode = &r.Status
		}
		out.Items = append(out.Items, item)
	}
	return out, f.permit("GetGatewayResponses")
}

func (f fakeREST) GetStages(context.Context, *apigateway.GetStagesInput, ...func(*apigateway.Options)) (*apigateway.GetStagesOutput, error) {
	out := &apigateway.GetStagesOutput{}
	for _, s := range f.stages {
		stage := resttypes.Stage{StageName: &s.Name, DeploymentId: &s.Deployment}
		if s.Canary {
			stage.CanarySettings = &resttypes.CanarySettings{}
		}
		out.Item = append(out.Item, stage)
	}
	return out, f.permit("GetStages")
}

func (f fakeREST) GetExport(context.Context, *apigateway.GetExportInput, ...func(*apigateway.Options)) (*apigateway.GetExportOutput, error) {
	d := f.served()
	schemes, paths, responses := map[string]any{}, map[string]map[string]any{}, map[string]any{}
	for _, a := range d.Authorizers {
		schemes[a.Name] = map[string]any{"x-amazon-apigateway-authorizer": map[string]any{"authorizerUri": a.URI, "authorizerResultTtlInSeconds": a.TTL}}
	}
	for _, m := range d.Methods {
		_, path, _ := strings.Cut(m.Name, " ")
		kind, uri, _ := strings.Cut(m.Integration, " ")
		operation := map[string]any{"x-amazon-apigateway-integration": map[string]any{"type": kind, "uri": uri}}
		if a, ok := d.Authorizers[m.Authorizer]; ok {
			operation["security"] = []any{map[string]any{a.Name: []any{}}}
		}
		if paths[path] == nil {
			paths[path] = map[string]any{}
		}
		paths[path][strings.ToLower(m.Verb())] = operation
	}
	for kind, r := range d.Responses {
		object := map[string]any{"responseParameters": r.Parameters, "responseTemplates": r.Templates}
		if r.Status != "" {
			object["statusCode"] = json.Number(r.Status)
		}
		responses[kind] = object
	}
	body, err := json.Marshal(map[string]any{"paths": paths, "components": map[string]any{"securitySchemes": schemes}, "x-amazon-apigateway-gateway-responses": responses})
	if err == nil {
		err = f.permit("GetExport")
	}
	return &apigateway.GetExportOutput{Body: body}, err
}

func (f fakeREST) CreateAuthorizer(_ context.Context, in *apigateway.CreateAuthorizerInput, _ ...func(*apigateway.Options)) (*apigateway.CreateAuthorizerOutput, error) {
	id, err := f.addAuthorizer(apis.Authorizer{Name: *in.Name, Type: string(in.Type), URI: *in.AuthorizerUri, TTL: int(*in.AuthorizerResultTtlInSeconds)})
	return &apigateway.CreateAuthorizerOutput{Id: &id}, err
}

func (f fakeREST) DeleteAuthorizer(_ context.Context, in *apigateway.DeleteAuthorizerInput, _ ...func(*apigateway.Options)) (*apigateway.DeleteAuthorizerOutput, error) {
	return nil, f.removeAuthorizer(*in.AuthorizerId)
}

func (f fakeREST) UpdateMethod(_ context.Context, in *apigateway.UpdateMethodInput, _ ...func(*apigateway.Options)) (*apigateway.UpdateMethodOutput, error) {
	return nil, f.change("UpdateMethod "+*in.HttpMethod, func() {
		m := f.method(*in.ResourceId, *in.HttpMethod)
		for _, p := range in.PatchOperations {
			switch {
			case p.Op != resttypes.OpReplace:
				panic(p.Op)
			case *p.Path == "/authorizationType":
				m.Type = *p.Value
			case *p.Path == "/authorizerId":
				m.Authorizer = *p.Value
			}
		}
	})
}

func (f fakeREST) PutGatewayResponse(_ context.Context, in *apigateway.PutGatewayResponseInput, _ ...func(*apigateway.Options)) (*apigateway.PutGatewayResponseOutput, error) {
	return nil, f.change("PutGatewayResponse "+string(in.ResponseType), func() {
		f.live.Responses[string(in.ResponseType)] = apis.Response{Own: true, Status: sdk.ToString(in.StatusCode), Parameters: in.ResponseParameters, Templates: in.ResponseTemplates}
	})
}

func (f fakeREST) DeleteGatewayResponse(_ context.Context, in *apigateway.DeleteGatewayResponseInput, _ ...func(*apigateway.Options)) (*apigateway.DeleteGatewayResponseOutput, error) {
	return nil, f.change("DeleteGatewayResponse "+string(in.ResponseType), func() { delete(f.live.Responses, string(in.ResponseType)) })
}

func (f fakeREST) CreateDeployment(context.Context, *apigateway.CreateDeploymentInput, ...func(*apigateway.Options)) (*apigateway.CreateDeploymentOutput, error) {
	id, err := f.deploy()
	return &apigateway.CreateDeploymentOutput{Id: &id}, err
}

func (f fakeREST) UpdateStage(_ context.Context, in *apigateway.UpdateStageInput, _ ...func(*apigateway.Options)) (*apigateway.UpdateStageOutput, error) {
	return nil, f.serve(*in.StageName, *in.PatchOperations[0].Value)
}

type fakeV2 struct {
	*cloud
	V2
}

func (f fakeV2) GetApi(_ context.Context, in *apigatewayv2.GetApiInput, _ ...func(*apigatewayv2.Options)) (*apigatewayv2.GetApiOutput, error) {
	if f.protocol == apis.RESTProtocol || *in.ApiId != "a1" {
		return nil, &v2types.NotFoundException{}
	}
	return &apigatewayv2.GetApiOutput{Name: sdk.String("shop"), ProtocolType: v2types.ProtocolType(f.protocol), Tags: f.tags}, nil
}

func (f fakeV2) GetAuthorizers(context.Context, *apigatewayv2.GetAuthorizersInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetAuthorizersOutput, error) {
	out := &apigatewayv2.GetAuthorizersOutput{}
	for id, a := range f.live.Authorizers {
		out.Items = append(out.Items, v2types.Authorizer{AuthorizerId: &id, Name: &a.Name, AuthorizerType: v2types.AuthorizerType(a.Type), AuthorizerUri: &a.URI, AuthorizerResultTtlInSeconds: sdk.Int32(int32(a.TTL))})
	}
	return out, nil
}

// GetRoutes has a route on each page.
func (f fakeV2) GetRoutes(_ context.Context, in *apigatewayv2.GetRoutesInput, _ ...func(*apigatewayv2.Options)) (*apigatewayv2.GetRoutesOutput, error) {
	page, _ := strconv.Atoi(sdk.ToString(in.NextToken))
	m := f.live.Methods[page]
	route := v2types.Route{RouteId: sdk.String(m.ID), RouteKey: &m.Name, AuthorizationType: v2types.AuthorizationType(m.Type)}
	if m.Authorizer != "" {
		route.AuthorizerId = &m.Authorizer
	}
	out := &apigatewayv2.GetRoutesOutput{Items: []v2types.Route{route}}
	if page+1 < len(f.live.Methods) {
		out.NextToken = sdk.String(strconv.Itoa(page + 1))
	}
	return out, nil
}

func (f fakeV2) GetStages(context.Context, *apigatewayv2.GetStagesInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.GetStagesOutput, error) {
	out := &apigatewayv2.GetStagesOutput{}
	for _, s := range f.stages {
		out.Items = append(out.Items, v2types.Stage{StageName: &s.Name, DeploymentId: &s.Deployment, AutoDeploy: &s.AutoDeploy})
	}
	return out, nil
}

// ExportApi has the address and the version of a stage, and none for the API as it
// is.
func (f fakeV2) ExportApi(_ context.Context, in *apigatewayv2.ExportApiInput, _ ...func(*apigatewayv2.Options)) (*apigatewayv2.ExportApiOutput, error) {
	document := map[string]any{"openapi": "3.0.1", "info": map[string]any{"title": "shop"}}
	d := f.live
	if in.StageName != nil {
		d, document["servers"], document["info"] = f.served(), []any{*in.StageName}, map[string]any{"title": "shop", "version": "of the deployment"}
	}
	paths := map[string]any{}
	for _, m := range d.Methods {
		paths[m.Name] = m.Type + d.Authorizers[m.Authorizer].Name
	}
	document["paths"] = paths
	body, err := json.Marshal(document)
	if err == nil {
		err = f.permit("ExportApi")
	}
	return &apigatewayv2.ExportApiOutput{Body: body}, err
}

func (f fakeV2) CreateAuthorizer(_ context.Context, in *apigatewayv2.CreateAuthorizerInput, _ ...func(*apigatewayv2.Options)) (*apigatewayv2.CreateAuthorizerOutput, error) {
	simple := sdk.ToBool(in.EnableSimpleResponses) && *in.AuthorizerPayloadFormatVersion == "2.0" && *in.AuthorizerResultTtlInSeconds == 0
	plain := in.EnableSimpleResponses == nil && in.AuthorizerPayloadFormatVersion == nil && in.AuthorizerResultTtlInSeconds == nil
	if len(in.IdentitySource) > 0 || f.protocol == apis.HTTP && !simple || f.protocol == apis.WebSocket && !plain {
		return nil, fmt.Errorf("%+v is no authorizer of this kind of API", in)
	}
	id, err := f.addAuthorizer(apis.Authorizer{Name: *in.Name, Type: string(in.AuthorizerType), URI: *in.AuthorizerUri})
	return &apigatewayv2.CreateAuthorizerOutput{AuthorizerId: &id}, err
}

func (f fakeV2) DeleteAuthorizer(_ context.Context, in *apigatewayv2.DeleteAuthorizerInput, _ ...func(*apigatewayv2.Options)) (*apigatewayv2.DeleteAuthorizerOutput, error) {
	return nil, f.removeAuthorizer(*in.AuthorizerId)
}

func (f fakeV2) UpdateRoute(_ context.Context, in *apigatewayv2.UpdateRouteInput, _ ...func(*apigatewayv2.Options)) (*apigatewayv2.UpdateRouteOutput, error) {
	at := slices.IndexFunc(f.live.Methods, func(m apis.Method) bool { return m.ID == *in.RouteId })
	return nil, f.change("UpdateRoute "+f.live.Methods[at].Name, func() {
		f.live.Methods[at].Authorization = apis.Authorization{Type: string(in.AuthorizationType), Authorizer: *in.AuthorizerId}
	})
}

func (f fakeV2) CreateDeployment(context.Context, *apigatewayv2.CreateDeploymentInput, ...func(*apigatewayv2.Options)) (*apigatewayv2.CreateDeploymentOutput, error) {
	id, err := f.deploy()
	return &apigatewayv2.CreateDeploymentOutput{DeploymentId: &id}, err
}

func (f fakeV2) UpdateStage(_ context.Context, in *apigatewayv2.UpdateStageInput, _ ...func(*apigatewayv2.Options)) (*apigatewayv2.UpdateStageOutput, error) {
	return nil, f.serve(*in.StageName, *in.DeploymentId)
}
