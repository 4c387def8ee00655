package operator

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"os"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/admin"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/decideapi"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/serve/gateway"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/api"
	"github.com/slidegate/slidegate/internal/decide/authn"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/decide/receipt"
	"github.com/slidegate/slidegate/internal/decide/usage"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// OpenGateway opens a session for Serve. Rules in a file follow the file until
// the context ends: as it changes, and at each signal.
func OpenGateway(ctx context.Context, where session.Locations, signals <-chan os.Signal, log *slog.Logger) (*session.Session, error) {
	prepare := countAlone(warnOfMissing(app.NewPrepare(log), where.RulesFile == "", log))
	s, err := session.OpenToCharge(ctx, where, prepare, log)
	if err != nil || where.RulesFile == "" {
		return s, err
	}
	file := s.File.Follow(log, s.Rules, func(text []byte) (*rules.Set, error) {
		set, err := session.ParsePrepared(where.RulesFile, text, prepare)
		if err == nil {
			err = s.CheckCharges(set)
		}
		return set, err
	})
	s.Source, file.Now = file, s.Now
	go file.Watch(ctx, time.NewTicker(rulefile.LookEvery).C, signals)
	return s, nil
}

// countAlone makes rules that do not state how many processes share the load
// count for this one.
func countAlone(prepare app.Prepare) app.Prepare {
	return func(name string, set *rules.Set) error {
		if !set.Stated {
			set.Instances = 1
		}
		return prepare(name, set)
	}
}

// maxShares is the number of rules whose shares are listed as serve starts.
const maxShares = 10

// ListShares lists what rules with on_error: local count in this process while the
// store of the session is away.
func ListShares(s *session.Session) (lines []string) {
	for _, r := range s.Rules.Rules {
		if r.OnError == rules.OnErrorLocal && r.Mode != rules.Off && !s.InMemory() {
			lines = append(lines, r.Name+": "+strings.Join(LocalShares(s.Rules, r), ", "))
		}
	}
	if more := len(lines) - maxShares; more > 0 {
		lines = append(lines[:maxShares], text.Plural(more, "more rule"))
	}
	return lines
}

// warnOfMissing warns, for each document, of API keys that the local gateway cannot
// verify, and of GraphQL operations, which it does not see.
func warnOfMissing(prepare app.Prepare, table bool, log *slog.Logger) app.Prepare {
	return func(name string, set *rules.Set) error {
		if err := prepare(name, set); err != nil {
			return err
		}
		lint.WarnOfOperation(log, name, set)
		a := set.Document().Authentication
		switch {
		case a == nil || a.APIKey == nil:
		case a.APIKey.From != "":
			log.Warn("there are no API keys of API Gateway here: a caller has one only if a program states it, by apikey of POST /v1/decisions", "rules", name)
		case !table:
			log.Warn("API keys cannot be verified, because they are in a rules table: serve with --rules dynamodb://TABLE",
				"rules", name, "on_error", a.OnError)
		}
		return nil
	}
}

// DefaultTimeouts are those of the local gateway.
var DefaultTimeouts = gateway.DefaultTimeouts

// DefaultDeadline bounds a decision by a store or rules on another machine.
const DefaultDeadline = engine.DefaultDeadline

// ServeOptions set up the local gateway.
type ServeOptions struct {
	// LogRequests has a line of the log for each decision.
	LogRequests bool
	Decide      bool     // answer with decisions in place of the gateway
	Token       string   // that those who ask for decisions must send; empty for none
	Backend     *url.URL // nil echoes the requests
	PassHost    bool     // the backend gets the client's Host
	UsagePath   string   // that answers callers with their usage; empty for none
	Timeouts    gateway.Timeouts
	Deadline    time.Duration // of a decision, and of a report of usage; 0 for DefaultDeadline
	HeaderSize  int           // of a request, in bytes; 0 for the default
	Drain       time.Duration // from SIGTERM until no more requests are taken
	Admin       net.Listener  // for the live page, metrics and status; nil for none
	Version     string        // of slidegate, for the status

	receipts receipt.Keys // of decisions; nil for none
	proxies  bool         // proxies get receipts too
}

