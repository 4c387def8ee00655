package attach

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	resttypes "github.com/aws/aws-sdk-go-v2/service/apigateway/types"
	v2types "github.com/aws/aws-sdk-go-v2/service/apigatewayv2/types"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/test/golden"
)

// toProd attaches to stage prod, or detaches from it.
func toProd() Options {
	return Options{API: "a1", Stage: "prod", Limiter: Limiter{Stack: "slidegate"}, Apply: true}
}

func (c *cloud) attach(t *testing.T) (*Report, error) {
	t.Helper()
	return c.region().Attach(t.Context(), toProd())
}

func (c *cloud) detach(t *testing.T) (*Report, error) {
	t.Helper()
	return c.region().Detach(t.Context(), toProd())
}

// state returns the state in the table.
func (c *cloud) state(t *testing.T) *State {
	t.Helper()
	s, err := parse([]byte(c.kept["a1/prod"].State), "the table")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// plant has the table hold a state.
func (c *cloud) plant(t *testing.T, s *State) {
	t.Helper()
	c.kept["a1/prod"] = ruletable.Attachment{State: text(t, s), Revision: 1}
}

// TestAttach shows the changes of each kind of API in their order, what the stage
// serves then, and that detach takes all of it back.
func TestAttach(t *testing.T) {
	for _, test := range []struct {
		protocol        string
		attached, taken []string // calls
		limited         string
	}{
		{protocol: apis.RESTProtocol, attached: []string{
			"CreateAuthorizer Slidegate", "PutGatewayResponse ACCESS_DENIED", "PutGatewayResponse UNAUTHORIZED",
			"PutGatewayResponse AUTHORIZER_FAILURE", "PutGatewayResponse AUTHORIZER_CONFIGURATION_ERROR", "PutGatewayResponse DEFAULT_4XX", "PutGatewayResponse DEFAULT_5XX",
			"UpdateMethod GET", "UpdateMethod POST", "CreateDeployment", "UpdateStage prod deployment2",
		}, taken: []string{
			"UpdateMethod POST", "UpdateMethod GET", "DeleteGatewayResponse DEFAULT_5XX", "PutGatewayResponse DEFAULT_4XX",
			"DeleteGatewayResponse AUTHORIZER_CONFIGURATION_ERROR", "DeleteGatewayResponse AUTHORIZER_FAILURE", "DeleteGatewayResponse UNAUTHORIZED",
			"DeleteGatewayResponse ACCESS_DENIED", "UpdateStage prod old", "DeleteAuthorizer",
		}, limited: "GET /items, POST /items"},
		{protocol: apis.HTTP,
			attached: []string{"CreateAuthorizer Slidegate", "UpdateRoute GET /items", "UpdateRoute POST /items"},
			taken:    []string{"UpdateRoute POST /items", "UpdateRoute GET /items", "DeleteAuthorizer"}, limited: "GET /items, POST /items"},
		{protocol: apis.WebSocket,
			attached: []string{"CreateAuthorizer Slidegate", "UpdateRoute $connect", "CreateDeployment", "UpdateStage prod deployment2"},
			taken:    []string{"UpdateRoute $connect", "UpdateStage prod old", "DeleteAuthorizer"}, limited: "$connect"},
	} {
		t.Run(test.protocol, func(t *testing.T) {
			c := newCloud(test.protocol)
			before := text(t, c.live)
			report, err := c.attach(t)
			if err != nil || report.Status != Attached {
				t.Fatalf("%+v, error %v", report, err)
			}
			if diff := cmp.Diff(test.attached, c.calls); diff != "" {
				t.Errorf("calls of attach (-want +got):\n%s", diff)
			}
			c.limits(t, test.limited)
			if test.protocol == apis.RESTProtocol {
				golden.Check(t, "testdata/state.golden", text(t, c.state(t))+"\n")
			}
			if again, err := c.attach(t); err != nil || again.Status != Unchanged || len(again.Changes) > 0 {
				t.Errorf("attached again: %+v, error %v", again, err)
			}
			c.calls = nil
			if report, err = c.detach(t); err != nil || report.Status != Detached || len(report.Left) > 0 || len(report.Changes) != len(test.taken) {
				t.Fatalf("%+v, error %v", report, err)
			}
			if diff := cmp.Diff(test.taken, c.calls); diff != "" {
				t.Errorf("calls of detach (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(before, text(t, c.live)) + cmp.Diff(before, text(t, c.served())); diff != "" {
				t.Errorf("after detach (-before +after):\n%s", diff)
			}
		})
	}
}

// limits compares the methods that the limiter decides for, as the stage serves
// them.
func (c *cloud) limits(t *testing.T, want string) {
	t.Helper()
	var got []string
	d := c.served()
	for _, m := range d.Methods {
		a := d.Authorizers[m.Authorizer]
		if m.Type == apis.Custom && a.URI == functionURI && a.Type == "REQUEST" && a.TTL == 0 {
			got = append(got, m.Name)
		}
	}
	if strings.Join(got, ", ") != want {
		t.Errorf("the stage limits %q, want %s", got, want)
	}
	if c.protocol == apis.RESTProtocol && d.Responses["ACCESS_DENIED"].Status != "429" {
		t.Errorf("the stage answers denials by %+v", d.Responses["ACCESS_DENIED"])
	}
}

// TestFailures has attach end at each of its calls, before the call or after it, and
// then at each time that it saves. A second attach ends as one that nothing
// disturbed. A detach restores the API, also if it ends at each of its own calls.
func TestFailures(t *testing.T) {
	for _, protocol := range []string{apis.RESTProtocol, apis.HTTP, apis.WebSocket} {
		for _, lost := range []bool{false, true} {
			for at := 1; ; at++ {
				c, failed := ended(t, protocol, at, lost)
				if !failed {
					if at < 4 {
						t.Errorf("%s: attach makes %d calls", protocol, at-1)
					}
					break
				}
				if _, err := c.attach(t); err != nil {
					t.Fatalf("%s, ended at %d (lost %v): attach again: %v", protocol, at, lost, err)
				}
				c.limits(t, map[string]string{apis.WebSocket: "$connect"}[protocol]+map[bool]string{true: "GET /items, POST /items"}[protocol != apis.WebSocket])
				c.detached(t)
				for back := 1; ; back++ {
					c, _ := ended(t, protocol, at, lost)
					c.calls, c.failAt = nil, back
					if _, err := c.detach(t); err == nil {
						c.restored(t)
						break
					}
					c.detached(t)
				}
			}
		}
	}
}

// ended returns an API whose attach has ended at a call.
func ended(t *testing.T, protocol string, at int, lost bool) (c *cloud, failed bool) {
	t.Helper()
	c = newCloud(protocol)
	c.failAt, c.lost = at, lost
	_, err := c.attach(t)
	c.failAt = 0
	return c, err != nil
}

func (c *cloud) detached(t *testing.T) {
	t.Helper()
	c.failAt = 0
	if report, err := c.detach(t); err != nil || len(report.Left) > 0 || len(c.kept) > 0 {
		t.Fatalf("detach: %+v, %v, after %q; the table has %v", report, err, c.calls, c.kept)
	}
	c.restored(t)
}

func (c *cloud) restored(t *testing.T) {
	t.Helper()
	fresh := newCloud(c.protocol)
	if diff := cmp.Diff(text(t, fresh.live), text(t, c.live)) + cmp.Diff(text(t, fresh.served()), text(t, c.served())); diff != "" {
		t.Fatalf("after %q (-before +after):\n%s", c.calls, diff)
	}
}

// TestSaves: the state is saved before the first change, and an end at any time that
// it is saved is made good.
func TestSaves(t *testing.T) {
	for at := 1; ; at++ {
		c := newCloud(apis.RESTProtocol)
		c.putFail = at
		_, err := c.attach(t)
		if err == nil {
			if changes := len(c.calls); c.puts != 1+changes {
				t.Errorf("%d puts with %d changes", c.puts, changes)
			}
			return
		}
		if !errors.Is(err, errFull) || at == 1 && len(c.calls) > 0 {
			t.Fatalf("put %d: %v after %q", at, err, c.calls)
		}
		if at > 1 {
			c.detached(t)
		}
	}
}

// TestRefusals: what forbids attaching is an error that says why, and changes
// nothing.
func TestRefusals(t *testing.T) {
	const rest, http, socket = apis.RESTProtocol, apis.HTTP, apis.WebSocket
	none := apis.Authorization{Type: apis.None}
	for name, test := range map[string]struct {
		protocol string
		plant    func(*cloud, *Options)
		want     string
		anyway   bool // whether --anyway goes on
	}{
		"another authorizer": {protocol: rest, plant: func(c *cloud, _ *Options) {
			c.live.Authorizers["x"] = apis.Authorizer{ID: "x", Name: "Tokens"}
			c.set("POST /items", apis.Authorization{Type: "CUSTOM", Authorizer: "x"})
		}, want: "REST API shop (a1): POST /items has authorizer Tokens, and API Gateway asks one authorizer only"},
		"IAM":              {protocol: rest, plant: func(c *cloud, _ *Options) { c.set("GET /items", apis.Authorization{Type: "AWS_IAM"}) }, want: "GET /items has AWS_IAM"},
		"JWT":              {protocol: http, plant: func(c *cloud, _ *Options) { c.set("GET /items", apis.Authorization{Type: "JWT", Authorizer: "j"}) }, want: "GET /items has JWT"},
		"IAM of $connect":  {protocol: socket, plant: func(c *cloud, _ *Options) { c.set("$connect", apis.Authorization{Type: "AWS_IAM"}) }, want: "$connect has AWS_IAM"},
		"an unknown API":   {protocol: rest, plant: func(_ *cloud, o *Options) { o.API = "a2" }, want: "region eu-north-1 has no API a2"},
		"an unknown stage": {protocol: rest, plant: func(_ *cloud, o *Options) { o.Stage = "dev" }, want: "REST API shop (a1) has no stage dev: it has prod"},
		"an unknown method": {protocol: rest, plant: func(_ *cloud, o *Options) { o.Methods = []string{"PUT /items"} },
			want: "it has no method PUT /items: it has GET /items, OPTIONS /items, POST /items"},
		"OPTIONS":           {protocol: rest, plant: func(_ *cloud, o *Options) { o.Methods = []string{"OPTIONS /items"} }, want: "OPTIONS /items cannot be limited"},
		"a route of frames": {protocol: socket, plant: func(_ *cloud, o *Options) { o.Methods = []string{"$default"} }, want: "$default cannot be limited"},
		"no method":         {protocol: socket, plant: func(c *cloud, _ *Options) { c.live.Methods = c.live.Methods[1:] }, want: "it has no method to limit: it has $default"},
		"a stranger's Slidegate": {protocol: http, plant: func(c *cloud, _ *Options) {
			c.live.Authorizers["x"] = apis.Authorizer{ID: "x", Name: "Slidegate", URI: functionURI}
		}, want: "it has an authorizer Slidegate already, which invokes "},
		"another limiter": {protocol: http, plant: func(c *cloud, _ *Options) { c.asks("x", authorizerName, otherURI) },
			want: "HTTP API shop (a1): it has an authorizer Slidegate already, which invokes " + otherURI + ", and table rules has no state of it for stage prod: " +
				"first detach the other stage, or the other limiter (--limiter), or run attach where slidegate-a1.json of an earlier version is"},
		"a namesake of another account": {protocol: http, plant: func(c *cloud, _ *Options) { c.asks("x", "Tokens", otherURI) }, want: "GET /items has authorizer Tokens"},
		"no stack":                      {protocol: http, plant: func(c *cloud, _ *Options) { c.function = noStack }, want: "stack slidegate does not exist, or create it: slidegate aws deploy --rules rules.yaml"},
		"no stack of another name": {protocol: http, plant: func(c *cloud, o *Options) { c.function, o.Limiter.Stack = noStack, "shop" },
			want: "stack shop does not exist, or create it: slidegate aws deploy --stack shop --rules rules.yaml"},
		"a canary":               {protocol: rest, plant: func(c *cloud, _ *Options) { c.stages[0].Canary = true }, want: "stage prod has a canary"},
		"a stage without deploy": {protocol: socket, plant: func(c *cloud, _ *Options) { c.stages[0].Deployment = "" }, want: "stage prod has no deployment"},
		"no permission":          {protocol: rest, plant: func(c *cloud, _ *Options) { c.policy = "" }, want: "aws lambda add-permission --function-name authorize --statement-id slidegate-a1 --action lambda:InvokeFunction --principal apigateway.amazonaws.com --source-arn 'arn:aws:execute-api:eu-north-1:123456789012:a1/authorizers/*'"},
		"permission for another API": {protocol: rest, plant: func(c *cloud, _ *Options) { c.policy = strings.Replace(c.policy, ":*/", ":b2/", 1) },
			want: "API Gateway may not call the function for it"},
		"no function":   {protocol: rest, plant: func(c *cloud, _ *Options) { c.function = "" }, want: "no output that names the limiter's function"},
		"a right lacks": {protocol: rest, plant: func(c *cloud, _ *Options) { c.refuse = "GetResources" }, want: "AWS does not permit the call"},
		"CloudFormation": {protocol: rest, plant: func(c *cloud, _ *Options) { c.tags = map[string]string{stackTag: "shop-api"} },
			want: "stack shop-api of CloudFormation manages it", anyway: true},
		"CloudFormation, HTTP": {protocol: http, plant: func(c *cloud, _ *Options) { c.tags = map[string]string{stackTag: "shop-api"} },
			want: "stack shop-api of CloudFormation manages it", anyway: true},
		"a method that is not deployed": {protocol: rest, plant: func(c *cloud, _ *Options) {
			c.live.Methods = append(c.live.Methods, apis.Method{Name: "GET /new", ID: "r3", Authorization: none})
		}, want: "it was changed and not deployed to stage prod, and a deployment would publish that: GET /new", anyway: true},
		"a deleted method that is not deployed": {protocol: rest, plant: func(c *cloud, _ *Options) { c.live.Methods = c.live.Methods[:2] }, want: "would publish that: POST /items", anyway: true},
		"a response that is not deployed":       {protocol: rest, plant: func(c *cloud, _ *Options) { delete(c.live.Responses, "DEFAULT_4XX") }, want: "would publish that: gateway response DEFAULT_4XX", anyway: true},
		"a backend that is not deployed":        {protocol: rest, plant: func(c *cloud, _ *Options) { c.live.Methods[0].Integration = "http https://new.example" }, want: "would publish that: GET /items", anyway: true},
		"a route that is not deployed": {protocol: http, plant: func(c *cloud, _ *Options) {
			c.stages[0].AutoDeploy = false
			c.live.Methods = c.live.Methods[:2]
		}, want: "would publish that: paths", anyway: true},
		"an export that is not permitted": {protocol: rest, plant: func(c *cloud, _ *Options) { c.refuse = "GetExport" }, want: "it cannot be compared with what stage prod serves", anyway: true},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(test.protocol)
			o := toProd()
			test.plant(c, &o)
			_, err := c.region().Attach(t.Context(), o)
			if err == nil || !strings.Contains(err.Error(), test.want) || len(c.calls)+len(c.kept) > 0 {
				t.Fatalf("error %v, want %s; calls %q", err, test.want, c.calls)
			}
			o.Anyway = true
			report, err := c.region().Attach(t.Context(), o)
			if (err == nil) != test.anyway {
				t.Fatalf("anyway: %v", err)
			}
			if test.anyway && !strings.Contains(strings.Join(report.Notes, "\n"), test.want) {
				t.Errorf("notes %q", report.Notes)
			}
		})
	}
}

