package operator

import (
	"context"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/gateway"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/operator/session"
)

// OpenGateway opens a session for Serve.
func OpenGateway(ctx context.Context, where session.Locations, log *slog.Logger) (*session.Session, error) {
	s, err := session.Open(ctx, where, app.NewPrepare(log), log)
	if err != nil {
		return nil, err
	}
	if err := s.CheckAtomic(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Serve runs the local gateway until the context ends. A backend of nil echoes
// the requests.
func Serve(ctx context.Context, s *session.Session, listener net.Listener, backend *url.URL, log *slog.Logger) error {
	recorder := app.NewRecorder(log, true)
	defer recorder.Flush(context.WithoutCancel(ctx))
	handler := gateway.New(gateway.Options{Authorizer: newAuthorizer(s, recorder), Backend: backend, Log: log})
	return gateway.Serve(ctx, listener, handler)
}

// newAuthorizer returns the Lambda's own handler. Without a store or a table it
// has no deadline, as it never waits.
func newAuthorizer(s *session.Session, recorder *app.Recorder) *apigw.Authorizer {
	config, now := app.Config{Rules: s.Source, Overrides: s.Overrides, Recorder: recorder}, time.Now
	if s.InMemory() {
		config.Store = memory.New(0)
	} else {
		config.Store, now = s.Shared()
	}
	if !s.InMemory() || s.Overrides != nil {
		config.Deadline = app.DefaultDeadline
	}
	return apigw.NewAuthorizer(app.NewEngine(config), now)
}
