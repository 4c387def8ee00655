package operator

import (
	"context"
	"log/slog"
	"net"
	"net/url"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/gateway"
	"github.com/slidegate/slidegate/internal/operator/session"
)

// OpenGateway opens a session for Serve.
func OpenGateway(ctx context.Context, where session.Locations, log *slog.Logger) (*session.Session, error) {
	return session.OpenToCharge(ctx, where, app.NewPrepare(log), log)
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
	recorder := app.NewRecorder(log, true)
	defer recorder.Flush(context.WithoutCancel(ctx))
	config := engine.Options{Rules: s.Source, Overrides: s.Overrides, Store: s.Counters(), Local: app.NewLocal(s.LocalNow), Recorder: recorder}
	if s.Remote() { // else a decision never waits
		config.Deadline = app.DefaultDeadline
	}
	authorizer := apigw.NewAuthorizer(app.NewEngine(config), s.Now)
	handler := gateway.New(gateway.Options{Authorizer: authorizer, Backend: o.Backend, Timeouts: o.Timeouts, Log: log})
	return gateway.Serve(ctx, listener, handler, o.Timeouts)
}