// TestPlan: without a place to save to, nothing changes.
func TestPlan(t *testing.T) {
	c := newCloud(apis.HTTP)
	c.live.Methods[0].Name = "ANY /items"
	c.live.Methods[1].Name = "GET /"
	c.stages = append(c.stages, apis.Stage{Name: "dev", AutoDeploy: true})
	report, err := c.region().Attach(t.Context(), Options{API: "a1", Stage: "prod", Limiter: Limiter{"shop", "Limits"}, Methods: []string{"ANY /items"}})
	if err != nil || len(c.calls) > 0 {
		t.Fatalf("error %v, calls %q", err, c.calls)
	}
	want := &Report{
		Status: Planned, Protocol: "HTTP", API: "a1", Name: "shop", Stage: "prod", Region: testRegion, Limiter: "stack://shop/Limits", Table: "rules",
		Changes: []Change{{Does: "add", What: "authorizer Slidegate"}, {Does: "limit", What: "ANY /items"}}, Left: []string{},
		Notes: []string{
			"stage dev deploys by itself, so it is limited too",
			"if Terraform or another tool manages the API, its next run takes this away: write it there too: https://github.com/slidegate/slidegate/blob/main/docs/deploy.md#put-an-api-behind-it",
			"ANY /items receives the preflights of browsers, which carry no credentials, and limits them too: a method OPTIONS stays open",
		},
	}
	if diff := cmp.Diff(want, report); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAlready: methods that ask the limiter are no others', and no change.
func TestAlready(t *testing.T) {
	c := newCloud(apis.HTTP)
	c.asks("x", "Limits", functionURI)
	if report, err := c.attach(t); err != nil || report.Status != Unchanged || len(c.kept) > 0 {
		t.Errorf("%+v, error %v", report, err)
	}
}

// TestSecondStage: an attach to one stage has the methods ask the limiter, but
// another stage may serve an earlier deployment. Then attach does not say that there
// is nothing to do.
func TestSecondStage(t *testing.T) {
	for protocol, want := range map[string]string{
		apis.RESTProtocol: "but stage dev serves other values of GET /items, POST /items, gateway response ACCESS_DENIED, gateway response AUTHORIZER_CONFIGURATION_ERROR, gateway response AUTHORIZER_FAILURE, gateway response DEFAULT_4XX, gateway response DEFAULT_5XX, gateway response UNAUTHORIZED: deploy the API to it",
		apis.HTTP:         "but stage dev serves other values of paths: deploy the API to it",
		apis.WebSocket:    "and nothing shows whether stage dev serves that: deploy the API to it; --anyway goes on",
	} {
		c := newCloud(protocol)
		c.stages[0].AutoDeploy = false
		if _, err := c.attach(t); err != nil {
			t.Fatal(err)
		}
		served := c.stages[0].Deployment
		c.stages[0].Name, c.stages[0].Deployment = "dev", "old" // the stage that the fakes export
		c.calls = nil
		o := toProd()
		o.Stage, o.Anyway = "dev", protocol != apis.WebSocket
		if report, err := c.region().Attach(t.Context(), o); err == nil || !strings.HasSuffix(err.Error(), ": its methods ask the limiter already, "+want) {
			t.Errorf("%s: %+v, error %v, want %s", protocol, report, err, want)
		}
		c.stages[0].Deployment, o.Anyway = served, protocol == apis.WebSocket
		report, err := c.region().Attach(t.Context(), o)
		if err != nil || report.Status != Unchanged || len(c.kept) != 1 || len(c.calls) > 0 || (len(report.Notes) > 0) != (protocol == apis.WebSocket) {
			t.Errorf("%s, deployed: %+v, error %v; calls %q", protocol, report, err, c.calls)
		}
	}
}

// TestAddedSince: a second attach names what nothing limits.
func TestAddedSince(t *testing.T) {
	c := newCloud(apis.HTTP)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	c.live.Methods = append(c.live.Methods, apis.Method{Name: "GET /new", ID: "r9", Authorization: apis.Authorization{Type: apis.None}})
	report, err := c.attach(t)
	if err != nil || report.Status != Unchanged || len(report.Notes) != 1 || !strings.Contains(report.Notes[0], "nothing limits GET /new,") {
		t.Errorf("%+v, error %v", report, err)
	}
}

// TestChangedSince: detach leaves what somebody has changed, and names it.
func TestChangedSince(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cloud)
		left   []string
		calls  string // of detach, its end
		served string // a method that the stage must serve then
	}{
		"a method":                  {change: func(c *cloud) { c.set("GET /items", apis.Authorization{Type: "AWS_IAM"}) }, left: []string{"GET /items"}, calls: "UpdateStage prod old, DeleteAuthorizer"},
		"a method that is gone":     {change: func(c *cloud) { c.live.Methods = c.live.Methods[1:] }, left: []string{"GET /items"}, calls: "UpdateStage prod old, DeleteAuthorizer"},
		"a method restored by hand": {change: func(c *cloud) { c.set("GET /items", apis.Authorization{Type: "NONE"}) }, calls: "UpdateStage prod old, DeleteAuthorizer"},
		"a gateway response": {change: func(c *cloud) { c.live.Responses["ACCESS_DENIED"] = apis.Response{Own: true, Status: "418"} },
			left: []string{"gateway response ACCESS_DENIED"}, calls: "UpdateStage prod old, DeleteAuthorizer"},
		"a deployment": {change: func(c *cloud) {
			c.live.Methods = append(c.live.Methods, apis.Method{Name: "GET /new", ID: "r3", Authorization: apis.Authorization{Type: apis.None}})
			c.deployments["theirs"], c.stages[0].Deployment = c.live.clone(), "theirs"
		}, calls: "CreateDeployment, UpdateStage prod deployment3, DeleteAuthorizer", served: "GET /new"},
		"the old deployment is deleted": {change: func(c *cloud) { delete(c.deployments, "old") }, calls: "CreateDeployment, UpdateStage prod deployment3, DeleteAuthorizer"},
		"the stage is gone":             {change: func(c *cloud) { c.stages[0].Name = "new" }, left: []string{"stage prod"}, calls: "DeleteGatewayResponse ACCESS_DENIED, DeleteAuthorizer"},
		"another method asks it": {change: func(c *cloud) {
			c.live.Methods = append(c.live.Methods, apis.Method{Name: "GET /new", ID: "r3", Authorization: apis.Authorization{Type: apis.Custom, Authorizer: "auth1"}})
		}, left: []string{"authorizer Slidegate, which GET /new asks"}, calls: "DeleteGatewayResponse ACCESS_DENIED, UpdateStage prod old"},
		"the authorizer": {change: func(c *cloud) {
			a := c.live.Authorizers["auth1"]
			a.TTL = 60
			c.live.Authorizers["auth1"] = a
		}, left: []string{"authorizer Slidegate"}, calls: "DeleteGatewayResponse ACCESS_DENIED, UpdateStage prod old"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(apis.RESTProtocol)
			if _, err := c.attach(t); err != nil {
				t.Fatal(err)
			}
			test.change(c)
			c.calls = nil
			changed := text(t, c.live)
			o := toProd()
			o.Apply = false
			plan, err := c.region().Detach(t.Context(), o)
			if err != nil || plan.Status != Planned || text(t, c.live) != changed {
				t.Fatalf("plan %+v, error %v", plan, err)
			}
			if deploys := slices.Contains(plan.Changes, Change{Does: "deploy", What: "stage prod"}); deploys != (test.served != "") {
				t.Errorf("plan %+v", plan.Changes)
			}
			report, err := c.detach(t)
			if err != nil || !slices.Equal(report.Left, test.left) && len(report.Left)+len(test.left) > 0 || !slices.Equal(report.Left, plan.Left) {
				t.Fatalf("left %q, want %q, error %v", report.Left, test.left, err)
			}
			if got := strings.Join(c.calls, ", "); !strings.HasSuffix(got, test.calls) {
				t.Errorf("calls %s, want …%s", got, test.calls)
			}
			if test.served != "" && !slices.ContainsFunc(c.served().Methods, func(m apis.Method) bool { return m.Name == test.served }) {
				t.Errorf("the stage serves no %s", test.served)
			}
			if len(test.left) == 0 {
				return
			}
			again, err := c.detach(t)
			if err != nil || !slices.Equal(again.Left, report.Left) || len(again.Changes) > 0 {
				t.Errorf("detached again: %+v, error %v", again, err)
			}
		})
	}
}

