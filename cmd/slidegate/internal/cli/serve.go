package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
)

func serveCommand(c *command.Console) *cobra.Command {
	var where command.Locations
	var listen, admin, logs string
	var o operator.ServeOptions
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "serve --rules FILE|dynamodb://TABLE",
		Short: "Run the local gateway, or decide for other programs",
		Long: `Serve limits requests before a backend, with the engine of the Lambda authorizer. Allowed requests go on to
the backend, or are echoed. A request that a leaky bucket admits waits for its turn; one whose turn is more
than 10 seconds away is denied. On SIGINT, serve finishes the requests under way, for 15 seconds at most, and
stops. On SIGTERM it takes requests for the time of --drain before that. A second signal ends it at once.

Rules in a table are read again every five seconds. A rules file is read again within three seconds after it
changes, and on SIGHUP. Counters stay. If the new rules are wrong, the log says why, and the old ones stay.

With --decide it is no gateway: other programs and proxies ask it about each of their requests. POST
/v1/decisions takes a request as JSON and answers with the decision. Proxies ask /v1/forward-auth (Traefik,
Caddy), /v1/auth-request (nginx) or /v1/ext-authz (Envoy). /openapi.json describes all of it. Serve trusts
what a request states, the client's address too: let only your programs and proxies reach the address. With
SLIDEGATE_DECIDE_TOKEN in the environment, programs have to send it as "Authorization: Bearer TOKEN", and
proxies as "Slidegate-Token: TOKEN". On loopback, serve refuses web pages: requests of browsers, and names
other than localhost in Host.

Where an outcome can correct the charges of a decision, or work is in flight, the decision has a receipt. POST
/v1/settlements settles by it, once, and POST /v1/renewals keeps a place in flight. SLIDEGATE_RECEIPT_SECRET in
the environment signs receipts: give all servers over one store the same. Proxies get receipts only with it.
Without it, counters in memory have a secret of their own.

With --usage-path, a GET of that path answers a caller with what it has used of each limit, and is charged
nothing. The path does not reach the backend then. With --decide, programs POST a request there, as for a decision.

With --admin, operators get a page for browsers at /, metrics for Prometheus at /metrics, the status as JSON at
/v1/status, and health at /healthz and /readyz, on an address of their own. The page shows rates, keys near
their limits, denials with their reasons, and the rules in force, and tries a request without charging it. It
changes nothing. Page and status have keys. /readyz answers 503 from SIGTERM on. It stays 200 while the store
does not answer, because on_error decides meanwhile.

Every ten seconds in which requests are denied, the log has a line for each rule: how many, the ten keys denied
most, and the number of all others. --log requests adds a line for each decision. Keys may be personal data.

With --json the log, and what serve prints at its start, are JSON, a line each, on standard error.`,
		Example: `  slidegate serve --rules examples/rules.yaml
  slidegate serve --rules rules.yaml --listen 127.0.0.1:9000 --backend http://127.0.0.1:3000
  slidegate serve --rules dynamodb://slidegate-rules --store dynamodb://slidegate-counters
  slidegate serve --rules rules.yaml --store redis://127.0.0.1:6379/0
  slidegate serve --rules rules.yaml --admin 127.0.0.1:9090
  slidegate serve --rules rules.yaml --usage-path /usage
  slidegate serve --rules rules.yaml --decide
  curl -s http://127.0.0.1:8080/v1/decisions --json '{"method": "GET", "path": "/", "ip": "203.0.113.9"}'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if len(args) == 1 {
				return command.Usagef("want no arguments besides flags, got %s: write --rules %[1]s", args[0])
			}
			return command.NoArguments(cmd, args)
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			log := slog.New(slog.NewTextHandler(c.Stderr, nil))
			if asJSON {
				log = slog.New(slog.NewJSONHandler(c.Stderr, nil))
			}
			o.LogRequests = logs == "requests"
			if admin != "" && !cmd.Flags().Changed("drain") { // /readyz says so
				o.Drain = 5 * time.Second
			}
			return serve(cmd.Context(), c, where.Locations, listen, admin, o, log, asJSON)
		},
	}
	where.AddRules(cmd)
	where.AddStore(cmd)
	cmd.Flags().StringVar(&listen, "listen", "127.0.0.1:8080", "the address to listen on, `HOST:PORT`")
	cmd.Flags().StringVar(&admin, "admin", "", "serve a live page, metrics, health and status at `HOST:PORT` (default: do not)")
	command.Check(cmd, func() error {
		return errors.Join(checkAddress("listen", listen, "8080"), checkAddress("admin", admin, "9090"))
	})
	cmd.Flags().BoolVar(&asJSON, "json", false, "log as JSON")
	command.Choice(cmd, &logs, "log", "what to log of decisions: `WHAT` is summary (default), or requests for a line each", "summary", "requests")
	cmd.Flags().BoolVar(&o.Decide, "decide", false, "answer programs and proxies that ask for decisions")
	command.Check(cmd, func() error {
		o.Token = os.Getenv(tokenVariable)
		unfit := strings.ContainsFunc(o.Token, func(r rune) bool { return r <= ' ' || r > '~' }) // for a header
		if o.Decide && o.Token != "" && (unfit || len(o.Token) < 16) {
			return errors.New(tokenVariable + ": want 16 characters or more, ASCII without spaces and line breaks")
		}
		return nil
	})
	command.Refuse(cmd, func() bool { return o.Decide && (o.Backend != nil || o.Timeouts.Backend != 0 || o.PassHost) },
		"--decide passes no requests on: leave out --backend, --backend-timeout and --pass-host")
	command.Refuse(cmd, func() bool { return o.Backend == nil && (o.Timeouts.Backend != 0 || o.PassHost) },
		"--backend-timeout and --pass-host are for --backend URL, which is missing")
	cmd.Flags().StringVar(&o.UsagePath, "usage-path", "", "answer callers at `PATH` with what they have used of their limits (default: do not)")
	command.Check(cmd, func() error { return operator.CheckUsagePath(o.UsagePath, o.Decide) })
	command.Var(cmd, &o.Backend, "backend", "the `URL` to pass allowed requests on to (default: echo them)", parseBackend)
	timeout := func(to *time.Duration, name string, byDefault time.Duration, usage string) {
		command.Var(cmd, to, name, fmt.Sprintf("%s, a `DURATION` (default: %s)", usage, text.Duration(byDefault)), command.Timeout(name))
	}
	timeout(&o.Timeouts.Read, "read-timeout", operator.DefaultTimeouts.Read, "how long a client may take to send a request with its body")
	timeout(&o.Timeouts.Idle, "idle-timeout", operator.DefaultTimeouts.Idle, "how long a connection may wait for its next request, longer than the load balancer's own")
	timeout(&o.Deadline, "deadline", operator.DefaultDeadline, "how long a decision may wait for DynamoDB or Redis before on_error decides")
	command.Var(cmd, &o.HeaderSize, "header-size", "the most `BYTES` of a request's header (default: 10240; 65536 with --decide)", parseHeaderSize)
	command.Var(cmd, &where.MaxKeys, "max-keys", "the most `KEYS` to count in memory, of about 0.1 to 1.2 KB each; above it new keys are denied (default: 250000)", parseMaxKeys)
	command.Refuse(cmd, func() bool { return where.MaxKeys != 0 && !where.InMemory() }, "--max-keys is for counters in memory, without --store and SLIDEGATE_STORE")
	command.Refuse(cmd, func() bool { return o.Deadline != 0 && where.InMemory() && where.RulesFile != "" },
		"--deadline is for rules or counters in DynamoDB or Redis, and there are none: leave it out")
	command.Var(cmd, &o.Drain, "drain", "how long to take requests after SIGTERM, a `DURATION` or 0 (default: 5s with --admin, else 0)", func(text string) (time.Duration, error) {
		d, err := time.ParseDuration(text) // 0 needs no unit
		if err != nil || d < 0 {
			return 0, fmt.Errorf("--drain %s: want a duration such as 30s or 5m, or 0", text)
		}
		return d, nil
	})
	cmd.Flags().BoolVar(&o.PassHost, "pass-host", false, "pass the client's Host on to the backend (default: the backend's own)")
	timeout(&o.Timeouts.Backend, "backend-timeout", operator.DefaultTimeouts.Backend,
		"how long the backend may take to read a part of a request, or to begin its answer")
	return cmd
}

func healthCommand(c *command.Console) *cobra.Command {
	return &cobra.Command{
		Use:   "health [HOST:PORT]",
		Short: "Ask a running serve whether it is healthy",
		Long: `Health asks the address of serve --admin, by default 127.0.0.1:9090, or that of serve --decide for /healthz. It
exits with 0 if serve answers within 3 seconds that it is healthy, else with 1. A container checks itself by it.`,
		Example: `  slidegate health
  slidegate health 127.0.0.1:8080`,
		Args:              command.Positional(0, 1, "at most one address"),
		ValidArgsFunction: command.NoWords,
		RunE: func(_ *cobra.Command, args []string) error {
			address := append(args, "127.0.0.1:9090")[0]
			if _, _, err := net.SplitHostPort(address); err != nil {
				return command.Usagef("%s: want HOST:PORT, such as 127.0.0.1:9090", address)
			}
			client := http.Client{Transport: new(http.Transport), Timeout: 3 * time.Second} // by no proxy
			answer, err := client.Get("http://" + address + "/healthz")
			if err != nil {
				return fmt.Errorf("%w: want the address of a running serve --admin or serve --decide", err)
			}
			defer answer.Body.Close()
			body, err := io.ReadAll(io.LimitReader(answer.Body, 100)) // a gateway may pass /healthz on to its backend
			if healthy := `{"status":"ok"}` + "\n"; err != nil || string(body) != healthy {
				return fmt.Errorf("http://%s/healthz answers %s %q: want the address of serve --admin or serve --decide", address, answer.Status, body)
			}
			_, err = c.Stdout.Write(body)
			return err
		},
	}
}

// checkAddress refuses an address to listen on; an empty one is none.
func checkAddress(flag, address, port string) error {
	if _, _, err := net.SplitHostPort(address); err != nil && (address != "" || flag == "listen") {
		return fmt.Errorf("--%s %s: want HOST:PORT, such as 127.0.0.1:%s", flag, address, port)
	}
	return nil
}

// tokenVariable is the environment variable with the token that those who ask for
// decisions have to send.
const tokenVariable = "SLIDEGATE_DECIDE_TOKEN"

func serve(ctx context.Context, c *command.Console, where session.Locations, listen, admin string, o operator.ServeOptions, log *slog.Logger, asJSON bool) error {
	reload := make(chan os.Signal, 1)
	if where.RulesFile != "" { // else it ends the program, as usual
		signal.Notify(reload, syscall.SIGHUP)
		defer signal.Stop(reload)
	}
	s, err := operator.OpenGateway(ctx, where, reload, log)
	if err != nil {
		return err
	}
	defer s.Close()
	if o.Decide {
		if err := o.SignReceipts(s, os.Getenv(operator.ReceiptVariable)); err != nil {
			return err
		}
	}
	listener, err := net.Listen("tcp", listen)
	if err != nil {
		return fmt.Errorf("%w; name another address by --listen", err)
	}
	if admin != "" {
		o.Version = command.ReadBuild().Version
		if o.Admin, err = net.Listen("tcp", admin); err != nil {
			return fmt.Errorf("%w; name another address by --admin", err)
		}
	}
	a := announcement{Session: s, address: listener.Addr(), open: o.Decide && o.Token == "" && exposed(listener.Addr())}
	if o.Admin != nil {
		a.admin = o.Admin.Addr()
	}
	if asJSON {
		a.log(log)
	} else {
		a.print(c)
	}
	return operator.Serve(ctx, s, listener, o, log)
}

// announcement says where serve listens, and warns of addresses that other
// machines may reach.
type announcement struct {
	*session.Session
	address net.Addr
	admin   net.Addr // nil for none
	open    bool     // all who reach the address get decisions
}

func (a *announcement) print(c *command.Console) {
	operator.WarnAll(c, a.Warnings())
	if a.open {
		c.Warn("%s: %s", a.address, exposure)
	}
	if a.admin != nil {
		if exposed(a.admin) {
			c.Warn("%s: %s", a.admin, adminExposure)
		}
		c.Note("live page on http://%s, metrics and status at /metrics and /v1/status", a.admin)
	}
	c.Note("listening on http://%s, %s, counters in %s", a.address, text.Plural(len(a.Rules.Rules), "rule"), a.StoreName())
	if shares := operator.ListShares(a.Session); len(shares) > 0 {
		c.Note("on_error: local counts in this process, as one of %d: %s", a.Rules.Instances, strings.Join(shares, "; "))
	}
}

// log is print for a log as JSON.
func (a *announcement) log(log *slog.Logger) {
	for _, w := range a.Warnings() {
		log.Warn("rules", "warning", w)
	}
	if a.open {
		log.Warn(exposure, "address", a.address.String())
	}
	attrs := []any{"url", "http://" + a.address.String(), "rules", len(a.Rules.Rules), "store", a.StoreName()}
	if a.admin != nil {
		if exposed(a.admin) {
			log.Warn(adminExposure, "address", a.admin.String())
		}
		attrs = append(attrs, "admin", "http://"+a.admin.String())
	}
	if shares := operator.ListShares(a.Session); len(shares) > 0 {
		attrs = append(attrs, "instances", a.Rules.Instances, "local", shares)
	}
	log.Info("listening", attrs...)
}

const (
	exposure      = "clients that reach this address can use up and evade every limit: let only your programs and proxies reach it, or set " + tokenVariable
	adminExposure = "clients that reach the admin address see metrics and keys: let only your operators and their programs reach it"
)

// exposed reports whether other machines may reach an address.
func exposed(address net.Addr) bool {
	tcp, ok := address.(*net.TCPAddr)
	return ok && !tcp.IP.IsLoopback()
}

// parseHeaderSize reads --header-size.
func parseHeaderSize(text string) (int, error) {
	size, err := strconv.Atoi(text)
	if err != nil || size < 1<<10 || size > 1<<20 {
		return 0, fmt.Errorf("--header-size %s: want a number of bytes from 1024 to 1048576", text)
	}
	return size, nil
}

// parseMaxKeys reads --max-keys.
func parseMaxKeys(text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1000 || n > 1e9 {
		return 0, fmt.Errorf("--max-keys %s: want a number of keys from 1000 to 1000000000", text)
	}
	return n, nil
}

// parseBackend reads --backend. Its errors omit any text that may contain a
// password.
func parseBackend(text string) (*url.URL, error) {
	u, err := url.Parse(text)
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("--backend: want a URL such as http://127.0.0.1:3000")
	case u.User != nil:
		return nil, errors.New("--backend: want no user and password: clients' requests bring their own Authorization")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("--backend: want only scheme, host and port: rules would not see what is joined to a path")
	}
	return u, nil
}
