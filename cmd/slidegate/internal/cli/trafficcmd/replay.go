// Package trafficcmd has the commands on recorded or expected traffic: slidegate
// replay, suggest and cost.
package trafficcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/report"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/store/memory"
)

type replayFlags struct {
	command.Locations
	logs    command.Logs
	files   replayFiles
	missing string // groupMissing, or else requests that lack a key or a cost are an error
	json    *bool

	traffic   logs.Traffic
	out       io.Writer         // a line for each decision; nil for none
	recording *report.Recording // for a page; nil for none
}

// ReplayCommand returns slidegate replay.
func ReplayCommand(c *command.Console) *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay LOG... --rules FILE|dynamodb://TABLE",
		Short: "Send recorded traffic through the rules",
		Long: `Replay decides recorded requests in the order of their times, each at its own time: the log is the clock. Logs
may be gzipped; - is standard input, and a directory stands for the files in it. A line without
a time or a path is no request: it is counted and skipped, and the first is shown.

Slidegate detects the format of each log from its first lines, unless --format names it:
  clf         Apache's and NGINX's common and combined log formats, and API Gateway's CLF
  alb         Application Load Balancer
  apigateway  API Gateway: the console's JSON and CSV
  caddy, envoy, traefik  their JSON
  cloudfront  standard logs, as W3C or JSON, and real-time logs as JSON
  csv         a header line naming time method path ip route status stage header.NAME apikey jwt.NAME
  jsonl       objects with time (RFC 3339, Unix seconds, or as in clf), method, path, ip, headers, route, status,
              stage, path_params, apikey (a key's id), jwt (a token's claims), and the log of serve --log requests --json
--log-format reads other logs of NGINX. docs/logs.md says how to switch each log on, and what rules see of it.

The requests of all logs are sorted by time, in a buffer of 64 MiB for each log or of its share of 128 MiB. Those
that are further from their place come late: they are counted, and decided after later ones. --order file decides
each line as it comes, for a log that does not end.

If over 1% of the requests of an enforced rule lack a part of its key or its cost, replay fails: such a log does
not show what the rule would deny. Add the field to the log. If real requests lack it too, --missing group accepts
that: they share a counter, or pay the most.

Overrides in the rules apply. So do overrides set by command, as they are now, if the rules are in a table.
Counters in a table or in Redis are charged for good, beside those of real requests: use a table or a database of
their own.

--report writes one HTML page that loads nothing: the traffic over time, each rule, the keys that were denied
most with their peaks beside their limits, and what a month costs on AWS. For rules with one limit it also has
the same requests decided by half and by twice the limit and by the other algorithms, which takes up to ten
times as long. --decisions writes a line for each decision.
These files appear when the replay has come to its end. One of them may be -, which is standard output; then the
totals go to standard error.`,
		Example: `  slidegate replay access.log.gz --rules rules.yaml
  slidegate replay access.log access.log.1 access.log.2.gz --rules rules.yaml --json
  slidegate replay alb-logs/ --rules rules.yaml
  slidegate replay access.log --log-format '$remote_addr [$time_local] "$request" $status' --rules rules.yaml
  slidegate replay access.log.gz --rules rules.yaml --report report.html
  slidegate replay access.jsonl --rules rules.yaml --missing group
  slidegate replay access.log --rules rules.yaml --store dynamodb://replay --decisions decisions.tsv
  tail -f access.log | slidegate replay - --rules rules.yaml --order file`,
		Args: command.Positional(1, -1, "at least one log, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return runReplay(cmd.Context(), c, &f, args) },
	}
	f.AddRules(cmd)
	f.AddReplayStore(cmd)
	f.logs.Add(cmd)
	command.Choice(cmd, &f.missing, "missing",
		"if over 1% of an enforced rule's requests lack a key or a cost, do `ACTION`: fail, or group to count them together (default: fail)",
		"fail", groupMissing)
	f.files.add(cmd)
	f.json = command.JSON(cmd)
	return cmd
}

