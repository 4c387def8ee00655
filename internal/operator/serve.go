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
)

// OpenGateway opens a session for Serve.
func OpenGateway(ctx context.Context, where Locations, log *slog.Logger) (*Session, error) {
	s, err := Open(ctx, where, app.NewParser(log), log)
	if err != nil {
		return nil, err
	}
	if err := s.checkAtomic(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// Serve runs the local gateway until the context ends. A backend of nil echoes
// the requests.
func (s *Session) Serve(ctx context.Context, listener net.Listener, backend *url.URL, log *slog.Logger) error {
	recorder := app.NewRecorder(log, true)
	defer recorder.Flush(context.WithoutCancel(ctx))
	handler := gateway.New(gateway.Options{Authorizer: s.authorizer(recorder), Backend: backend, Log: log})
	return gateway.Serve(ctx, listener, handler)
}

// authorizer returns the Lambda's own handler. Without a store or a table it
// has no deadline, as it never waits.
func (s *Session) authorizer(recorder *app.Recorder) *apigw.Authorizer {
	config, now := app.Config{Rules: s.source, Overrides: s.overrides, Recorder: recorder}, time.Now
	if s.InMemory() {
		config.Store = memory.New(0)
	} else {
		config.Store, now = s.shared()
	}
	if !s.InMemory() || s.overrides != nil {
		config.Deadline = app.DefaultDeadline
	}
	return apigw.NewAuthorizer(app.NewEngine(config), now)
}
