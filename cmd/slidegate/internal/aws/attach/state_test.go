package attach

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

const (
	otherARN = "arn:aws:lambda:eu-north-1:999999999999:function:authorize"
	otherURI = "arn:aws:apigateway:eu-north-1:lambda:path/2015-03-31/functions/" + otherARN + "/invocations"
)

// planted are states that are not of the limiter, the API and the stage. plant
// changes the state of an attach that has ended before its first method, and the
// API.
var planted = map[string]struct {
	plant func(*cloud, *State)
	want  string
}{
	"another account's function": {func(_ *cloud, s *State) { s.Authorizer.ID, s.Authorizer.URI = "", otherURI },
		"its authorizer.uri is " + otherURI + ", and of this limiter and API it is " + functionURI},
	"another function": {func(_ *cloud, s *State) {
		s.Authorizer.URI = strings.Replace(functionURI, ":authorize/", ":authorize-2/", 1)
	}, "its authorizer.uri is "},
	"somebody's authorizer": {func(c *cloud, s *State) {
		c.live.Authorizers["x"] = apis.Authorizer{ID: "x", Name: "Tokens", URI: otherURI}
		c.set("GET /items", apis.Authorization{Type: "CUSTOM", Authorizer: "x"})
		s.Authorizer.ID = "x"
	}, "its authorizer.id is x, which invokes " + otherURI + ", and of this limiter and API it is one that invokes " + functionURI},
	"another name":       {func(_ *cloud, s *State) { s.Authorizer.Name = "Tokens" }, "its authorizer.name is Tokens, and of this limiter and API it is Slidegate"},
	"a token authorizer": {func(_ *cloud, s *State) { s.Authorizer.Type = "TOKEN" }, "its authorizer.type is TOKEN"},
	"kept results":       {func(_ *cloud, s *State) { s.Authorizer.TTL = 3600 }, "its authorizer.ttl is 3600, and of this limiter and API it is 0"},
	"a method that was not open": {func(_ *cloud, s *State) { s.Methods[0].Before = apis.Authorization{Type: "CUSTOM", Authorizer: "x"} },
		"its methods.GET /items.before is CUSTOM x, and of this limiter and API it is NONE"},
	"another API":      {func(_ *cloud, s *State) { s.API = "b2" }, "its api is b2, and of this limiter and API it is a1"},
	"another stage":    {func(_ *cloud, s *State) { s.Stage = "dev" }, "its stage is dev"},
	"another region":   {func(_ *cloud, s *State) { s.Region = "us-east-1" }, "its region is us-east-1, and of this limiter and API it is eu-north-1"},
	"another protocol": {func(_ *cloud, s *State) { s.Protocol = "HTTP" }, "its protocol is HTTP"},
	"another form": {func(_ *cloud, s *State) { s.Form = 2 },
		"it is no state of `slidegate aws attach`: it was written by another version of slidegate (form 2; this one reads 1)"},
	"a response that attach does not set": {func(_ *cloud, s *State) { s.Responses[0].Type = "WAF_FILTERED" },
		"its gateway_responses is WAF_FILTERED, and of this limiter and API it is one that attach sets"},
	"a response without a value": {func(_ *cloud, s *State) { s.Responses[0].After = nil }, "its gateway_responses is ACCESS_DENIED"},
	"no method":                  {func(_ *cloud, s *State) { s.Methods = nil }, "it names no method"},
}

// TestPlanted: neither a planted item nor a planted file changes anything, and the
// error names the field and the way out.
func TestPlanted(t *testing.T) {
	for name, test := range planted {
		for _, from := range []string{"item", "file"} {
			t.Run(name+"/"+from, func(t *testing.T) {
				c, _ := ended(t, apis.RESTProtocol, 6, false)
				s, o := c.state(t), toProd()
				test.plant(c, s)
				where, advice := "table rules, item attached a1/prod: ", "slidegate aws detach a1 --stage prod --forget --yes deletes the item"
				c.plant(t, s)
				if from == "file" {
					clear(c.kept)
					stateFile(t, text(t, s))
					where, advice = fileName+": ", ""
				}
				c.calls, c.puts = nil, 0
				before := text(t, c.live)
				for command, do := range c.commands() {
					_, err := do(t.Context(), o)
					if err == nil || !strings.HasPrefix(err.Error(), where) || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), advice) {
						t.Errorf("%s: error %v, want %s%s … %s", command, err, where, test.want, advice)
					}
				}
				if c.puts > 0 || len(c.calls) > 0 || text(t, c.live) != before {
					t.Errorf("%d puts, calls %q", c.puts, c.calls)
				}
			})
		}
	}
}

