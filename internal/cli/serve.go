package cli

import (
	"fmt"
	"log/slog"
	"net"
	"net/url"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/operator"
	"github.com/slidegate/slidegate/internal/text"
)

type serveFlags struct {
	flags.Locations
	listen, backend string
}

func (c *cli) serveCommand() *cobra.Command {
	var f serveFlags
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
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd, &f) },
	}
	f.Add(cmd, flags.Memory)
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8080", "the address to listen on, `HOST:PORT`")
	cmd.Flags().StringVar(&f.backend, "backend", "", "the `URL` to pass allowed requests on to (default: echo them)")
	return cmd
}

func (c *cli) serve(cmd *cobra.Command, f *serveFlags) error {
	where, err := f.Locations.Read(cmd)
	if err != nil {
		return err
	}
	backend, err := backendURL(cmd, f.backend)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.stderr, nil))
	s, err := operator.OpenGateway(cmd.Context(), where, log)
	if err != nil {
		return err
	}
	defer s.Close()
	operator.WarnAll(c, s.Rules.Warnings)
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("%w; name another address by --listen", err)
	}
	c.Note("listening on http://%s, %s, counters in %s", listener.Addr(), text.Plural(len(s.Rules.Rules), "rule"), where.StoreName())
	return operator.Serve(cmd.Context(), s, listener, backend, log)
}

// backendURL reads --backend; nil if it was not given.
func backendURL(cmd *cobra.Command, given string) (*url.URL, error) {
	if given == "" {
		return nil, nil
	}
	u, err := url.Parse(given)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, flags.Usagef(cmd, "--backend %s: want a URL such as http://127.0.0.1:3000", given)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, flags.Usagef(cmd, "--backend %s: want only scheme, host and port: rules would not see what is joined to a path", given)
	}
	return u, nil
}
