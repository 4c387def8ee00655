// Package attach puts an API that exists behind the limiter, whatever made it, and
// takes that back.
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
	"github.com/aws/aws-sdk-go-v2/service/lambda"

	"github.com/slidegate/slidegate/internal/dynamo/awsconfig"
	"github.com/slidegate/slidegate/internal/operator/aws"
	"github.com/slidegate/slidegate/internal/operator/aws/gateway"
)

// Region is one region of an account, with its limiters and APIs.
type Region struct {
	Stacks    Stacks
	Functions Functions
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
		REST: apigateway.NewFromConfig(patient), V2: apigatewayv2.NewFromConfig(patient),
	}, nil
}

// retryer repeats calls of API Gateway, which takes ten changes a second of an
// account, and a deployment in five. It answers with a conflict while another change
// of the same API is under way.
func retryer() sdk.Retryer {
	return retry.AddWithErrorCodes(retry.AddWithMaxAttempts(retry.NewStandard(), 10), "ConflictException")
}

// Options say what to attach to which limiter.
type Options struct {
	API, Stage string
	Limiter    Limiter
	Methods    []string // such as GET /items; empty for all but OPTIONS, or for $connect
	Anyway     bool     // attaches although somebody else manages the API, or works on it

	// Save keeps the state before the first change, and after each. Without it there
	// is only a plan.
	Save func(*State) error
}

// What became of an API.
const (
	Planned   = "planned"
	Attached  = "attached"
	Detached  = "detached"
	Unchanged = "unchanged"
)

// Report is what attach or detach does, or has done.
type Report struct {
	Status   string   `json:"status"`
	Protocol string   `json:"protocol"` // REST, HTTP or WEBSOCKET
	API      string   `json:"api"`      // its id
	Name     string   `json:"name"`
	Stage    string   `json:"stage"`
	Region   string   `json:"region"`
	Limiter  string   `json:"limiter"`
	File     string   `json:"file"` // that keeps the state
	Changes  []Change `json:"changes"`
	Left     []string `json:"left"` // what somebody has changed since attach
	Notes    []string `json:"notes"`
}

// Change is a step.
type Change struct {
	Does string `json:"does"` // add, change, limit, deploy, remove or restore
	What string `json:"what"`
}

// Attach puts an API behind a limiter, or goes on with that if s is not nil. It
// fails before it changes anything if the API forbids it.
func (r *Region) Attach(ctx context.Context, o Options, s *State) (*Report, error) {
	l, err := r.limiter(ctx, o.Limiter)
	if err == nil && s != nil {
		err = s.fits(o, r.Name)
	}
	if err != nil {
		return nil, err
	}
	j, err := r.open(ctx, o.API, o.Stage)
	if err == nil && j.stage.Name == "" {
		err = fmt.Errorf("%s has no stage %s: it has %s", j.api, o.Stage, list(j.stages, func(s gateway.Stage) string { return s.Name }))
	}
	if err != nil {
		return nil, err
	}
	p := &plan{job: j, region: r, limiter: l, options: o, notes: []string{}}
	if err := p.make(ctx, s); err != nil {
		return nil, err
	}
	report := j.report()
	report.Notes = p.notes
	for _, s := range j.steps() {
		if !s.after {
			report.Changes = append(report.Changes, Change{s.does, s.what})
		}
	}
	switch j.save = o.Save; {
	case len(report.Changes) == 0:
		report.Status = Unchanged
	case o.Save != nil:
		report.Status = Attached
		if err = j.save(j.state); err == nil {
			err = aws.Explain(j.attach(ctx))
		}
	}
	return report, err
}

// fits reports whether a state is of what the options say.
func (s *State) fits(o Options, region string) error {
	switch {
	case s.API != o.API || s.Stage != o.Stage:
		return fmt.Errorf("the state file is of API %s, stage %s: name another by --state", s.API, s.Stage)
	case s.Limiter != o.Limiter.String():
		return fmt.Errorf("the state file is of limiter %s: detach by it first", s.Limiter)
	case len(o.Methods) > 0:
		return errors.New("the state file says which methods to limit: leave --method out, or detach by it first")
	}
	return s.in(region)
}

func (s *State) in(region string) error {
	if s.Region != region {
		return fmt.Errorf("the state file is of region %s, not %s: set AWS_REGION", s.Region, region)
	}
	return nil
}

// open reads an API and its stage.
func (r *Region) open(ctx context.Context, id, stage string) (*job, error) {
	apis := r.apis()
	api, err := apis.Find(ctx, id)
	if err == nil && api == nil {
		err = fmt.Errorf("region %s has no API %s: give the id of one, such as a1b2c3d4e5, and check AWS_REGION and AWS_PROFILE", r.Name, id)
	}
	if err != nil {
		return nil, aws.Explain(err)
	}
	j := &job{api: api, writer: restWriter{r.REST, id}}
	if api.Protocol != gateway.RESTProtocol {
		j.writer = v2Writer{r.V2, id, api.Protocol}
	}
	if err = apis.Read(ctx, api); err == nil {
		j.stages, err = apis.Stages(ctx, api)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api, aws.Explain(err))
	}
	for _, s := range j.stages {
		if s.Name == stage {
			j.stage = s
		}
	}
	return j, nil
}

func (r *Region) apis() gateway.Reader { return gateway.Reader{REST: r.REST, V2: r.V2} }

// list returns the names of things.
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

func (j *job) report() *Report {
	s := j.state
	return &Report{
		Status: Planned, Protocol: s.Protocol, API: s.API, Name: s.Name, Stage: s.Stage, Region: s.Region, Limiter: s.Limiter,
		Changes: []Change{}, Left: []string{}, Notes: []string{},
	}
}

// Detach takes back what attach has done by this state, but for what somebody has
// changed since. save keeps the state after each step; without it there is only a
// plan.
func (r *Region) Detach(ctx context.Context, s *State, save func(*State) error) (*Report, error) {
	if err := s.in(r.Name); err != nil {
		return nil, err
	}
	j, err := r.open(ctx, s.API, s.Stage)
	if err != nil {
		return nil, err
	}
	s.adopt(j.api)
	j.state, j.save = s, save
	report := j.report()
	for _, t := range j.taken() {
		if t.undone {
			report.Changes = append(report.Changes, Change{t.takesBack, t.what})
		} else if t.left != "" {
			report.Left = append(report.Left, t.left)
		}
	}
	if save != nil {
		report.Status = Detached
		err = aws.Explain(j.detach(ctx))
	}
	return report, err
}