// TestResume: what others have changed since attach began is not overwritten, and a
// state has no other values to set than a new attach has.
func TestResume(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*cloud, *State, *Options)
		want   string
	}{
		"other methods": {func(_ *cloud, _ *State, o *Options) { o.Methods = []string{"GET /items"} }, "table rules says which methods to limit"},
		"a method that others took": {func(c *cloud, _ *State, _ *Options) { c.set("POST /items", apis.Authorization{Type: "AWS_IAM"}) },
			"somebody has changed since attach began: POST /items: detach, then attach again: slidegate aws detach a1 --stage prod"},
		"a deployment by others": {func(c *cloud, _ *State, _ *Options) {
			c.deployments["theirs"], c.stages[0].Deployment = c.live.clone(), "theirs"
		}, "somebody has changed since attach began: stage prod"},
		"a change that others did not deploy": {func(c *cloud, _ *State, _ *Options) { c.live.Methods[1].Integration = "mock" }, "would publish that: OPTIONS /items"},
		"another gateway response": {func(c *cloud, s *State, _ *Options) {
			c.live.Responses = map[string]apis.Response{}
			s.Responses = []Response{{Type: "DEFAULT_4XX", After: &apis.Response{Status: "200"}}}
		}, "the state would set gateway response DEFAULT_4XX to another value than attach does"},
	} {
		t.Run(name, func(t *testing.T) {
			c, _ := ended(t, apis.RESTProtocol, 7, false) // the second method
			s, o := c.state(t), toProd()
			test.change(c, s, &o)
			c.plant(t, s)
			c.calls = nil
			if _, err := c.region().Attach(t.Context(), o); err == nil || !strings.Contains(err.Error(), test.want) || len(c.calls) > 0 {
				t.Errorf("error %v, want %s; calls %q", err, test.want, c.calls)
			}
		})
	}
}

