package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/aws/smithy-go"

	"github.com/slidegate/slidegate/internal/operator/aws/gateway"
)

// step is one field of an API, which attach sets and detach restores.
type step struct {
	what      string // gateway response ACCESS_DENIED
	does      string // add, as attach does it
	takesBack string // remove, as detach does it
	done      *bool
	// isBefore and isAfter compare the field with what it was, and with what
	// attach makes of it.
	isBefore, isAfter func() bool
	do, undo          func(context.Context) error
}

// stepOf returns the step that sets a field which is now to after.
func stepOf[T any](what string, done *bool, now, before T, after func() T, set func(context.Context, T) error) step {
	return step{
		what: what, does: "change", takesBack: "restore", done: done,
		isBefore: func() bool { return same(now, before) },
		isAfter:  func() bool { return same(now, after()) },
		do:       func(ctx context.Context) error { return set(ctx, after()) },
		undo:     func(ctx context.Context) error { return set(ctx, before) },
	}
}

// same compares what the state file has of two values.
func same[T any](a, b T) bool {
	x, err := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err == nil && err2 == nil && string(x) == string(y)
}

// job is an API, what attach knows of it, and who changes it.
type job struct {
	state  *State
	api    *gateway.API
	stage  gateway.Stage
	stages []gateway.Stage // all of the API
	writer writer
	save   func(*State) error
}

func (j *job) authorizer() step {
	a := &j.state.Authorizer
	var now *gateway.Authorizer
	if found, ok := j.api.Authorizers[a.ID]; ok {
		now = &found
	}
	s := stepOf("authorizer "+a.Name, &a.Done, now, nil, func() *gateway.Authorizer { return &a.Authorizer }, func(ctx context.Context, to *gateway.Authorizer) (err error) {
		if to != nil {
			a.ID, err = j.writer.addAuthorizer(ctx, *to)
		} else if err = j.writer.removeAuthorizer(ctx, a.ID); err == nil {
			a.ID = ""
		}
		return err
	})
	s.does, s.takesBack = "add", "remove"
	return s
}

// fields returns the steps of gateway responses, then of methods.
func (j *job) fields() (all []step) {
	for i := range j.state.Responses {
		r := &j.state.Responses[i]
		var now *gateway.Response
		if found := j.api.Responses[r.Type]; found.Own {
			now = &found
		}
		s := stepOf("gateway response "+r.Type, &r.Done, now, r.Before, func() *gateway.Response { return r.After }, func(ctx context.Context, to *gateway.Response) error {
			return j.writer.respond(ctx, r.Type, to)
		})
		if r.Before == nil {
			s.does, s.takesBack = "add", "remove"
		}
		all = append(all, s)
	}
	now := map[string]gateway.Authorization{}
	for _, m := range j.api.Methods {
		now[m.Name+" "+m.ID] = m.Authorization
	}
	after := func() gateway.Authorization {
		return gateway.Authorization{Type: gateway.Custom, Authorizer: j.state.Authorizer.ID}
	}
	for i := range j.state.Methods {
		m := &j.state.Methods[i]
		s := stepOf(m.Name, &m.Done, now[m.Name+" "+m.ID], m.Before, after, func(ctx context.Context, to gateway.Authorization) error {
			return j.writer.authorize(ctx, *m, to)
		})
		s.does = "limit"
		all = append(all, s)
	}
	return all
}

// deployment returns the step of what the stage serves, if it does not deploy by
// itself.
func (j *job) deployment() []step {
	d := j.state.Deployment
	if d == nil {
		return nil
	}
	s := stepOf[string]("stage "+j.state.Stage, &d.Done, j.stage.Deployment, d.Before, func() string { return d.After }, nil)
	s.does = "deploy"
	s.isAfter = func() bool { return d.After != "" && j.stage.Deployment == d.After }
	s.do = func(ctx context.Context) (err error) {
		if d.After == "" {
			if d.After, err = j.writer.deploy(ctx); err == nil {
				err = j.save(j.state)
			}
		}
		if err == nil {
			err = j.writer.serve(ctx, j.state.Stage, d.After)
		}
		return err
	}
	s.undo = func(ctx context.Context) (err error) {
		if s.isAfter() {
			err = j.writer.serve(ctx, j.state.Stage, d.Before)
		}
		if !s.isAfter() || isRefused(err) { // somebody has deployed since, or deleted the old deployment
			err = j.deployAnew(ctx)
		}
		if err == nil {
			d.After = ""
		}
		return err
	}
	return []step{s}
}