// TestDamaged: an item that is no state is an error, and --forget ends it.
func TestDamaged(t *testing.T) {
	for _, state := range []string{"", "null", "[]", "gone", `{"form": 1, "methods": 7}`} {
		c := newCloud(apis.HTTP)
		c.kept["a1/prod"] = ruletable.Attachment{State: state}
		for command, do := range c.commands() {
			_, err := do(t.Context(), toProd())
			if err == nil || !strings.HasPrefix(err.Error(), "table rules, item attached a1/prod: it is no state of `slidegate aws attach`: ") || !strings.HasSuffix(err.Error(),
				"; slidegate aws detach a1 --stage prod --forget --yes deletes the item, and leaves the API as it is") {
				t.Errorf("%s with %q: error %v", command, state, err)
			}
		}
		if report := c.forgets(t); report.Status != Forgotten || len(c.kept)+len(c.calls) > 0 {
			t.Errorf("%+v; the table has %v, calls %q", report, c.kept, c.calls)
		}
		if _, err := c.attach(t); err != nil {
			t.Error(err)
		}
	}
}

// forgets deletes the state, after a plan that does not.
func (c *cloud) forgets(t *testing.T) *Report {
	t.Helper()
	o := toProd()
	o.Forget, o.Apply = true, false
	plan, err := c.region().Detach(t.Context(), o)
	if err != nil || plan.Status != Planned || len(c.kept) != 1 {
		t.Fatalf("%+v, error %v; the table has %v", plan, err, c.kept)
	}
	o.Apply = true
	report, err := c.region().Detach(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	want := "table rules keeps nothing of API a1, stage prod: check the id, --stage and --limiter, or run it where slidegate-a1.json of an earlier version is"
	for _, o.Forget = range []bool{true, false} {
		if _, err := c.region().Detach(t.Context(), o); err == nil || err.Error() != want {
			t.Errorf("detach again, forget %v: error %v", o.Forget, err)
		}
	}
	return report
}

// TestGoneAPI: the state of an API that is gone can be deleted.
func TestGoneAPI(t *testing.T) {
	c := newCloud(apis.HTTP)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	c.protocol = apis.RESTProtocol // the fakes for HTTP APIs have none then
	c.kept["a2/prod"] = c.kept["a1/prod"]
	o := toProd()
	o.API = "a2"
	if _, err := c.region().Detach(t.Context(), o); err == nil || !strings.HasSuffix(err.Error(), "; slidegate aws detach a2 --stage prod --forget --yes deletes the item, and leaves the API as it is") {
		t.Errorf("error %v", err)
	}
}

// TestStrangersMethod: detach leaves a method that another authorizer guards by now,
// names it, and says what the others are restored to, in the plan too.
func TestStrangersMethod(t *testing.T) {
	c := newCloud(apis.HTTP)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	guarded := apis.Authorization{Type: "CUSTOM", Authorizer: "x"}
	c.live.Authorizers["x"] = apis.Authorizer{ID: "x", Name: "Tokens", Type: "REQUEST", URI: otherURI}
	c.set("POST /items", guarded)
	want := []Change{{"restore", "GET /items", "authorization NONE, as before"}, {"remove", "authorizer Slidegate", ""}}
	for _, apply := range []bool{false, true} {
		o := toProd()
		o.Apply = apply
		report, err := c.region().Detach(t.Context(), o)
		if err != nil || !cmp.Equal(report.Changes, want) || !cmp.Equal(report.Left, []string{"POST /items"}) {
			t.Errorf("%+v, error %v", report, err)
		}
	}
	if got := c.live.Methods[2]; !cmp.Equal(got.Authorization, guarded) || len(c.live.Authorizers) != 1 {
		t.Errorf("%s has %+v", got.Name, got.Authorization)
	}
	if _, err := c.attach(t); err == nil || !strings.Contains(err.Error(), "slidegate aws detach a1 --stage prod") {
		t.Errorf("attached again: %v", err)
	}
	c.forgets(t)
}

// TestRestoredResponse: the plan of detach shows what no call can verify: the
// gateway response that detach restores.
func TestRestoredResponse(t *testing.T) {
	c := newCloud(apis.RESTProtocol)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	s := c.state(t)
	s.Responses[0].Before = &apis.Response{Status: "200", Templates: map[string]string{"text/plain": "planted"}}
	c.plant(t, s)
	o := toProd()
	o.Apply = false
	report, err := c.region().Detach(t.Context(), o)
	want := Change{"restore", "gateway response ACCESS_DENIED", `{"status":"200","templates":{"text/plain":"planted"}}`}
	if err != nil || !slices.Contains(report.Changes, want) || len(report.Notes) > 0 {
		t.Errorf("%+v, error %v", report, err)
	}
	c.deployments["theirs"], c.stages[0].Deployment = c.live.clone(), "theirs"
	report, err = c.region().Detach(t.Context(), o)
	note := "the new deployment of stage prod publishes the API as it is, with changes that nobody has deployed yet"
	if err != nil || !slices.Contains(report.Notes, note) {
		t.Errorf("%+v, error %v", report, err)
	}
}

// TestSwitchedAutoDeploy: a stage whose AutoDeploy somebody has switched since
// attach serves the API as it was, too. API Gateway itself sets the deployment of a
// stage with AutoDeploy, and refuses another.
func TestSwitchedAutoDeploy(t *testing.T) {
	for _, auto := range []bool{true, false} {
		c := newCloud(apis.HTTP)
		c.stages[0].AutoDeploy = auto
		c.deployments["old"] = c.live.clone()
		if _, err := c.attach(t); err != nil {
			t.Fatal(err)
		}
		if c.stages[0].AutoDeploy = !auto; auto { // it keeps its last deployment
			c.deployments["last"], c.stages[0].Deployment = c.live.clone(), "last"
		}
		report, err := c.detach(t)
		if diff := cmp.Diff(newCloud(apis.HTTP).live.Methods, c.served().Methods); err != nil || len(report.Left)+len(c.kept) > 0 || diff != "" {
			t.Errorf("AutoDeploy was %v: %+v, error %v (-before +after):\n%s", auto, report, err, diff)
		}
	}
}

// TestAtOnce has a second attach begin before each call and each put of a first
// one. Exactly one of them ends with an error. API Gateway itself refuses a second
// authorizer with the same name.
func TestAtOnce(t *testing.T) {
	for at := 0; ; at++ {
		c := newCloud(apis.RESTProtocol)
		var second error
		var other *Report
		begun := false
		c.during = func(step int) {
			if step == at {
				c.during, begun = nil, true
				other, second = c.attach(t)
			}
		}
		_, first := c.attach(t)
		if !begun || second == nil && other.Status == Unchanged { // the first one has made its last change
			return
		}
		c.during = nil
		refusals := []string{"another attach or detach of API a1, stage prod is under way: repeat the command once that has ended", "Authorizer name must be unique"}
		if first != nil && second != nil || !slices.ContainsFunc(refusals, func(s string) bool { return strings.Contains(fmt.Sprint(first, second), s) }) {
			t.Fatalf("at %d: %v, %v", at, first, second)
		}
		c.limits(t, "GET /items, POST /items")
		report, err := c.detach(t)
		if diff := cmp.Diff(text(t, newCloud(c.protocol).live), text(t, c.live)); err != nil || len(report.Left) > 0 || diff != "" {
			t.Fatalf("at %d: detach: %+v, error %v (-before +after):\n%s", at, report, err, diff)
		}
	}
}

// TestClaim: detach writes to the table before its first change, so of two commands
// at once one changes nothing.
func TestClaim(t *testing.T) {
	c := newCloud(apis.HTTP)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	c.calls, c.putFail = nil, c.puts+1
	if _, err := c.detach(t); !errors.Is(err, errFull) || len(c.calls) > 0 {
		t.Errorf("error %v after %q", err, c.calls)
	}
	c.detached(t)
}

// TestMoves: the file of an earlier version moves into the table once, before the
// first change.
func TestMoves(t *testing.T) {
	for _, at := range []int{0, 6} { // complete, or ended at a method
		c, _ := ended(t, apis.RESTProtocol, at, false)
		o := toProd()
		stateFile(t, text(t, c.state(t)))
		clear(c.kept)
		plan := o
		plan.Apply = false
		for command, do := range c.commands() {
			if report, err := do(t.Context(), plan); err != nil || len(c.kept) > 0 || !strings.Contains(strings.Join(report.Notes, "\n"), "the state moves from "+fileName+" to table rules, and the file is removed") {
				t.Errorf("%s: %+v, error %v; the table has %v", command, report, err, c.kept)
			}
		}
		if _, err := c.region().Attach(t.Context(), o); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(fileName); !errors.Is(err, fs.ErrNotExist) || len(c.kept) != 1 {
			t.Errorf("the file is there: %v; the table has %v", err, c.kept)
		}
		if _, err := c.region().Attach(t.Context(), o); err != nil { // the file is no more
			t.Error(err)
		}
		c.detached(t)
	}
}

// TestFileAndItem: a file that differs from the item is refused, and another goes
// with the next change.
func TestFileAndItem(t *testing.T) {
	c := newCloud(apis.HTTP)
	if _, err := c.attach(t); err != nil {
		t.Fatal(err)
	}
	s, o := c.state(t), toProd()
	same := text(t, s)
	s.Methods[0].Done = false
	stateFile(t, text(t, s))
	want := fileName + " and table rules, item attached a1/prod differ: delete the file to go on by the table; or, if the file is right, " +
		"first delete what the table has: slidegate aws detach a1 --stage prod --forget --yes"
	for command, do := range c.commands() {
		if _, err := do(t.Context(), o); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %s", command, err, want)
		}
	}
	stateFile(t, same)
	if _, err := c.region().Detach(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	c.restored(t)
	if _, err := os.Stat(fileName); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the file is there: %v", err)
	}
	stateFile(t, "{")
	for command, do := range c.commands() {
		if _, err := do(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), fileName+": it is no state of `slidegate aws attach`") {
			t.Errorf("%s: error %v", command, err)
		}
	}
}

