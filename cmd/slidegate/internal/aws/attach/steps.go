package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws/apis"
)

// job is a change of one API: attach or detach.
type job struct {
	state  *State
	api    *apis.API
	stage  apis.Stage   // the zero one if there is none of the state's name
	stages []apis.Stage // all of the API
	writer writer

	limiter  limiter
	table    Table
	revision int64  // of the state in the table; 0 for none
	file     string // from which the state moves to the table; "" for none
	report   *Report
}

// step is one field of an API that attach sets and detach restores.
type step struct {
	what      string // gateway response ACCESS_DENIED
	does      string // add, as attach does it
	takesBack string // remove, as detach does it
	to        string // the value that detach restores, for people
	done      *bool
	before    bool // the field is as it was
	after     bool // the field is as attach leaves it
	do, undo  func(context.Context) error
}

// changed reports whether somebody else has changed the field since attach did.
func (s *step) changed() bool { return *s.done && !s.before && !s.after }

// stepOf returns the step that sets a field to after. The field's value is now.
func stepOf[T any](what, does string, done *bool, now, before, after T, set func(context.Context, T) error) step {
	return step{
		what: what, does: does, takesBack: "restore", done: done, before: same(now, before), after: same(now, after),
		do:   func(ctx context.Context) error { return set(ctx, after) },
		undo: func(ctx context.Context) error { return set(ctx, before) },
	}
}

// same reports whether the state encodes two values alike.
func same[T any](a, b T) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// steps returns all steps in the order of attach; none if it limits no method.
func (j *job) steps() (all []step) {
	if len(j.state.Methods) == 0 {
		return nil
	}
	all = append(all, j.authorizer())
	for i := range j.state.Responses {
		all = append(all, j.response(&j.state.Responses[i]))
	}
	for i := range j.state.Methods {
		all = append(all, j.method(&j.state.Methods[i]))
	}
	if j.state.Deployment != nil {
		all = append(all, j.deployment(j.state.Deployment))
	}
	return all
}

func (j *job) authorizer() step {
	a := &j.state.Authorizer
	var now *apis.Authorizer
	if found, ok := j.api.Authorizers[a.ID]; ok {
		now = &found
	}
	s := stepOf("authorizer "+a.Name, "add", &a.Done, now, nil, &a.Authorizer, func(ctx context.Context, to *apis.Authorizer) (err error) {
		if to != nil {
			a.ID, err = j.writer.addAuthorizer(ctx, *to)
		} else if err = j.writer.removeAuthorizer(ctx, a.ID); err == nil {
			a.ID = ""
		}
		return err
	})
	s.takesBack = "remove"
	return s
}

func (j *job) response(r *Response) step {
	var now *apis.Response
	if found := j.api.Responses[r.Type]; found.Own {
		now = &found
	}
	s := stepOf("gateway response "+r.Type, "change", &r.Done, now, r.Before, r.After, func(ctx context.Context, to *apis.Response) error {
		return j.writer.respond(ctx, r.Type, to)
	})
	if r.Before == nil {
		s.does, s.takesBack = "add", "remove"
	} else if text, err := json.Marshal(r.Before); err == nil {
		s.to = string(text)
	}
	return s
}

func (j *job) method(m *Method) step {
	var now apis.Authorization
	for _, found := range j.api.Methods {
		if m.matches(found) {
			now = found.Authorization
		}
	}
	s := stepOf(m.Name, "limit", &m.Done, now, m.Before, j.limited(), func(ctx context.Context, to apis.Authorization) error {
		return j.writer.authorize(ctx, *m, to)
	})
	s.to = "authorization " + m.Before.Type + ", as before"
	s.do = func(ctx context.Context) error { return j.writer.authorize(ctx, *m, j.limited()) } // by an id that is known by then
	return s
}

// limited returns the authorization of methods that use the limiter's authorizer.
func (j *job) limited() apis.Authorization {
	return apis.Authorization{Type: apis.Custom, Authorizer: j.state.Authorizer.ID}
}

