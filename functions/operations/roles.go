package main

import (
	"context"
	"log/slog"
	"os"

	"github.com/aws/aws-lambda-go/lambda"

	"github.com/slidegate/slidegate/internal/assemble/inlambda"
	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/observe/oplog"
)

// caller answers invocations by package api. All of its answers are answers of
// the function: an error would have Lambda's callers send the call again.
type caller struct {
	*api.API
	function *inlambda.Function
}

var _ lambda.Handler = caller{}

// Invoke answers an invocation.
func (c caller) Invoke(ctx context.Context, payload []byte) ([]byte, error) {
	c.function.Metrics.Begin(c.function.Now())
	return c.API.Invoke(ctx, payload), nil
}

// newDecider returns the role decide: decisions, and usage.
func newDecider(ctx context.Context, log *slog.Logger) (any, error) {
	s, err := readSettings()
	if err != nil {
		return nil, err
	}
	l, err := inlambda.NewLimiter(ctx, s, log)
	if err != nil {
		return nil, err
	}
	a := newAPI(l.Function, log, api.Decisions, api.Usage)
	a.Decider = &engine.Decider{Engine: l.Engine, Now: l.Now, Callers: l.Callers, Rejected: l.Recorder.Rejected}
	a.Usage = usage.New(usage.Options{Rules: l.Source, Overrides: l.Overrides, Store: l.Store, Now: l.Now, Deadline: s.Deadline}).Of
	return caller{a, l.Function}, nil
}

// newSettler returns the role settle: settlements, and renewals. It needs no rules,
// because a receipt has all that settles it.
func newSettler(_ context.Context, log *slog.Logger) (any, error) {
	s, err := readSettings()
	if err != nil {
		return nil, err
	}
	f, err := inlambda.NewFunction(s, log)
	if err != nil {
		return nil, err
	}
	a := newAPI(f, log, api.Settlements, api.Renewals)
	a.Store = f.Store
	return caller{a, f}, nil
}

func readSettings() (s inlambda.Settings, err error) {
	if s, err = inlambda.ReadSettings(); err == nil {
		err = s.RequireKeys()
	}
	return s, err
}

func newAPI(f *inlambda.Function, log *slog.Logger, calls ...string) *api.API {
	return &api.API{Calls: calls, Keys: f.Keys, Now: f.Now, Observer: f.Recorder, Log: oplog.Throttle(log, "rule")}
}

// options are those of the handlers that other programs call.
func options(handler any) (o []lambda.Option) {
	if c, ok := handler.(caller); ok {
		o = append(o, lambda.WithEnableSIGTERM(func() {
			c.function.End()
			os.Exit(0)
		}))
	}
	return o
}