func runReplay(ctx context.Context, c *command.Console, f *replayFlags, paths []string) (err error) {
	if f.traffic, err = f.logs.Traffic(c.Stdin, paths); err != nil {
		return err
	}
	s, err := openReplay(ctx, f.Locations.Locations, c)
	if err != nil {
		return err
	}
	defer s.Close()
	totals := c.Stdout
	if f.files.decisions == "-" || f.files.report == "-" {
		totals = c.Stderr
	}
	var lacking error // the files say so themselves
	err = f.files.write(c.Stdout, func(files *replayWriters) error {
		f.out = files.decisions
		if files.report != nil {
			f.recording = newRecording(s)
		}
		report, err := f.replay(ctx, c, s)
		if err != nil && report.Requests == 0 && ctx.Err() == nil && !*f.json {
			return err // a table of zeros would hide it
		}
		// The totals are of use even if the replay did not get to its end.
		if showing := command.Show(totals, *f.json, report, printReplay); err == nil {
			err = showing
		}
		if errors.Is(err, errLacking) {
			lacking, err = err, nil
		}
		if err == nil {
			err = files.draw(f, paths, report)
		}
		return err
	})
	if err == nil {
		f.files.note(c)
	}
	return cmp.Or(err, lacking)
}

func printReplay(p *command.Printer, r *replay.Report) {
	p.Table("lrrl", replayTotals(r, p.Colours))
	printOverTime(p, r)
	p.Section("lrrrl", []string{"rule", "allowed", "denied", "", ""}, replayRules(r, rules.Enforce, p.Colours))
	p.Section("lrrrl", []string{"shadow rule", "would allow", "would deny", "", ""}, replayRules(r, rules.Shadow, p.Colours))
	var candidates, keys [][]string
	for _, c := range r.Candidates {
		candidates = append(candidates, []string{c.Limit, text.Thousands(c.WouldDeny), text.Thousands(c.WouldAllow), ""})
	}
	p.Section("lrrl", []string{"candidate capacity", "would deny", "would allow", ""}, candidates)
	for _, k := range r.TopDenied {
		keys = append(keys, []string{text.Thousands(k.Denied), k.Rule, text.Key(k.Key)})
	}
	p.Section("rll", []string{"denied", "rule", "key"}, keys)
	if lacking := lackingFields(r); len(lacking) > 0 {
		p.Section("rrlll", []string{"lacked", "", "field", "rule", "use"}, lacking)
		p.Line("The log has %s.", strings.Join(r.Fields, ", "))
	}
	if r.Writes != nil {
		p.Line("")
		p.Line("DynamoDB: %s, %s (%s and %s per request)", text.Plural(*r.Writes, "write"), text.Plural(*r.Reads, "read"),
			text.Per(*r.Writes, r.Requests), text.Per(*r.Reads, r.Requests))
	}
}

func replayTotals(r *replay.Report, on command.Colours) [][]string {
	row := func(name string, n int64, meaning string) []string {
		return []string{name, text.Thousands(n), text.Percent(n, r.Requests), meaning}
	}
	span := fmt.Sprintf("%s of traffic in %s", text.Brief(r.Span()), text.Brief(operator.Seconds(r.Elapsed)))
	rows := [][]string{
		{"requests", text.Thousands(r.Requests), "", span},
		row("allowed", r.Allowed, on.Green(text.Bar(r.Allowed, r.Requests))),
		row("denied", r.Denied, on.Red(text.Bar(r.Denied, r.Requests))),
	}
	count := func(name string, n int64, meaning string) {
		if n > 0 {
			rows = append(rows, row(name, n, meaning))
		}
	}
	count("exempt", r.Exempt, "allowed: skip, a plan or an override lifts all limits")
	count("banned", r.Banned, "denied by deny or an override, whatever the limits say")
	count("ambiguous", r.Ambiguous, "denied by ambiguous_paths: servers may read their path in several ways")
	count("would deny", r.WouldDeny, "allowed: a shadow rule or a candidate would have denied them")
	count("delayed", r.Delayed, "allowed after a wait for their turn")
	count("degraded", r.Degraded, "decided by on_error: the store failed")
	lines := func(name string, n int64, meaning string) {
		if n > 0 {
			rows = append(rows, []string{name, text.Thousands(n), "", meaning})
		}
	}
	lines("out of order", r.OutOfOrder, "lines earlier than the one before: "+r.HowOrdered())
	lines("late", r.Late, "outside the sort buffer: decided after later requests")
	lines("skipped", r.Skipped, "lines that could not be read")
	return rows
}

