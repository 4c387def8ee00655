package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/lambda/apigw"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// State is the record of one attach in the rules table: the earlier values of the
// fields that attach changes, and the ids of the resources that it adds. With it, a
// second attach resumes where the first one stopped, and detach restores the API,
// from any machine. Each change is visible in the API too, so a crash between a
// change and a save does no harm.
//
// Somebody else may have written a state. Before attach or detach changes anything
// by it, verify compares it with the limiter's stack and the live API.
type State struct {
	Form       int         `json:"form"`
	Protocol   string      `json:"protocol"` // REST, HTTP or WEBSOCKET
	API        string      `json:"api"`      // its id
	Stage      string      `json:"stage"`
	Region     string      `json:"region"`
	Authorizer Authorizer  `json:"authorizer"`
	Responses  []Response  `json:"gateway_responses"`
	Methods    []Method    `json:"methods"`
	Deployment *Deployment `json:"deployment,omitempty"` // nil for a stage that deploys by itself
}

// form is the version of State that this package writes and reads.
const form = 1

// Authorizer is the one that attach adds. Its id is empty until then.
type Authorizer struct {
	apis.Authorizer
	Done bool `json:"done"`
}

// Response is a gateway response before and after. Before is nil for one of API
// Gateway's own.
type Response struct {
	Type   string         `json:"type"`
	Before *apis.Response `json:"before"`
	After  *apis.Response `json:"after"`
	Done   bool           `json:"done"`
}

// Method is a method or route, and its authorization before. After it, the
// authorizer decides.
type Method struct {
	Name   string             `json:"name"`
	ID     string             `json:"id"` // of its resource, or of the route
	Before apis.Authorization `json:"before"`
	Done   bool               `json:"done"`
}

func (m *Method) matches(found apis.Method) bool { return found.Name == m.Name && found.ID == m.ID }

// contains reports whether attach limits a method.
func (s *State) contains(m apis.Method) bool {
	return slices.ContainsFunc(s.Methods, func(own Method) bool { return own.matches(m) })
}

// Deployment is what the stage serves before and after, by the deployments' ids.
// After is empty until there is one.
type Deployment struct {
	Before string `json:"before"`
	After  string `json:"after"`
	Done   bool   `json:"done"`
}

// parse reads a state, which comes from a table or a file.
func parse(data []byte, from string) (*State, error) {
	s := new(State)
	err := json.Unmarshal(data, s)
	if err == nil && s.Form != form {
		err = fmt.Errorf("it was written by another version of slidegate (form %d; this one reads %d)", s.Form, form)
	}
	if err == nil && len(s.Methods) == 0 {
		err = errors.New("it names no method")
	}
	if err != nil {
		return nil, fmt.Errorf("%s: it is no state of `slidegate aws attach`: %w", from, err)
	}
	return s, nil
}

// load reads the state in the table. If there is none, it takes over the one of
// an earlier version's file, which save then removes.
func (j *job) load(ctx context.Context, o Options) error {
	kept, err := j.table.Attachment(ctx, o.API, o.Stage)
	if err != nil {
		return aws.Explain(err)
	}
	if kept != nil {
		j.revision = kept.Revision
		if j.state, err = parse([]byte(kept.State), j.item()); err != nil {
			return fmt.Errorf("%w; %s", err, j.forgetAdvice())
		}
	}
	file := "slidegate-" + o.API + ".json"
	if info, err := os.Stat(file); errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
		return nil // the read of a named pipe would wait for its writer
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	s, err := parse(text, file)
	if err != nil {
		return err
	}
	if kept == nil {
		j.note("the state moves from %s to table %s, and the file is removed", file, j.report.Table)
	} else if !same(s, j.state) {
		return fmt.Errorf("%s and %s differ: delete the file to go on by the table; or, if the file is right, first delete what the table has: %s --forget --yes",
			file, j.item(), j.report.DetachCommand())
	}
	j.state, j.file = s, file
	return nil
}

