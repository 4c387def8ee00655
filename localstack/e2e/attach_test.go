//go:build e2e

package e2e

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	resttypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/google/go-cmp/cmp"
)

// TestAttachByCommand attaches APIs of three kinds that plain calls have made, with
// the rights of `slidegate aws policy`. The limiter then denies. Detach restores
// what the calls read, as JSON. The command's own tests end and resume it at each
// call. It runs with -wide.
func TestAttachByCommand(t *testing.T) {
	if !*wide {
		return
	}
	t.Parallel() // it waits most of the time
	defer catch(t)
	c := newCommand(t)
	c.endpoint = exporting(t, c.endpoint, c.cfg.Copy())
	c.cfg.BaseEndpoint = &c.endpoint
	c.save("rules.yaml", "rules: [{name: per-route, key: 'route:{route}', limit: 5/hour}]\n")
	if printed, code := c.run("aws", "deploy", "--rules", "rules.yaml"); code != 0 {
		t.Fatal(printed)
	}
	x := &existing{shop: c, rest: apigateway.NewFromConfig(c.cfg), v2: apigatewayv2.NewFromConfig(c.cfg)}
	x.backend = newBackend(t)
	for _, kind := range []struct {
		name   string
		create func() *existingAPI
	}{
		{"REST", x.newREST}, {"HTTP", x.newHTTP}, {"HTTP without AutoDeploy", x.newHTTPByHand}, {"WebSocket", x.newWebSocket},
	} {
		t.Run(kind.name, func(t *testing.T) {
			defer catch(t)
			kind.create().attachedAndDetached(t)
		})
	}
	t.Run("rights", func(t *testing.T) { defer catch(t); x.needsRights(t) })
}

// existing is an account with a limiter and APIs that know nothing of it.
type existing struct {
	*shop
	rest    *apigateway.Client
	v2      *apigatewayv2.Client
	backend string
	apis    int
}

// newBackend returns the address of a server that answers 200.
func newBackend(t *testing.T) string {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "{}") }))
	t.Cleanup(server.Close)
	return server.URL
}

// existingAPI is an API, with how to read and to call it.
type existingAPI struct {
	*existing
	id, stage string
	more      []string     // flags of attach
	read      func() []any // what attach changes
	ask       func(t *testing.T) (status int)
	allowed   int // the status of an allowed request
	denied    int
}

// snapshot is what calls read of the API, as JSON. API Gateway leaves out the id of
// no authorizer, and MiniStack has it as empty.
func (a *existingAPI) snapshot(t *testing.T) string {
	t.Helper()
	text := must(json.MarshalIndent(a.read(), "", " "))
	return strings.ReplaceAll(string(text), `"AuthorizerId": ""`, `"AuthorizerId": null`)
}

// attachedAndDetached has the limiter deny at the API, and takes it away again.
func (a *existingAPI) attachedAndDetached(t *testing.T) {
	before := a.snapshot(t)
	a.asks(t, 7, a.allowed)
	attach := append([]string{"aws", "attach", a.id, "--stage", a.stage}, a.more...)
	printed, code := a.run(attach...)
	const unchanged = "nothing is changed yet: repeat the command with --yes\n"
	planned := strings.Contains(printed, "planned: ") && strings.HasSuffix(printed, unchanged)
	if code != 0 || !planned || a.snapshot(t) != before {
		t.Fatalf("attach without --yes prints (exit %d):\n%s", code, printed)
	}
	if printed, code = a.run(append(attach, "--yes")...); code != 0 || !strings.Contains(printed, "attached: ") {
		t.Fatalf("attach prints (exit %d):\n%s", code, printed)
	}
	a.asks(t, 5, a.allowed)
	a.asks(t, 2, a.denied)
	if printed, _ := a.doctor(); strings.Contains(printed, a.id) {
		t.Errorf("doctor is not content:\n%s", printed)
	}
	a.takenBack(t, before)
}

// detach is the command that takes all back.
func (a *existingAPI) detach() []string {
	return []string{"aws", "detach", a.id, "--stage", a.stage, "--yes"}
}