// CheckUsagePath returns what is wrong with --usage-path; an empty one is none.
func CheckUsagePath(path string, decide bool) error {
	check := usage.CheckPath
	if decide {
		check = decideapi.CheckUsagePath
	}
	if path == "" {
		return nil
	}
	if err := check(path); err != nil {
		return fmt.Errorf("--usage-path %s: %w", path, err)
	}
	return nil
}

// ReceiptVariable is the environment variable with the secret that signs receipts.
const ReceiptVariable = "SLIDEGATE_RECEIPT_SECRET"

// SignReceipts has decisions signed by the secret, "" for none. Counters in memory
// then have a secret of their process. It refuses rules that need receipts if their
// counters are shared. If rules in a table become so later, the log says so.
func (o *ServeOptions) SignReceipts(s *session.Session, secret string) (err error) {
	switch o.proxies = secret != ""; {
	case o.proxies:
		if o.receipts, err = receipt.ParseKeys(secret); err != nil {
			return fmt.Errorf("%s: %w", ReceiptVariable, err)
		}
		return nil
	case s.InMemory():
		o.receipts = receipt.Keys{[]byte(rand.Text())}
		return nil
	}
	for _, r := range s.Rules.Rules {
		settles := slices.ContainsFunc(r.Costs, func(c rules.Cost) bool { return c.Settle })
		if r.Mode != rules.Off && (settles || rules.InFlight(r.Limits) >= 0) {
			return fmt.Errorf("%s is not set, and rule %s settles or has places in flight: give all servers over %s the same secret, "+
				"such as `openssl rand -hex 32` prints, which signs receipts", ReceiptVariable, r.Name, s.StoreName())
		}
	}
	return nil
}

// Serve runs the local gateway, or the API of decisions, until the context ends.
func Serve(ctx context.Context, s *session.Session, listener net.Listener, o ServeOptions, log *slog.Logger) error {
	app.SetDefaultLog(log)
	decisions := newDecisionLog(log, o.LogRequests)
	serving := o.drain(ctx, log)
	go decisions.Run(serving)
	defer decisions.Flush(context.WithoutCancel(ctx))
	local, store := app.NewLocal(s.LocalNow), s.Counters()
	observer, watching := engine.Observer(decisions), admin.NewObserver(decisions)
	if o.Admin != nil {
		observer = watching
	}
	recorder := s.NewRecorder(observer, local.Len)
	config := engine.Options{
		Rules: s.Source, Overrides: s.Overrides, Store: store, Local: local, Admitted: local.Note, Observer: recorder,
	}
	if s.Remote() { // else a decision never waits
		config.Deadline = cmp.Or(o.Deadline, DefaultDeadline)
	}
	var keys authn.APIKeys
	if table := s.Table(); table != nil {
		keys = app.NewAPIKeys(table, log)
	}
	callers := authn.New(s.Source, keys, nil, oplog.Throttle(log, "issuer", "reason"))
	callers.Warm(ctx, s.Now())
	decider := &engine.Decider{Engine: app.NewEngine(config), Now: s.Now, Callers: callers, Rejected: recorder.Rejected}
	if o.Admin != nil {
		defer serveAdmin(ctx, s, o, &watched{s, recorder, watching, store}, log)()
	}
	reporter := usage.New(usage.Options{Rules: config.Rules, Overrides: config.Overrides, Store: config.Store, Now: s.Now, Deadline: o.Deadline})
	if o.Decide {
		handler := decideapi.New(&api.API{
			Calls:   []string{api.Decisions, api.Settlements, api.Renewals, api.Usage},
			Decider: decider, Usage: reporter.Of, Keys: o.receipts, Store: store, Now: s.Now, Observer: recorder, Log: oplog.Throttle(log, "rule"),
		}, o.Token)
		handler.UsagePath, handler.Receipts = o.UsagePath, o.proxies
		server := gateway.Server{Handler: handler, Timeouts: o.Timeouts, HeaderSize: cmp.Or(o.HeaderSize, decideapi.HeaderSize), Log: log}
		return server.Serve(serving, listener)
	}
	handler := gateway.New(gateway.Options{
		Decider: decider, Backend: o.Backend, PassHost: o.PassHost, Timeouts: o.Timeouts, Log: log, UsagePath: o.UsagePath, Usage: reporter.Of,
	})
	return gateway.Server{Handler: handler, Timeouts: o.Timeouts, HeaderSize: o.HeaderSize, Log: log}.Serve(serving, listener)
}