// TestOptionalResponses: what the gateway answers by itself gets problem details, unless
// the API states it, or has a body of its own for the family, of any type. Detach restores both.
func TestOptionalResponses(t *testing.T) {
	const throttled, quota, failure, config = "THROTTLED", "QUOTA_EXCEEDED", "AUTHORIZER_FAILURE", "AUTHORIZER_CONFIGURATION_ERROR"
	own := apis.Response{Own: true, Parameters: map[string]string{apigw.ResponseField + "X": "'1'"}}
	body := apis.Response{Own: true, Templates: map[string]string{"application/json": `{"error":1}`}}
	page := apis.Response{Own: true, Templates: map[string]string{"text/html": "<p>Wait.</p>"}}
	plain := apis.Response{Own: true, Templates: map[string]string{"application/json": apis.OwnBody}}
	for name, test := range map[string]struct {
		own  map[string]apis.Response
		want []string
	}{
		"nothing of its own":          {nil, []string{throttled, quota, failure, config}},
		"defaults without a body":     {map[string]apis.Response{"DEFAULT_4XX": own, "DEFAULT_5XX": plain}, []string{throttled, quota, failure, config}},
		"a body for the family 4XX":   {map[string]apis.Response{"DEFAULT_4XX": body}, []string{failure, config}},
		"a body for the family 5XX":   {map[string]apis.Response{"DEFAULT_5XX": body}, []string{throttled, quota}},
		"a page for the family 4XX":   {map[string]apis.Response{"DEFAULT_4XX": page}, []string{failure, config}},
		"two types":                   {map[string]apis.Response{throttled: own, config: body}, []string{quota, failure}},
		"a body for another 4XX":      {map[string]apis.Response{"INVALID_API_KEY": body}, []string{throttled, quota, failure, config}},
		"a body for both, and a type": {map[string]apis.Response{"DEFAULT_4XX": body, "DEFAULT_5XX": body, failure: own}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCloud(apis.RESTProtocol)
			c.live.Responses = maps.Clone(test.own)
			if c.live.Responses == nil {
				c.live.Responses = map[string]apis.Response{}
			}
			c.deployments["old"] = c.live.clone()
			before := text(t, c.live)
			if _, err := c.attach(t); err != nil {
				t.Fatal(err)
			}
			var set []string
			for _, call := range c.calls {
				kind, ok := strings.CutPrefix(call, "PutGatewayResponse ")
				if ok && slices.Contains([]string{throttled, quota, failure, config}, kind) {
					set = append(set, kind)
				}
			}
			if !slices.Equal(set, test.want) {
				t.Errorf("attach sets %q, want %q", set, test.want)
			}
			if slices.Contains(set, throttled) && (c.served().Responses[throttled].Parameters[apigw.ResponseField+"Retry-After"] != "'1'" ||
				c.served().Responses[quota].Parameters[apigw.ResponseField+"Retry-After"] != "") {
				t.Errorf("the stage answers by %+v", c.served().Responses)
			}
			if _, err := c.detach(t); err != nil || text(t, c.live) != before || text(t, c.served()) != before {
				t.Errorf("after detach: %s, error %v", cmp.Diff(before, text(t, c.live)), err)
			}
		})
	}
}