func (a *existingAPI) takenBack(t *testing.T, before string) {
	t.Helper()
	home := a.dir
	a.dir = t.TempDir() // another machine
	must(0, os.Symlink(filepath.Join(home, "slidegate"), filepath.Join(a.dir, "slidegate")))
	defer func() { a.dir = home }()
	if printed, code := a.run(a.detach()...); code != 0 || !strings.Contains(printed, "detached: ") {
		t.Fatalf("detach prints (exit %d):\n%s", code, printed)
	}
	if diff := cmp.Diff(before, a.snapshot(t)); diff != "" {
		t.Errorf("after detach (-before +after):\n%s", diff)
	}
	if printed, code := a.run(a.detach()...); code != 1 || !strings.Contains(printed, "keeps nothing of API "+a.id) {
		t.Errorf("detach again prints (exit %d):\n%s", code, printed)
	}
	a.asks(t, 2, a.allowed)
}

// asks sends requests, and wants this status of each.
func (a *existingAPI) asks(t *testing.T, times, want int) {
	t.Helper()
	for i := range times {
		if got := a.ask(t); got != want {
			t.Fatalf("request %d is answered %d, want %d", i, got, want)
		}
	}
}

// newREST makes a REST API with two methods, OPTIONS, and a gateway response of its
// own.
func (x *existing) newREST() *existingAPI {
	ctx := x.t.Context()
	x.apis++
	name := aws.String(fmt.Sprint("rest", x.apis))
	api := must(x.rest.CreateRestApi(ctx, &apigateway.CreateRestApiInput{Name: name})).Id
	root := must(x.rest.GetResources(ctx, &apigateway.GetResourcesInput{RestApiId: api})).Items[0].Id
	path := aws.String(fmt.Sprint("items", x.apis))
	below := &apigateway.CreateResourceInput{RestApiId: api, ParentId: root, PathPart: path}
	resource := must(x.rest.CreateResource(ctx, below))
	for _, verb := range []string{"GET", "POST", "OPTIONS"} {
		must(x.rest.PutMethod(ctx, &apigateway.PutMethodInput{
			RestApiId: api, ResourceId: resource.Id, HttpMethod: &verb, AuthorizationType: aws.String("NONE"),
		}))
		must(x.rest.PutIntegration(ctx, &apigateway.PutIntegrationInput{
			RestApiId: api, ResourceId: resource.Id, HttpMethod: &verb,
			Type: resttypes.IntegrationTypeHttpProxy, IntegrationHttpMethod: &verb, Uri: &x.backend,
		}))
	}
	must(x.rest.PutGatewayResponse(ctx, &apigateway.PutGatewayResponseInput{RestApiId: api, ResponseType: "DEFAULT_4XX",
		ResponseParameters: map[string]string{
			"gatewayresponse.header.Access-Control-Allow-Origin": "'https://shop.example'",
		}}))
	must(x.rest.CreateDeployment(ctx, &apigateway.CreateDeploymentInput{RestApiId: api, StageName: aws.String("prod")}))
	a := &existingAPI{existing: x, id: *api, stage: "prod", allowed: 200, denied: http.StatusTooManyRequests}
	a.read = func() []any {
		return []any{
			must(x.rest.GetResources(ctx, &apigateway.GetResourcesInput{RestApiId: api, Embed: []string{"methods"}})).Items,
			must(x.rest.GetAuthorizers(ctx, &apigateway.GetAuthorizersInput{RestApiId: api})).Items,
			must(x.rest.GetGatewayResponses(ctx, &apigateway.GetGatewayResponsesInput{RestApiId: api})).Items,
		}
	}
	a.ask = func(t *testing.T) int {
		return statusOf(t, x.endpoint+"/restapis/"+*api+"/prod/_user_request_"+*resource.Path)
	}
	return a
}

func statusOf(t *testing.T, url string) int {
	t.Helper()
	answer, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	answer.Body.Close()
	return answer.StatusCode
}

func (x *existing) newHTTP() *existingAPI { return x.newV2("HTTP", "$default", true) }

// newHTTPByHand makes an API that cannot be compared with what it serves: MiniStack
// exports no HTTP APIs.
func (x *existing) newHTTPByHand() *existingAPI {
	a := x.newV2("HTTP", "prod", false)
	a.more = []string{"--anyway"}
	return a
}