// verify refuses a state that is not of this API and stage, or whose authorizer is
// not one of the limiter's function. Attach takes open methods alone, so a state
// that would restore another authorization is not attach's.
func (j *job) verify() error {
	s := j.state
	type field struct{ name, has, want string }
	fields := []field{
		{"api", s.API, j.api.ID}, {"stage", s.Stage, j.report.Stage}, {"protocol", s.Protocol, j.api.Protocol}, {"region", s.Region, j.report.Region},
		{"authorizer.name", s.Authorizer.Name, authorizerName}, {"authorizer.type", s.Authorizer.Type, authorizerType},
		{"authorizer.uri", s.Authorizer.URI, j.limiter.uri}, {"authorizer.ttl", strconv.Itoa(s.Authorizer.TTL), "0"},
	}
	for _, m := range s.Methods {
		if !m.Before.Open() {
			fields = append(fields, field{"methods." + m.Name + ".before", strings.TrimSpace(m.Before.Type + " " + m.Before.Authorizer), apis.None})
		}
	}
	for _, r := range s.Responses {
		if isType := func(w apigw.GatewayResponse) bool { return w.Type == r.Type }; r.After == nil || !slices.ContainsFunc(apigw.GatewayResponses(), isType) {
			fields = append(fields, field{"gateway_responses", r.Type, "one that attach sets"})
		}
	}
	if live, ok := j.api.Authorizers[s.Authorizer.ID]; ok && !j.limiter.invokedBy(live.URI) {
		fields = append(fields, field{"authorizer.id", s.Authorizer.ID + ", which invokes " + live.URI, "one that invokes " + j.limiter.uri})
	}
	from, advice := j.item(), j.forgetAdvice()
	if j.revision == 0 {
		from, advice = j.file, "delete the file, or move it away"
	}
	for _, f := range fields {
		if f.has != f.want {
			return fmt.Errorf("%s: its %s is %s, and of this limiter and API it is %s: nothing is changed by it; %s", from, f.name, f.has, f.want, advice)
		}
	}
	for id, found := range j.api.Authorizers { // attach may have ended before it saved the id
		if s.Authorizer.ID == "" && found.Name == s.Authorizer.Name && found.URI == s.Authorizer.URI {
			s.Authorizer.ID = id
		}
	}
	switch { // somebody may have switched AutoDeploy since
	case j.stage.AutoDeploy:
		s.Deployment = nil
	case s.Deployment == nil && j.stage.Name != "":
		s.Deployment = &Deployment{Done: true} // detach deploys
	}
	return nil
}

// save writes the state to the table, unless another command has written it since
// this one read it: then this one must not go on.
func (j *job) save(ctx context.Context) error {
	text, err := json.Marshal(j.state)
	if err == nil {
		err = j.conflict(j.table.PutAttachment(ctx, j.state.API, j.state.Stage, ruletable.Attachment{State: string(text), Revision: j.revision + 1}))
	}
	if err == nil && j.file != "" {
		if err = os.Remove(j.file); err != nil {
			err = fmt.Errorf("the state is in table %s now: delete the file %s, and repeat the command: %w", j.report.Table, j.file, err)
		}
	}
	j.revision, j.file = j.revision+1, ""
	return err
}

func (j *job) conflict(err error) error {
	if errors.Is(err, ruletable.ErrConflict) {
		return fmt.Errorf("another attach or detach of API %s, stage %s is under way: repeat the command once that has ended", j.report.API, j.report.Stage)
	}
	return err
}

func (j *job) noState() error {
	return fmt.Errorf("table %s keeps nothing of API %s, stage %s: check the id, --stage and --limiter, or run it where slidegate-%[2]s.json of an earlier version is", j.report.Table, j.report.API, j.report.Stage)
}

// item names the state in the table.
func (j *job) item() string {
	return "table " + j.report.Table + ", item attached " + j.report.API + "/" + j.report.Stage
}

func (j *job) forgetAdvice() string {
	return j.report.DetachCommand() + " --forget --yes deletes the item, and leaves the API as it is"
}
