// Package attach puts an existing API behind the limiter, whatever tool made the
// API, and detaches it again.
package attach

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/apigateway"
	"github.com/aws/aws-sdk-go-v2/service/apigatewayv2"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
)

// Region is one region of an account, with its limiters and APIs.
type Region struct {
	Stacks    Stacks
	Functions Functions
	Table     func(name string) Table
	REST      REST
	V2        V2
	Name      string
}

// Connect returns the region of the usual AWS variables and files. It calls nothing
// yet.
func Connect(ctx context.Context) (*Region, error) {
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return nil, err
	}
	patient := cfg.Copy()
	patient.Retryer = retryer
	return &Region{
		Stacks: aws.New(cfg), Functions: lambda.NewFromConfig(cfg), Name: cfg.Region,
		Table: func(name string) Table { return ruletable.New(dynamodb.NewFromConfig(cfg), name) },
		REST:  apigateway.NewFromConfig(patient), V2: apigatewayv2.NewFromConfig(patient),
	}, nil
}

// retryer repeats calls of API Gateway, which takes ten changes a second of an
// account, and a deployment in five. It answers with a conflict while another change
// of the same API is under way.
func retryer() sdk.Retryer {
	return retry.AddWithErrorCodes(retry.AddWithMaxAttempts(retry.NewStandard(), 10), "ConflictException")
}

// Options say what to attach to which limiter, or to detach from it.
type Options struct {
	API, Stage string
	Limiter    Limiter
	Apply      bool // without it there is only a plan

	Methods []string // such as GET /items; empty for all but OPTIONS, or for $connect
	Anyway  bool     // attaches although somebody else manages the API, or works on it
	Forget  bool     // detach deletes the state, and leaves the API as it is
}

// The outcomes of an attach or a detach.
const (
	Planned   = "planned"
	Attached  = "attached"
	Detached  = "detached"
	Forgotten = "forgotten"
	Unchanged = "unchanged"
)

// Report lists the changes that attach or detach makes, or has made.
type Report struct {
	Status   string   `json:"status"`
	Protocol string   `json:"protocol"` // REST, HTTP or WEBSOCKET; "" if forgotten
	API      string   `json:"api"`      // its id
	Name     string   `json:"name"`     // "" if forgotten
	Stage    string   `json:"stage"`
	Region   string   `json:"region"`
	Limiter  string   `json:"limiter"`
	Table    string   `json:"table"` // the rules table, which keeps the state
	Changes  []Change `json:"changes"`
	Left     []string `json:"left"` // fields that somebody has changed since attach
	Notes    []string `json:"notes"`
}

// Change is one change of the API.
type Change struct {
	Does string `json:"does"` // add, change, limit, deploy, remove or restore
	What string `json:"what"`
	To   string `json:"to,omitempty"` // the value that detach restores
}

// DetachCommand returns the command that undoes an attach.
func (r *Report) DetachCommand() string { return aws.DetachCommand(r.API, r.Stage, r.Limiter) }

// Attach puts an API behind a limiter. If the rules table has a state of the API,
// attach resumes. It fails before the first change if the API forbids it.
func (r *Region) Attach(ctx context.Context, o Options) (*Report, error) {
	j, err := r.open(ctx, o)
	if err == nil && j.stage.Name == "" {
		err = fmt.Errorf("%s has no stage %s: it has %s", j.api, o.Stage, list(j.stages, func(s apis.Stage) string { return s.Name }))
	}
	if err != nil {
		return nil, err
	}
	p := &plan{job: j, region: r, options: o}
	if err := p.build(ctx); err != nil {
		return nil, err
	}
	for _, s := range j.steps() {
		if !s.after {
			j.report.Changes = append(j.report.Changes, Change{Does: s.does, What: s.what})
		}
	}
	switch {
	case len(j.report.Changes) == 0:
		j.report.Status = Unchanged
	case o.Apply:
		j.report.Status = Attached
	}
	if !o.Apply || len(j.report.Changes) == 0 && j.file == "" {
		return j.report, nil
	}
	if err = j.save(ctx); err != nil {
		return nil, aws.Explain(err)
	}
	if err = j.attach(ctx); err != nil {
		err = fmt.Errorf("%w\nattach ended early: repeat it to go on, or take all back: %s --yes", aws.Explain(err), j.report.DetachCommand())
	}
	return j.report, err
}