// deployAnew has the stage serve the API as it is.
func (j *job) deployAnew(ctx context.Context) error {
	id, err := j.writer.deploy(ctx)
	if err == nil {
		err = j.writer.serve(ctx, j.state.Stage, id)
	}
	return err
}

// isRefused reports whether API Gateway does not accept what a call names.
func isRefused(err error) bool {
	api, ok := errors.AsType[smithy.APIError](err)
	return ok && slices.Contains([]string{"BadRequestException", "NotFoundException"}, api.ErrorCode())
}

// steps returns all steps in the order of attach, none if no method is to be
// limited.
func (j *job) steps() []step {
	if len(j.state.Methods) == 0 {
		return nil
	}
	return slices.Concat([]step{j.authorizer()}, j.fields(), j.deployment())
}

// attach makes the changes that are not made yet, and saves the state after each.
func (j *job) attach(ctx context.Context) error {
	for _, s := range j.steps() {
		if !s.isAfter() {
			if err := s.do(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
		*s.done = true
		if err := j.save(j.state); err != nil {
			return err
		}
	}
	return nil
}

// changedSince names the fields that are neither as before nor as attach leaves
// them.
func (j *job) changedSince() (names []string) {
	for _, s := range j.steps() {
		if !s.isAfter() && (*s.done || !s.isBefore()) {
			names = append(names, s.what)
		}
	}
	return names
}

// takesBack returns the steps in the order of detach, and for each whether it is
// to be undone: those that are as attach left them. The stage may be anywhere, and
// nothing asks the authorizer any more when it goes.
func (j *job) takesBack() (steps []step, undo []bool) {
	steps = j.fields()
	slices.Reverse(steps)
	steps = slices.Concat(steps, j.deployment(), []step{j.authorizer()})
	for i, s := range steps {
		really := s.isAfter()
		switch i {
		case len(steps) - 1:
			really = really && j.users() == nil
		case len(j.state.Methods) + len(j.state.Responses):
			really = really || *s.done && !s.isBefore()
		}
		undo = append(undo, really)
	}
	return steps, undo
}

// detach takes back what is as attach left it, and saves the state after each
// step. A step that stays done is one that somebody has changed since.
func (j *job) detach(ctx context.Context) error {
	steps, undo := j.takesBack()
	for i, s := range steps {
		if undo[i] {
			if err := s.undo(ctx); err != nil {
				return fmt.Errorf("%s: %w", s.what, err)
			}
		}
		*s.done = *s.done && !undo[i] && !s.isBefore()
		if err := j.save(j.state); err != nil {
			return err
		}
	}
	return nil
}

// users names the methods that ask our authorizer, but for those that detach
// restores.
func (j *job) users() (names []string) {
	own := gateway.Authorization{Type: gateway.Custom, Authorizer: j.state.Authorizer.ID}
	for _, m := range j.api.Methods {
		restored := same(m.Authorization, own) && slices.ContainsFunc(j.state.Methods, func(o Method) bool { return o.Name == m.Name && o.ID == m.ID })
		if m.Authorizer != "" && m.Authorizer == own.Authorizer && !restored {
			names = append(names, m.Name)
		}
	}
	return names
}

// adopt looks for an authorizer whose id attach could not save any more.
func (j *job) adopt() {
	a := &j.state.Authorizer
	for id, found := range j.api.Authorizers {
		if a.ID == "" && found.Name == a.Name && found.Asks(j.state.Function) {
			a.ID = id
		}
	}
}
