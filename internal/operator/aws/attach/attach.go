// Package attach puts an API that exists behind the limiter, whatever made it, and
// takes that back.
package attach

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

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

// attempts are for calls of API Gateway, which takes ten changes a second of an
// account, and a deployment in five.
const attempts = 10

// Connect returns the region of the usual AWS variables and files. It calls nothing
// yet.
func Connect(ctx context.Context) (*Region, error) {
	cfg, err := awsconfig.Load(ctx)
	if err != nil {
		return nil, err
	}
	return &Region{
		Stacks: aws.New(cfg), Functions: lambda.NewFromConfig(cfg), Name: cfg.Region,
		REST: apigateway.NewFromConfig(cfg, func(o *apigateway.Options) { o.RetryMaxAttempts = attempts }),
		V2:   apigatewayv2.NewFromConfig(cfg, func(o *apigatewayv2.Options) { o.RetryMaxAttempts = attempts }),
	}, nil
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
	if err != nil {
		return nil, err
	}
	if s != nil {
		if err := s.fits(o, r.Name); err != nil {
			return nil, err
		}
	}
	j, err := r.open(ctx, o.API, o.Stage)
	if err != nil {
		return nil, err
	}
	p := &plan{job: j, limiter: l, options: o, resumed: s != nil}
	if err := r.plan(ctx, p, s); err != nil {
		return nil, err
	}
	report := j.report(Planned)
	report.Notes = p.notes
	for _, s := range j.steps() {
		if !s.isAfter() {
			report.Changes = append(report.Changes, Change{s.does, s.what})
		}
	}
	switch {
	case len(report.Changes) == 0 && (!p.resumed || s.complete()):
		report.Status = Unchanged
	case o.Save != nil:
		j.save, report.Status = o.Save, Attached
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
		return fmt.Errorf("it is of API %s, stage %s", s.API, s.Stage)
	case s.Limiter != o.Limiter.String():
		return fmt.Errorf("it is of limiter %s", s.Limiter)
	case len(o.Methods) > 0:
		return errors.New("it says which methods to limit: leave --method out, or detach by it first")
	}
	return s.in(region)
}

func (s *State) in(region string) error {
	if s.Region != region {
		return fmt.Errorf("it is of region %s, not %s: set AWS_REGION", s.Region, region)
	}
	return nil
}

// open reads an API and its stage.
func (r *Region) open(ctx context.Context, id, stage string) (*job, error) {
	apis := r.apis()
	api, err := apis.Find(ctx, id)
	if err != nil {
		return nil, aws.Explain(err)
	}
	if api == nil {
		return nil, fmt.Errorf("region %s has no API %s: give the id of one, such as a1b2c3d4e5, and check AWS_REGION and AWS_PROFILE", r.Name, id)
	}
	err = apis.Read(ctx, api)
	var stages []gateway.Stage
	if err == nil {
		stages, err = apis.Stages(ctx, api)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", api, aws.Explain(err))
	}
	j := &job{api: api, stages: stages, writer: restWriter{r.REST, id}}
	if api.Protocol != gateway.RESTProtocol {
		j.writer = v2Writer{r.V2, id, api.Protocol}
	}
	at := slices.IndexFunc(stages, func(s gateway.Stage) bool { return s.Name == stage })
	if at < 0 {
		names := make([]string, len(stages))
		for i, s := range stages {
			names[i] = s.Name
		}
		return nil, fmt.Errorf("%s has no stage %s: it has %s", api, stage, orNone(names))
	}
	j.stage = stages[at]
	return j, nil
}

func (r *Region) apis() gateway.Reader { return gateway.Reader{REST: r.REST, V2: r.V2} }

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

func (j *job) report(status string) *Report {
	s := j.state
	return &Report{
		Status: status, Protocol: s.Protocol, API: s.API, Name: j.api.Name, Stage: s.Stage, Region: s.Region, Limiter: s.Limiter,
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
	j.state, j.save = s, save
	j.adopt()
	report := j.report(Planned)
	steps, undo := j.takesBack()
	for i, s := range steps {
		switch {
		case undo[i]:
			report.Changes = append(report.Changes, Change{s.takesBack, s.what})
		case s.isAfter():
			report.Left = append(report.Left, s.what+", which "+strings.Join(j.users(), ", ")+" asks")
		case *s.done && !s.isBefore():
			report.Left = append(report.Left, s.what)
		}
	}
	if save != nil {
		report.Status = Detached
		err = aws.Explain(j.detach(ctx))
	}
	return report, err
}
