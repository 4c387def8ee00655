package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/replay"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/ruletable"
)

const (
	// replayDeadline bounds the store's part of a decision. Nobody waits for the answer, so it is generous.
	replayDeadline = 3 * time.Second
	// replayKeys bounds the keys that live at once in memory: about 1 GB with one limit of a few slots in use.
	replayKeys = 4_000_000
	// replayOverrides bounds the keys whose overrides are kept in memory: about 200 MB where most have none.
	replayOverrides = 1_000_000
)

type replayFlags struct {
	placeFlags
	format, decisions, speed string
	json                     bool
}

func (c *cli) replayCommand() *cobra.Command {
	var f replayFlags
	cmd := &cobra.Command{
		Use:   "replay LOG... --rules FILE|dynamodb://TABLE",
		Short: "Send recorded traffic through the rules",
		Long: `Replay judges recorded requests in the order of the files, each at its own time: the log is the clock. Logs
may be gzipped; - is standard input. A line that cannot be read is counted and passed over, and the first
is shown.

Formats, guessed by the suffix (also before .gz), else clf:
  clf    Apache's and NGINX's common and combined log formats (headers: user-agent, referer)
  jsonl  objects with time (RFC 3339 or Unix seconds), method, path, ip, headers, route, apikey (a key's id),
         jwt (the claims of a token, an object)
  csv    a header line naming time method path ip route header.NAME apikey jwt.NAME
Only time is required. Credentials count as verified ones.

Overrides are those of the rules document and, where the rules are in a table, those set by command, as they
are now: each key that has requests is looked up once. They hold until they end by the log's clock, a grant
from when it was given. A replay in which one could not be read fails.

A capacity on trial (candidate) is judged by what the one in force has counted: a lower one is said to deny
rather more than it would.

Counters in a table or in Redis are charged for good, beside those of real requests: use a table
or a database of their own.

With --decisions a line is written for each request and rule that covers it (of a denied request for the
denying rule alone), with tabs between Unix nanoseconds, rule, key, 1 or 0, remaining, and retry-after in
nanoseconds (0 where allowed, -1 for never). A rule on trial (mode: shadow) has lines of its own verdicts.
The file appears when the replay has succeeded. With --decisions - they go to standard output and the
totals to standard error.`,
		Example: `  slidegate replay access.log.gz --rules rules.yaml
  slidegate replay monday.jsonl tuesday.jsonl --rules rules.yaml --json
  slidegate replay access.log --rules rules.yaml --store dynamodb://replay --decisions decisions.tsv
  tail -f access.log | slidegate replay - --rules rules.yaml --speed 1`,
		Args: positional(1, -1, "at least one log, or - for standard input"),
		RunE: func(cmd *cobra.Command, args []string) error { return c.replay(cmd, &f, args) },
	}
	f.add(cmd, memoryStore)
	cmd.Flags().StringVar(&f.format, "format", "", "the logs' `FORMAT`: clf, jsonl or csv (default: by suffix)")
	cmd.Flags().StringVar(&f.speed, "speed", "", "pace the replay, `N` seconds of the log in a second (default: as fast as it goes)")
	cmd.Flags().StringVar(&f.decisions, "decisions", "", "write every decision to a file, `OUT`, or - for standard output")
	jsonFlag(cmd, &f.json)
	return cmd
}

func (c *cli) replay(cmd *cobra.Command, f *replayFlags, paths []string) error {
	where, err := f.resolve(cmd)
	if err != nil {
		return err
	}
	speed, err := parseSpeed(cmd, f.speed)
	if err != nil {
		return err
	}
	logs, err := c.logs(cmd, f.format, paths)
	if err != nil {
		return err
	}
	g, err := c.openReplay(cmd.Context(), where)
	if err != nil {
		return err
	}
	defer g.close()
	out, err := createOutput(f.decisions, c.stdout)
	if err != nil {
		return err
	}
	defer out.abandon()
	result, err := c.runReplay(cmd.Context(), g, logs, speed, out.w)
	if shown := c.showReplay(result, f); err == nil {
		err = shown
	}
	if err == nil {
		err = out.commit()
	}
	return err
}

// openReplay opens the ground of a replay: rules that it can judge by, and what operators have set beside them.
func (c *cli) openReplay(ctx context.Context, where places) (*ground, error) {
	g, err := open(ctx, where, func(string, *rules.Set) error { return nil }, slog.New(slog.DiscardHandler))
	if err != nil {
		return nil, err
	}
	if err = g.checkAtomic(&where); err == nil {
		c.warn(g.set.Warnings)
		err = c.unlock(g.set, g.client != nil || g.redis != nil)
	}
	if err != nil {
		g.close()
		return nil, err
	}
	if where.rules != "" {
		g.overrides = replay.Overrides{Source: c.tableOverrides(ruletable.New(g.client, where.rules)), At: time.Now()}
	}
	return g, nil
}

// tableOverrides returns the overrides set by command for recorded traffic, which asks for all of them at one moment: each
// key that has requests is looked up once, and never again.
func (c *cli) tableOverrides(table *ruletable.Table) engine.OverrideSource {
	return ruletable.NewOverrideCache(table, ruletable.OverrideCacheOptions{
		Report: func(err error) { c.say("%v", err) }, MaxEntries: replayOverrides,
	})
}