// newWebSocket makes a WebSocket API whose handshakes are answered by API Gateway.
func (x *existing) newWebSocket() *existingAPI {
	a := x.newV2("WEBSOCKET", "prod", false)
	d := deployment{socket: x.endpoint + "/_aws/execute-api/" + a.id + "/prod"}
	a.allowed = http.StatusSwitchingProtocols
	a.ask = func(t *testing.T) int { return d.connect(t, field{"X-Client", "any"}) }
	return a
}

// newV2 makes an HTTP or WebSocket API with a stage.
func (x *existing) newV2(protocol, stage string, auto bool) *existingAPI {
	ctx := x.t.Context()
	x.apis++
	name := aws.String(fmt.Sprint("v2-", x.apis))
	in := &apigatewayv2.CreateApiInput{Name: name, ProtocolType: v2types.ProtocolType(protocol)}
	path := fmt.Sprint("/things", x.apis)
	keys := []string{"GET " + path, "OPTIONS " + path}
	integration := &apigatewayv2.CreateIntegrationInput{
		IntegrationType: v2types.IntegrationTypeHttpProxy, IntegrationMethod: aws.String("GET"),
		IntegrationUri: &x.backend, PayloadFormatVersion: aws.String("1.0"),
	}
	if protocol == "WEBSOCKET" {
		keys, in.RouteSelectionExpression = []string{"$connect", "$default"}, aws.String("$request.body.action")
		integration = &apigatewayv2.CreateIntegrationInput{IntegrationType: v2types.IntegrationTypeMock}
	}
	api := must(x.v2.CreateApi(ctx, in)).ApiId
	integration.ApiId = api
	target := aws.String("integrations/" + *must(x.v2.CreateIntegration(ctx, integration)).IntegrationId)
	for _, key := range keys {
		must(x.v2.CreateRoute(ctx, &apigatewayv2.CreateRouteInput{ApiId: api, RouteKey: &key, Target: target}))
	}
	staged := &apigatewayv2.CreateStageInput{ApiId: api, StageName: &stage, AutoDeploy: &auto}
	if !auto {
		staged.DeploymentId = must(x.v2.CreateDeployment(ctx, &apigatewayv2.CreateDeploymentInput{ApiId: api})).DeploymentId
	}
	must(x.v2.CreateStage(ctx, staged))
	address := x.endpoint + "/_aws/execute-api/" + *api
	if !auto {
		address += "/" + stage
	}
	a := &existingAPI{existing: x, id: *api, stage: stage, allowed: 200, denied: http.StatusForbidden}
	a.read = func() []any {
		return []any{
			must(x.v2.GetRoutes(ctx, &apigatewayv2.GetRoutesInput{ApiId: api})).Items,
			must(x.v2.GetAuthorizers(ctx, &apigatewayv2.GetAuthorizersInput{ApiId: api})).Items,
		}
	}
	a.ask = func(t *testing.T) int { return statusOf(t, address+path) }
	return a
}

// needsRights takes one right from the policy. Attach or detach ends early then,
// names the right, and goes on once it is there.
func (x *existing) needsRights(t *testing.T) {
	for _, right := range []string{
		"apigateway:POST", "apigateway:PUT", "apigateway:PATCH", "apigateway:DELETE",
		"dynamodb:PutItem", "dynamodb:DeleteItem",
	} {
		a := x.newREST()
		before, commands := a.snapshot(t), [][]string{{"aws", "attach", a.id, "--stage", "prod", "--yes"}, a.detach()}
		x.permit(strings.Replace(x.policy, `"`+right+`"`, `"sts:GetCallerIdentity"`, 1))
		missed := 0
		for i, command := range commands {
			printed, code := x.run(command...)
			if code == 0 {
				continue
			}
			missed++
			began := i == 0 && right != "dynamodb:PutItem"
			if !strings.Contains(printed, "AWS does not permit the call: "+right) ||
				began && !strings.Contains(printed, "slidegate: attach ended early") {
				t.Errorf("%s prints %s", command[1], printed)
			}
			x.permit(x.policy)
			if printed, code := x.run(command...); code != 0 {
				t.Errorf("%s again prints (exit %d) %s", command[1], code, printed)
			}
		}
		x.permit(x.policy)
		if got := a.snapshot(t); missed != 1 || got != before {
			t.Errorf("without %s %d commands fail; after detach (-before +after):\n%s", right, missed, cmp.Diff(before, got))
		}
	}
}