// deployment returns the step that changes the deployment of the stage.
func (j *job) deployment(d *Deployment) step {
	s := stepOf("stage "+j.state.Stage, "deploy", &d.Done, j.stage.Deployment, d.Before, d.After, func(ctx context.Context, to string) error {
		return j.writer.serve(ctx, j.state.Stage, to)
	})
	s.after = s.after && d.After != ""
	s.do = func(ctx context.Context) (err error) {
		if d.After == "" {
			if d.After, err = j.writer.deploy(ctx); err == nil {
				err = j.save(ctx)
			}
		}
		if err == nil {
			err = j.writer.serve(ctx, j.state.Stage, d.After)
		}
		return err
	}
	restore := s.undo
	s.undo = func(ctx context.Context) (err error) {
		if s.after {
			err = restore(ctx)
		}
		if !s.after || isRefused(err) { // somebody has deployed since, or deleted the old deployment
			var id string
			if id, err = j.writer.deploy(ctx); err == nil {
				err = j.writer.serve(ctx, j.state.Stage, id)
			}
		}
		if err == nil {
			d.After = ""
		}
		return err
	}
	if s.to = "deployment " + d.Before + ", as before"; s.changed() {
		s.takesBack, s.to = "deploy", ""
	}
	return s
}

// isRefused reports whether API Gateway rejected the resource that a call names.
func isRefused(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains([]string{"BadRequestException", "NotFoundException"}, api.ErrorCode())
}

// attach makes each missing change, and saves the state after it.
func (j *job) attach(ctx context.Context) error {
	for _, s := range j.steps() {
		if !s.after {
			if err := s.do(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
		*s.done = true
		if err := j.save(ctx); err != nil {
			return err
		}
	}
	return nil
}

// undoStep is a step that detach takes.
type undoStep struct {
	step
	undone bool   // or else it stays as it is
	left   string // the change of attach that stays
}

// undoSteps returns the steps in the order of detach: methods and gateway responses,
// then the stage, which may have to deploy them, and last the authorizer, which no
// method uses by then.
func (j *job) undoSteps() (all []undoStep) {
	steps := j.steps()
	fields := steps[1 : 1+len(j.state.Responses)+len(j.state.Methods)]
	slices.Reverse(fields)
	for _, s := range slices.Concat(fields, steps[1+len(fields):], steps[:1]) {
		t := undoStep{step: s, undone: s.after}
		if s.changed() {
			t.left = s.what
		}
		all = append(all, t)
	}
	if j.state.Deployment != nil {
		if stage := &all[len(fields)]; stage.changed() && j.stage.Name != "" {
			stage.undone, stage.left = true, ""
		}
	}
	authorizer := &all[len(all)-1]
	if users := j.others(); users != "" && authorizer.after {
		authorizer.undone, authorizer.left = false, authorizer.what+", which "+users+" asks"
	}
	return all
}

// others names a method that uses our authorizer and that detach does not restore.
func (j *job) others() string {
	for _, m := range j.api.Methods {
		if m.Authorizer != "" && m.Authorizer == j.state.Authorizer.ID && !(j.state.contains(m) && same(m.Authorization, j.limited())) {
			return m.Name
		}
	}
	return ""
}

// detach undoes each change that nobody has overwritten since. It saves the state
// before the first and after each, and deletes it if nothing is left.
func (j *job) detach(ctx context.Context) error {
	if err := j.save(ctx); err != nil {
		return err
	}
	for _, t := range j.undoSteps() {
		if t.undone {
			if err := t.undo(ctx); err != nil {
				return fmt.Errorf("%s: %w", t.what, err)
			}
		}
		*t.done = *t.done && t.left != ""
		if err := j.save(ctx); err != nil {
			return err
		}
	}
	if len(j.report.Left) > 0 {
		return nil
	}
	return j.conflict(j.table.DeleteAttachment(ctx, j.state.API, j.state.Stage, j.revision))
}