// unlock takes the rules' secrets from the environment. Where keys are those of a table or a shared store, or written as hashes,
// the one by which they are hashed must be there, or nothing would be found. A replay can do without the one by which a proxy is known: a log's
// addresses are mostly those of clients.
func (c *cli) unlock(set *rules.Set, shared bool) error {
	if err := set.LoadProxySecret(os.LookupEnv); err != nil {
		c.say("warning: %v; until then clients have the addresses that the log says", err)
	}
	err := set.LoadHashSecret(os.LookupEnv)
	if err != nil && !shared && !set.WritesHashes() {
		c.say("warning: %v; until then keys have hashes of this run alone", err)
		return nil
	}
	return err
}

// parseSpeed reads --speed; 0 if it was not given.
func parseSpeed(cmd *cobra.Command, text string) (float64, error) {
	if text == "" {
		return 0, nil
	}
	speed, err := strconv.ParseFloat(text, 64)
	if err != nil || !(speed > 0) || math.IsInf(speed, 0) {
		return 0, usagef(cmd, "--speed %s: want a number above 0", text)
	}
	return speed, nil
}

// logs opens nothing yet, but fails for a file that is not there.
func (c *cli) logs(cmd *cobra.Command, format string, paths []string) ([]replay.Log, error) {
	given, ok := replay.ParseFormat(format)
	if format != "" && !ok {
		return nil, usagef(cmd, "--format %s: want clf, jsonl or csv", format)
	}
	logs := make([]replay.Log, 0, len(paths))
	for _, path := range paths {
		f := given
		if format == "" {
			f = replay.FormatOf(path)
		}
		if path == "-" {
			logs = append(logs, replay.Stream("standard input", c.stdin, f))
			continue
		}
		log, err := replay.File(path, f)
		if err != nil {
			return nil, err
		}
		logs = append(logs, log)
	}
	return logs, nil
}

// replayed is a replay's report, and what it cost.
type replayed struct {
	*replay.Report
	calls func() (reads, writes int64) // nil but for DynamoDB
}

func (c *cli) runReplay(ctx context.Context, g *ground, logs []replay.Log, speed float64, decisions io.Writer) (*replayed, error) {
	result := &replayed{}
	var store engine.Store = memory.New(replayKeys)
	switch {
	case g.redis != nil:
		store = redis.New(g.redis, redis.Options{CallerClock: true}) // the log's
	case g.table != "":
		// The log's clock decides, so no counter is ever too far ahead; the table reaps by real time.
		counters := dynamo.New(g.client, g.table, dynamo.Options{Wall: time.Now})
		store, result.calls = counters, counters.Calls
	}
	var failures replay.Failures
	progress := c.newProgress(time.Now)
	defer progress.clear()
	options := replay.Options{
		Engine: engine.New(engine.Options{
			Rules: engine.Fixed{Set: g.set}, Overrides: g.overrides, Store: store, Local: memory.New(0), Recorder: &failures,
			Deadline: replayDeadline,
		}),
		Rules: g.set.Rules, Speed: speed, Decisions: decisions, Progress: progress.show,
		Warn: c.logWarning,
	}
	var err error
	result.Report, err = replay.Run(ctx, logs, options)
	if errors.Is(err, context.Canceled) {
		return result, errors.New("interrupted: the totals are of what was replayed so far")
	}
	return result, failed(result.Requests, result.Degraded, err, inOneLine(failures.First()))
}

// logWarning passes on what a log says in vain.
func (c *cli) logWarning(text string) { c.say("warning: %s", text) }

// inOneLine keeps an override that is not valid from being told as a rules file is, by its errors alone: what they kept
// from being done would be left out.
func inOneLine(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(plainText(strings.ReplaceAll(err.Error(), "\n", "; ")))
}

// failed says why a replay is no success: decisions by on_error are not what the rules would have decided.
func failed(requests, degraded int64, err, store error) error {
	switch {
	case errors.Is(err, replay.ErrUnreadable):
		return fmt.Errorf("%w: does --format say what the logs hold?", err)
	case err != nil && store != nil:
		return fmt.Errorf("%w; the store failed first with: %w", err, store)
	case err != nil:
		return err
	case degraded > 0:
		return fmt.Errorf("%d of %d requests were decided by on_error, because the store failed; first: %w", degraded, requests, store)
	case store != nil:
		return fmt.Errorf("the store failed; first: %w", store)
	}
	return nil
}

// showReplay prints the report, also of a replay that did not get to its end.
func (c *cli) showReplay(r *replayed, f *replayFlags) error {
	c.saySkipped(&r.Extent)
	w := c.stdout
	if f.decisions == "-" {
		w = c.stderr
	}
	if f.json {
		return printJSON(w, r.object())
	}
	return r.print(w, c.colours(w))
}

func (c *cli) saySkipped(x *replay.Extent) {
	if x.FirstSkipped != nil {
		c.say("%s could not be read; first: %v", plural(int(x.Skipped), "line"), x.FirstSkipped)
	}
}