// TestEarlierAttach: an attach by a version with fewer responses stays as it is, and
// the report says what it did not set.
func TestEarlierAttach(t *testing.T) {
	c := newCloud(apis.RESTProtocol)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	s := c.state(t)
	s.Responses = slices.DeleteFunc(s.Responses, func(r Response) bool { return r.Type == "AUTHORIZER_FAILURE" })
	c.plant(t, s)
	delete(c.live.Responses, "AUTHORIZER_FAILURE")
	c.deployments[c.stages[0].Deployment] = c.live.clone()
	report, err := c.attach(t)
	if err != nil || report.Status != Unchanged || len(report.Notes) != 1 ||
		report.Notes[0] != "the earlier attach did not set the gateway responses AUTHORIZER_FAILURE: slidegate aws doctor prints the command that sets each" {
		t.Errorf("%+v, error %v", report, err)
	}
}

// TestPlantedDeployment: attach serves no deployment because a state names it.
func TestPlantedDeployment(t *testing.T) {
	c, _ := ended(t, apis.RESTProtocol, 7, false)
	c.deployments["open"] = c.live.clone()
	s := c.state(t)
	s.Deployment.After = "open"
	c.plant(t, s)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	c.limits(t, "GET /items, POST /items")
}

// TestHTTPByHand: the stage of an HTTP API that does not deploy by itself gets a
// deployment, and its old one back.
func TestHTTPByHand(t *testing.T) {
	c := newCloud(apis.HTTP)
	c.stages[0].AutoDeploy = false
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	c.limits(t, "GET /items, POST /items")
	if _, err := c.detach(t); err != nil || c.stages[0].Deployment != "old" {
		t.Errorf("the stage serves %s, error %v", c.stages[0].Deployment, err)
	}
}

