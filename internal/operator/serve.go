package operator

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"os"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/authn"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/gateway"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/recorder"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
)

// OpenGateway opens a session for Serve. Rules in a file follow the file until
// the context ends: as it changes, and at each signal.
func OpenGateway(ctx context.Context, where session.Locations, signals <-chan os.Signal, log *slog.Logger) (*session.Session, error) {
	prepare := app.NewPrepare(log)
	if where.RulesFile == "" {
		return session.OpenToServe(ctx, where, prepare, log)
	}
	file := rulefile.NewFollower(where.RulesFile, log)
	s, err := session.OpenToServe(ctx, where, prepare, log)
	if err != nil {
		return nil, err
	}
	file.Start(s.Rules, func() (*rules.Set, error) {
		set, _, err := session.ReadPrepared(where.RulesFile, prepare)
		if err == nil {
			err = s.CheckCharges(set)
		}
		return set, err
	})
	s.Source = file
	go file.Watch(ctx, time.NewTicker(rulefile.LookEvery).C, signals)
	return s, nil
}

// DefaultTimeouts are those of the local gateway.
var DefaultTimeouts = gateway.DefaultTimeouts

// ServeOptions set up the local gateway.
type ServeOptions struct {
	Backend  *url.URL // nil echoes the requests
	Timeouts gateway.Timeouts
}

// Serve runs the local gateway, with the Lambda's own handler, until the context
// ends.
func Serve(ctx context.Context, s *session.Session, listener net.Listener, o ServeOptions, log *slog.Logger) error {
	app.SetDefaultLog(log)
	recorder := recorder.New(log)
	defer recorder.Flush(context.WithoutCancel(ctx))
	local := app.NewLocal(s.LocalNow)
	config := engine.Options{
		Rules: s.Source, Overrides: s.Overrides, Store: s.Counters(), Local: local, Admitted: local.Note, Recorder: recorder,
	}
	if s.Remote() { // else a decision never waits
		config.Deadline = engine.DefaultDeadline
	}
	var keys authn.APIKeys
	if table := s.Table(); table != nil {
		keys = app.NewAPIKeys(table, log)
	}
	callers := authn.New(s.Source, keys, nil, log)
	callers.Warm(ctx, s.Now())
	authorizer := apigw.NewAuthorizer(app.NewEngine(config), s.Now).WithAuthenticator(callers)
	handler := gateway.New(gateway.Options{Authorizer: authorizer, Backend: o.Backend, Timeouts: o.Timeouts, Log: log})
	return gateway.Serve(ctx, listener, handler, o.Timeouts)
}
