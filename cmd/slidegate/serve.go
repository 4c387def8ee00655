package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/apigw"
	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/gateway"
	"github.com/slidegate/slidegate/internal/memory"
)

type serveFlags struct {
	placeFlags
	listen, backend string
}

func (c *cli) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve --rules FILE|dynamodb://TABLE",
		Short: "Run the local gateway",
		Long: `Serve answers HTTP as API Gateway with Slidegate's authorizer would: requests become the same events, the
same handler decides them, and the same responses go out. What is allowed is passed on to a backend, or
echoed. What a leaky bucket admits is held until its turn; one whose turn is more than 10 seconds away is
denied. It stops on SIGINT or SIGTERM, once requests under way are done.

Rules in a table are looked at again every ten seconds; a file is read once.`,
		Example: `  slidegate serve --rules examples/rules.yaml
  slidegate serve --rules rules.yaml --listen 127.0.0.1:9000 --backend http://127.0.0.1:3000
  slidegate serve --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate serve --rules rules.yaml --store redis://127.0.0.1:6379/0`,
		Args: positional(0, 0, "no arguments besides flags"),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.serve(cmd, &f) },
	}
	f.add(cmd, memoryStore)
	cmd.Flags().StringVar(&f.listen, "listen", "127.0.0.1:8080", "the address to listen on, `HOST:PORT`")
	cmd.Flags().StringVar(&f.backend, "backend", "", "the `URL` to pass allowed requests on to (default: echo them)")
	return cmd
}

func (c *cli) serve(cmd *cobra.Command, f *serveFlags) error {
	where, err := f.resolve(cmd)
	if err != nil {
		return err
	}
	backend, err := backendURL(cmd, f.backend)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(c.stderr, nil))
	g, err := open(cmd.Context(), where, app.NewPrepare(log), log)
	if err != nil {
		return err
	}
	defer g.close()
	if err := g.checkAtomic(&where); err != nil {
		return err
	}
	c.warn(g.set.Warnings)
	listener, err := net.Listen("tcp", f.listen)
	if err != nil {
		return fmt.Errorf("%w; name another address by --listen", err)
	}
	c.say("listening on http://%s, %s, counters in %s", listener.Addr(), plural(len(g.set.Rules), "rule"), where.storeName())
	recorder := app.NewRecorder(log, true)
	defer recorder.Flush(context.WithoutCancel(cmd.Context()))
	handler := gateway.New(gateway.Options{Authorizer: g.authorizer(&where, recorder), Backend: backend, Log: log})
	return gateway.Serve(cmd.Context(), listener, handler)
}

// authorizer returns the Lambda's own handler. What is in this process alone has no deadline: it never waits.
func (g *ground) authorizer(where *places, recorder *app.Recorder) *apigw.Authorizer {
	config, now := app.Config{Rules: g.source, Overrides: g.overrides, Recorder: recorder}, time.Now
	if where.inMemory() {
		config.Store = memory.New(0)
	} else {
		config.Store, now = g.shared()
	}
	if !where.inMemory() || g.overrides != nil {
		config.Deadline = app.DefaultDeadline
	}
	return apigw.NewAuthorizer(app.NewEngine(config), now)
}

// backendURL reads --backend; nil if it was not given.
func backendURL(cmd *cobra.Command, text string) (*url.URL, error) {
	if text == "" {
		return nil, nil
	}
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, usagef(cmd, "--backend %s: want a URL such as http://127.0.0.1:3000", text)
	}
	if u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef(cmd, "--backend %s: want no more than scheme, host and port: what is joined to a path is not what the rules judged", text)
	}
	return u, nil
}

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%s %ss", thousands(int64(n)), noun)
}
