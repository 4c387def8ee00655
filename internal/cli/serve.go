package cli

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/internal/text"
)

func (c *cli) serveCommand() *cobra.Command {
	var where flags.Locations
	var listen string
	var o operator.ServeOptions
	cmd := &cobra.Command{
		Use:   "serve --rules FILE|dynamodb://TABLE",
		Short: "Run the local gateway",
		Long: `Serve answers HTTP as API Gateway with Slidegate's authorizer would: requests become the same events, the
same handler decides them, and the same responses go out. Allowed requests go on to a backend, or are
echoed. A request that a leaky bucket admits waits for its turn; one whose turn is more than 10 seconds away
is denied. Serve stops on SIGINT or SIGTERM, once the requests under way are done.

Rules in a table are read again every ten seconds; a file is read once.`,
		Example: `  slidegate serve --rules examples/rules.yaml
  slidegate serve --rules rules.yaml --listen 127.0.0.1:9000 --backend http://127.0.0.1:3000
  slidegate serve --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate serve --rules rules.yaml --store redis://127.0.0.1:6379/0`,
		Args: flags.NoArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return c.serve(cmd.Context(), where.Locations, listen, o)
		},
	}
	where.AddRules(cmd)
	where.AddStore(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "the address to listen on, `HOST:PORT`")
	flags.Var(cmd, &o.Backend, "backend", "the `URL` to pass allowed requests on to (default: echo them)", parseBackend)
	timeout := func(to *time.Duration, name string, byDefault time.Duration, usage string) {
		flags.Var(cmd, to, name, fmt.Sprintf("%s, a `DURATION` (default: %s)", usage, text.Duration(byDefault)), parseTimeout(name))
	}
	timeout(&o.Timeouts.Read, "read-timeout", operator.DefaultTimeouts.Read, "how long a client may take to send a request with its body")
	timeout(&o.Timeouts.Idle, "idle-timeout", operator.DefaultTimeouts.Idle, "how long a connection may wait for its next request")
	timeout(&o.Timeouts.Backend, "backend-timeout", operator.DefaultTimeouts.Backend,
		"how long the backend may take to read more of a request, or to begin its answer")
	return cmd
}

func (c *cli) serve(ctx context.Context, where session.Locations, listen string, o operator.ServeOptions) error {
	log := slog.New(slog.NewTextHandler(c.stderr, nil))
	s, err := operator.OpenGateway(ctx, where, log)
	if err != nil {
		return err
	}
	defer s.Close()
	operator.WarnAll(c, s.Rules.Warnings)
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("%w; name another address by --listen", err)
	}
	c.Note("listening on http://%s, %s, counters in %s", listener.Addr(), text.Plural(len(s.Rules.Rules), "rule"), where.StoreName())
	return operator.Serve(ctx, s, listener, o, log)
}

func parseTimeout(name string) func(string) (time.Duration, error) {
	return func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text)
		if err != nil || d <= 0 {
			return 0, fmt.Errorf("--%s %s: want a duration above 0, such as 30s or 5m", name, text)
		}
		return d, nil
	}
}

func parseBackend(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, fmt.Errorf("--backend %s: want a URL such as http://127.0.0.1:3000", text)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, fmt.Errorf("--backend %s: want only scheme, host and port: rules would not see what is joined to a path", text)
	}
	return u, nil
}