// TestRetries: API Gateway throttles many changes, and refuses those that meet.
func TestRetries(t *testing.T) {
	r := retryer()
	for err, want := range map[error]bool{
		&resttypes.ConflictException{}: true, &v2types.ConflictException{}: true, &resttypes.TooManyRequestsException{}: true, &v2types.TooManyRequestsException{}: true,
		&resttypes.BadRequestException{}: false,
	} {
		if r.IsErrorRetryable(err) != want || r.MaxAttempts() != 10 {
			t.Errorf("%v is repeated: %v, up to %d times", err, !want, r.MaxAttempts())
		}
	}
}

// TestMerge: a gateway response keeps the API's own values and its body, and gets
// the limiter's.
func TestMerge(t *testing.T) {
	c := newCloud(apis.RESTProtocol)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	const field = "gatewayresponse.header."
	denied, other := c.live.Responses["ACCESS_DENIED"], c.live.Responses["DEFAULT_4XX"]
	for _, r := range []apis.Response{denied, other} {
		if r.Parameters[field+"access-control-allow-origin"] != "'https://shop.example'" || r.Parameters[field+"Access-Control-Allow-Origin"] != "" || r.Parameters[field+"Access-Control-Expose-Headers"] == "" {
			t.Errorf("fields %q", r.Parameters)
		}
	}
	if denied.Parameters[field+"Retry-After"] != "context.authorizer.retryAfter" || !strings.Contains(denied.Templates["application/json"], "problemTitle") {
		t.Errorf("ACCESS_DENIED is %+v", denied)
	}
	if other.Status != "" || other.Templates["application/json"] != `{"error":1}` {
		t.Errorf("DEFAULT_4XX is %+v", other)
	}
	if got := c.live.Responses["DEFAULT_5XX"].Templates["application/json"]; got != apis.OwnBody {
		t.Errorf("DEFAULT_5XX has the body %s", got)
	}
}