func lackingFields(r *replay.Report) (rows [][]string) {
	for _, rule := range r.Rules {
		for _, l := range rule.Lacking {
			share := text.Percent(l.Requests, rule.Allowed+rule.Denied+rule.WouldDeny)
			rows = append(rows, []string{text.Thousands(l.Requests), share, l.Field, rule.Rule, l.Use})
		}
	}
	return rows
}

func replayRules(r *replay.Report, mode rules.Mode, on command.Colours) (rows [][]string) {
	for _, rule := range r.Rules {
		if rule.Mode != mode {
			continue
		}
		denied := rule.Denied + rule.WouldDeny // one of them is 0
		all := rule.Allowed + denied
		last := on.Red(text.Bar(denied, all))
		if !rule.Covered && r.Requests > 0 {
			last = "covered nothing: slidegate explain says why"
		}
		rows = append(rows, []string{rule.Rule, text.Thousands(rule.Allowed), text.Thousands(denied), text.Percent(denied, all), last})
	}
	return rows
}

// replayFiles are the files that a replay writes; empty for none, - for standard
// output.
type replayFiles struct{ decisions, report string }

// replayWriters are the files while they are written; nil for none.
type replayWriters struct{ decisions, report io.Writer }

func (f *replayFiles) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.decisions, "decisions", "", "write every decision to a file, `OUT`, or - for standard output")
	cmd.Flags().StringVar(&f.report, "report", "", "write a page with charts and other limits to a file, `OUT`, or - for standard output")
	command.Complete(cmd, "report", command.FilesOf("html"))
	command.Refuse(cmd, func() bool { return f.decisions == "-" && f.report == "-" }, "only one of --decisions and --report can be -: give the other a file")
}

// note says which files there are now.
func (f *replayFiles) note(c *command.Console) {
	for _, path := range []string{f.decisions, f.report} {
		if path != "" && path != "-" {
			c.Note("wrote %s", path)
		}
	}
}

// write calls run with the files. They appear if run succeeds. If a file cannot
// be created, write fails before it calls run.
func (f *replayFiles) write(stdout io.Writer, run func(*replayWriters) error) error {
	decide := func(page io.Writer) error {
		if f.decisions == "" {
			return run(&replayWriters{report: page})
		}
		return command.WriteFile(f.decisions, stdout, func(out io.Writer) error { return run(&replayWriters{out, page}) })
	}
	if f.report == "" {
		return decide(nil)
	}
	return command.WriteFile(f.report, stdout, decide)
}

// draw writes the page of a replay.
func (w *replayWriters) draw(f *replayFlags, logs []string, totals *replay.Report) error {
	if w.report == nil {
		return nil
	}
	from := report.Source{Rules: f.Locations.RulesName(), Version: command.ReadBuild().Version}
	for _, path := range logs {
		if path == command.Stdin {
			path = "standard input"
		}
		from.Logs = append(from.Logs, filepath.Base(path))
	}
	return report.Write(w.report, from, totals, f.recording)
}

// A replay draws its traffic over time in at most mostBars bars. A log that is
// too short for fewestBars, or has too few requests, shows nothing by that.
const mostBars, fewestBars, fewestRequests = 64, 8, 100

// printOverTime draws what was allowed and denied over time. All lines have one
// scale. It is for people, on a terminal or not: scripts read --json.
func printOverTime(p *command.Printer, r *replay.Report) {
	o, buckets := &r.OverTime, r.OverTime.Buckets()
	if len(buckets) < fewestBars || r.Requests < fewestRequests {
		return
	}
	each := (len(buckets) + mostBars - 1) / mostBars
	n := (len(buckets) + each - 1) / each
	allowed, would, denied := make([]int64, n), make([]int64, n), make([]int64, n)
	var highest, anyWould, anyDenied int64
	for i, c := range buckets {
		i /= each
		allowed[i] += c.Allowed + c.WouldDeny
		would[i] += c.WouldDeny
		denied[i] += c.Denied
		highest = max(highest, allowed[i], denied[i])
		anyWould, anyDenied = anyWould+c.WouldDeny, anyDenied+c.Denied
	}
	rows := [][]string{{"allowed", p.Green(text.Spark(allowed, highest))}}
	if anyWould > 0 {
		rows = append(rows, []string{"would deny", text.Spark(would, highest)})
	}
	if anyDenied > 0 {
		rows = append(rows, []string{"denied", p.Red(text.Spark(denied, highest))})
	}
	p.Section("ll", []string{"over time", "each bar is " + text.Duration(o.Bucket()*time.Duration(each)) + ", from " + o.From().UTC().Format("2006-01-02 15:04:05") + " UTC on"}, rows)
}