// TestNoStateFile: only a regular file is the state of an earlier version. To read
// another hangs, or fails.
func TestNoStateFile(t *testing.T) {
	for _, create := range []func(string, uint32) error{syscall.Mkfifo, syscall.Mkdir} {
		t.Chdir(t.TempDir())
		if err := create(fileName, 0o600); err != nil {
			t.Fatal(err)
		}
		c, o := newCloud(apis.HTTP), toProd()
		for _, do := range []func(context.Context, Options) (*Report, error){c.region().Attach, c.region().Attach, c.region().Detach} {
			if _, err := do(t.Context(), o); err != nil {
				t.Error(err)
			}
		}
		c.restored(t)
	}
}

// TestFileStays: a file that cannot be removed is to be deleted by hand.
func TestFileStays(t *testing.T) {
	c, _ := ended(t, apis.RESTProtocol, 6, false)
	o := toProd()
	stateFile(t, text(t, c.state(t)))
	clear(c.kept)
	c.calls, c.during = nil, func(int) { // a directory with a file cannot be removed, whoever runs the test
		if err := errors.Join(os.Remove(fileName), os.MkdirAll(filepath.Join(fileName, "full"), 0o700)); err != nil {
			t.Fatal(err)
		}
	}
	want := "the state is in table rules now: delete the file " + fileName + ", and repeat the command: "
	if _, err := c.region().Attach(t.Context(), o); err == nil || !strings.HasPrefix(err.Error(), want) || len(c.calls) > 0 || len(c.kept) != 1 {
		t.Errorf("error %v, want %s…; calls %q; the table has %v", err, want, c.calls, c.kept)
	}
}

// fileName is that of the state of an earlier version.
const fileName = "slidegate-a1.json"

// stateFile has the command run in a directory with a file of an earlier version.
func stateFile(t *testing.T, content string) {
	t.Helper()
	t.Chdir(t.TempDir())
	if err := os.WriteFile(fileName, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestInvokedBy: versions and aliases are the function's, other functions are not.
func TestInvokedBy(t *testing.T) {
	l := limiter{uri: functionURI}
	for uri, want := range map[string]bool{
		functionURI: true,
		strings.Replace(functionURI, ":authorize/", ":authorize:live/", 1):       true,
		strings.Replace(functionURI, ":authorize/", ":authorize-2/", 1):          false,
		strings.Replace(functionURI, "lambda:eu-north-1", "lambda:eu-west-1", 1): false,
		otherURI: false,
		"":       false,
	} {
		if l.invokedBy(uri) != want {
			t.Errorf("%q: want %v", uri, want)
		}
	}
}