// drain returns a context that ends with ctx, or Drain after a SIGTERM. In between,
// load balancers learn from /readyz to send no more requests. Somebody at a
// terminal, who interrupts, need not wait.
func (o *ServeOptions) drain(ctx context.Context, log *slog.Logger) context.Context {
	serving, end := context.WithCancel(context.WithoutCancel(ctx))
	context.AfterFunc(ctx, func() {
		defer end()
		if cause := context.Cause(ctx).Error(); o.Drain > 0 && strings.HasPrefix(cause, syscall.SIGTERM.String()) {
			log.Info("draining: requests are still taken, and /readyz answers 503", "for", o.Drain.String())
			time.Sleep(o.Drain)
			log.Info("drained: no more requests are taken")
		}
	})
	return serving
}

// adminWriteTime is how long a client of the admin address may take no more of an
// answer, whose buffers are full by then. One that goes on would delay the end of
// serve.
const adminWriteTime = 5 * time.Second

// serveAdmin serves metrics, status and the page, also while the last requests
// end, until stop is called.
func serveAdmin(ctx context.Context, s *session.Session, o ServeOptions, w *watched, log *slog.Logger) (stop func()) {
	snapshot := func() *telemetry.Snapshot { return w.recorder.Snapshot(s.Now()) }
	adminCtx, end := context.WithCancel(context.WithoutCancel(ctx))
	inForce := func() (*rules.Set, error) { return s.Source.Rules(adminCtx, s.Now()) }
	notReloaded := func() error { return nil }
	if file, ok := s.Source.(*rulefile.Follower); ok {
		notReloaded = file.Problem
	}
	reports := admin.Options{
		Snapshot: snapshot, NotReloaded: notReloaded, Rules: inForce,
		Now: time.Now, Version: o.Version, Store: s.StoreName(), RulesFrom: s.RulesName(), Stopping: ctx,
		Explain: w.explain, Observer: w.observer,
	}
	handler := admin.New(reports)
	server := gateway.Server{Handler: handler, Timeouts: gateway.Timeouts{Write: adminWriteTime}, Log: log}
	go handler.Run(adminCtx, time.NewTicker(time.Second).C)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		if err := server.Serve(adminCtx, o.Admin); err != nil {
			log.Error("the admin address is not served any more", "error", err)
		}
	}()
	return func() {
		end()
		<-ended
	}
}

// watched is what the admin address shows of a limiter that runs.
type watched struct {
	*session.Session
	recorder *telemetry.Recorder
	observer *admin.Observer
	store    limit.Store // of the limiter: counters in memory are in no other
}

// explain is Explain by the rules in force and the limiter's own counters.
func (w *watched) explain(ctx context.Context, req *request.Request) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, session.LookTime)
	defer cancel()
	set, err := w.Source.Rules(ctx, w.Now())
	if err != nil {
		return nil, err
	}
	own := *req // which resolving changes
	return newExplainer(NewLookup(set, w.Table(), w.Now()), w.store).explain(ctx, &own)
}