// replayDeadline bounds the store's part of a decision. It is generous: no
// client waits for the answer.
const replayDeadline = 3 * time.Second

// openReplay opens a session for replay.
func openReplay(ctx context.Context, where session.Locations, c *command.Console) (*session.Session, error) {
	prepare := func(_ string, set *rules.Set) error {
		operator.WarnAll(c, set.Warnings)
		return operator.LoadSecrets(set, where.Remote(), c)
	}
	s, err := session.OpenToCharge(ctx, where, prepare, nil)
	if err == nil && where.RulesTable != "" {
		s.Overrides = replay.Overrides{Source: operator.RecordedOverrides(s.Table(), c), At: time.Now()}
	}
	return s, err
}

// groupMissing accepts that requests without a part of a key share a counter.
const groupMissing = "group"

// errLacking is the error of a replay to the end whose requests lack what rules
// read.
var errLacking = errors.New("log the fields, or say --missing group if real requests lack them too")

// replay sends recorded traffic through the session's rules. It returns a report
// also with an error, of what was replayed so far.
func (f *replayFlags) replay(ctx context.Context, c *command.Console, s *session.Session) (*replay.Report, error) {
	store, calls := s.Recorded()
	var failures replay.Failures
	deadline := replayDeadline
	if !s.Remote() {
		deadline = 0 // nothing to wait for, and a timer would take a tenth of a decision
	}
	progress := c.Progress()
	var seen func(context.Context, *logs.Entry, *request.Request, *engine.Decision) error
	if f.recording != nil {
		seen = f.recording.Seen
		if s.InMemory() {
			f.recording.Own.Writes = report.Count(store, s.Rules)
			store = f.recording.Own.Writes
		}
	}
	result, err := replay.Run(ctx, operator.Recorded(f.traffic, progress, c), replay.Options{
		Engine: engine.New(engine.Options{
			Rules: engine.Fixed{Set: s.Rules}, Overrides: s.Overrides, Store: store, Local: memory.New(0), Observer: &failures,
			Deadline: deadline,
		}),
		Rules: s.Rules, Decisions: f.out, Seen: seen,
	})
	progress.Clear()
	operator.NoteLog(&result.Extent, c)
	if calls != nil {
		reads, writes := calls()
		result.Reads, result.Writes = &reads, &writes
	}
	if errors.Is(err, context.Canceled) {
		return result, errors.New("interrupted: the totals are of what was replayed so far")
	}
	err = operator.ReplayError(result.Requests, result.Degraded, err, failures.First())
	if lacking := operator.WhatLacks(result); err == nil && lacking != nil && f.missing != groupMissing {
		err = fmt.Errorf("%w; %w", errors.Join(lacking...), errLacking)
	}
	return result, err
}

// newRecording returns a recording of a replay of the session's rules, with the
// scenarios of its page. Each has counters in memory and the session's
// overrides.
func newRecording(s *session.Session) *report.Recording {
	r := report.NewRecording(s.Rules)
	for _, v := range report.Variants(s.Rules) {
		if v.Set == nil {
			r.Left = append(r.Left, v)
			continue
		}
		// The replay's own rules have the same secrets, and it has warned of those
		// that are missing.
		_ = v.Set.LoadSecrets(os.LookupEnv)
		counted := report.Count(memory.NewSequential(session.RecordedKeys/4), v.Set)
		r.Others = append(r.Others, &report.Scenario{
			Name: v.Name, Writes: counted,
			Engine: engine.New(engine.Options{
				Rules: engine.Fixed{Set: v.Set}, Overrides: s.Overrides, Store: counted, Local: memory.New(0),
			}),
		})
	}
	return r
}