// start finds the limiter with its table.
func (r *Region) start(ctx context.Context, o Options) (*job, error) {
	l, err := r.limiter(ctx, o.Limiter)
	return &job{limiter: l, table: r.Table(l.table), report: &Report{
		Status: Planned, API: o.API, Stage: o.Stage, Region: r.Name, Limiter: o.Limiter.String(), Table: l.table,
		Changes: []Change{}, Left: []string{}, Notes: []string{},
	}}, err
}

// open reads the limiter, the state of an API, and then the API and its stage: a
// state that another command writes meanwhile makes the first save fail.
func (r *Region) open(ctx context.Context, o Options) (*job, error) {
	j, err := r.start(ctx, o)
	if err == nil {
		err = j.load(ctx, o)
	}
	if err != nil {
		return nil, err
	}
	reader := r.apis()
	if j.api, err = reader.Find(ctx, o.API); err != nil {
		return nil, aws.Explain(err)
	}
	if j.api == nil {
		err = fmt.Errorf("region %s has no API %s: give the id of one, such as a1b2c3d4e5, and check AWS_REGION and AWS_PROFILE", r.Name, o.API)
		if j.state != nil {
			err = fmt.Errorf("%w; %s", err, j.forgetAdvice())
		}
		return nil, err
	}
	j.report.Protocol, j.report.Name = j.api.Protocol, j.api.Name
	j.writer = restWriter{r.REST, o.API}
	if j.api.Protocol != apis.RESTProtocol {
		j.writer = v2Writer{r.V2, o.API, j.api.Protocol}
	}
	if err = reader.Read(ctx, j.api); err == nil {
		j.stages, err = reader.Stages(ctx, j.api)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", j.api, aws.Explain(err))
	}
	for _, s := range j.stages {
		if s.Name == o.Stage {
			j.stage = s
		}
	}
	if j.state != nil {
		err = j.verify()
	}
	return j, err
}

func (r *Region) apis() apis.Reader { return apis.Reader{REST: r.REST, V2: r.V2} }

// list joins names for a message.
func list[T any](all []T, name func(T) string) string {
	names := make([]string, len(all))
	for i, one := range all {
		names[i] = name(one)
	}
	if len(all) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// Detach undoes each change of attach that nobody has overwritten since. It touches
// only authorizers that invoke the limiter's function, and methods that use them.
func (r *Region) Detach(ctx context.Context, o Options) (*Report, error) {
	if o.Forget {
		return r.forget(ctx, o)
	}
	j, err := r.open(ctx, o)
	if err == nil && j.state == nil {
		err = j.noState()
	}
	if err != nil {
		return nil, err
	}
	for _, t := range j.undoSteps() {
		if t.undone {
			j.report.Changes = append(j.report.Changes, Change{t.takesBack, t.what, t.to})
			if t.takesBack == "deploy" {
				j.note("the new deployment of %s publishes the API as it is, with changes that nobody has deployed yet", t.what)
			}
		} else if t.left != "" {
			j.report.Left = append(j.report.Left, t.left)
		}
	}
	if !o.Apply {
		return j.report, nil
	}
	j.report.Status = Detached
	if err = j.detach(ctx); err != nil {
		err = fmt.Errorf("%w\nrepeat detach to go on: table %s has what was before", aws.Explain(err), j.report.Table)
	}
	return j.report, err
}

// forget deletes the state of an API. It reads neither the state nor the API, so
// it also ends a state that is damaged, or of an API that is gone.
func (r *Region) forget(ctx context.Context, o Options) (*Report, error) {
	j, err := r.start(ctx, o)
	j.report.Changes = append(j.report.Changes, Change{Does: "remove", What: "what table " + j.report.Table + " keeps of it"})
	if err == nil && o.Apply {
		j.report.Status = Forgotten
		err = j.table.DeleteAttachment(ctx, o.API, o.Stage, 0)
	}
	if errors.Is(err, ruletable.ErrConflict) {
		err = j.noState()
	}
	return j.report, aws.Explain(err)
}
