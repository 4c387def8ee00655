package trafficcmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/suggest"
	"github.com/slidegate/slidegate/internal/rules"
)

// SuggestCommand returns slidegate suggest.
func SuggestCommand(c *command.Console) *cobra.Command {
	var o suggest.Options
	var reading command.Logs
	var windows, only, file string
	var paths []string
	cmd := &cobra.Command{
		Use:   "suggest LOG... --key TEMPLATE",
		Short: "Propose limits by recorded traffic",
		Long: `Suggest reads logs and shows, for each window, what round limits would do: how many keys they touch, how many
requests they deny, and how many of these were answered 2xx. It proposes a rule in shadow, which denies
nothing, with the knee of each window: the smallest limit of the table that touches at most 1% of the keys.
A limit of another window than the shortest needs a log of three of its periods, and is at least twice the
limit of the window before it.

A key's peak is the most requests in any window of that length, wherever it begins, to the nanosecond. The
numbers of the table are those of a replay with sliding_window, which counts its oldest slot in full. So a
limit may deny a key whose peak it equals. "Hit first" names the key with the highest peak, as the limit
counts it, of those that the limit touches and the next higher limit does not.

Floods are keys far above the others: their peak is over ten times that which a tenth of the keys reach, or
they have over a tenth of the requests. Spikes are keys above the knee whose peak is over ten times their typical
window. That is the median of the windows that follow one another from the key's first request, without
those in which it made none. Look at both: the table counts them, unless --exclude leaves them out.
--only-status 2xx learns from requests that succeeded.
What is left out is decided by the proposed rule as well: replay shows how.

Requests without a part of the key share a counter. Fewer than 30 keys are refused. The logs are read twice,
so they cannot be standard input. Replay describes the formats of logs.`,
		Example: `  slidegate suggest access.log.gz --key ip:{ip}
  slidegate suggest access.log access.log.1.gz --key ip:{ip} --window 10s,1m --only-status 2xx,3xx
  slidegate suggest access.jsonl --key 'user:{jwt.sub}' --exclude user:load-test --write rules.yaml
  slidegate suggest access.log --key ip:{ip} --exclude 192.0.2.0/24 --json`,
		Args: command.Positional(1, -1, "at least one log"),
	}
	cmd.Flags().StringVar(&o.Key, "key", "", "whom to limit: the `TEMPLATE` of a rule's key, such as ip:{ip} (required)")
	cmd.Flags().StringVar(&windows, "window", "1m", "the `WINDOWS` to propose limits for, such as 1m,1h")
	cmd.Flags().StringVar(&o.Path, "path", "", "learn from, and limit, only the paths of a `PATTERN`, such as /v1/login")
	cmd.Flags().StringSliceVar(&o.Methods, "method", nil, "learn from, and limit, only these `METHODS`, such as GET,POST")
	cmd.Flags().StringArrayVar(&o.Exclude, "exclude", nil, "leave out a `KEY`, or requests of an address or a network; may be repeated")
	cmd.Flags().StringVar(&only, "only-status", "", "learn only from requests answered with these `STATUSES`, such as 2xx,304")
	cmd.Flags().IntVar(&o.Hops, "trusted-hops", 0, "find the client behind `N` proxies that add to X-Forwarded-For, as client_ip of the rules does")
	cmd.Flags().StringVar(&file, "write", "", "write the proposed rule to a new `FILE`")
	reading.Add(cmd)
	for _, name := range []string{"key", "window", "exclude"} {
		command.Complete(cmd, name, command.NoWords)
	}
	command.Complete(cmd, "only-status", command.OneOf("2xx", "3xx", "4xx", "5xx"))
	cmd.ValidArgsFunction = cobra.FixedCompletions(nil, cobra.ShellCompDirectiveDefault) // files
	command.Check(cmd, func() (err error) {
		for window := range strings.SplitSeq(windows, ",") {
			o.Windows = append(o.Windows, strings.TrimSpace(window))
		}
		if slices.Contains(o.Windows, "") {
			return fmt.Errorf("--window %s: want lengths of time such as 1m,1h", windows)
		}
		if o.Only, err = parseStatuses(only); err != nil {
			return err
		}
		for _, name := range []string{"path", "method"} {
			if f := cmd.Flags().Lookup(name); f.Changed && strings.Trim(f.Value.String(), "[]") == "" {
				return fmt.Errorf("--%s is empty: leave it out for all requests", name)
			}
		}
		if o.Key == "" {
			return errors.New("--key is missing: whom to limit, such as ip:{ip}")
		}
		if err := suggest.Check(&o); err != nil || file == "" {
			return err
		}
		if err := command.CheckNewFile(file); err != nil {
			return fmt.Errorf("--write %w", err)
		}
		return nil
	})
	show := func(p *command.Printer, r *suggest.Report) {
		printSuggestion(p, r, append(paths, reading.Args()...), file)
	}
	return command.Reporting(c, cmd, func(ctx context.Context, args []string) (*suggest.Report, error) {
		paths = args
		if err := readableTwice(paths); err != nil {
			return nil, err
		}
		traffic, err := reading.Traffic(c.Stdin, paths)
		if err != nil {
			return nil, err
		}
		r, err := propose(ctx, c, traffic, o)
		if err == nil && file != "" {
			err = command.WriteNewFile(file, r.Rules)
		}
		return r, err
	}, show)
}

// propose proposes limits by recorded traffic, which it reads twice.
func propose(ctx context.Context, c *command.Console, traffic logs.Traffic, o suggest.Options) (*suggest.Report, error) {
	progress := c.Progress()
	t := operator.Recorded(traffic, progress, c)
	for i := range t.Logs {
		t.Logs[i].Open = asItIs(&t.Logs[i])
	}
	show, pass := t.Progress, 0
	t.Progress = func(at logs.Progress) {
		at.Pass = [...]string{"first of two passes", "second of two passes"}[pass-1]
		show(at)
	}
	r, err := suggest.Run(ctx, t, o, func(number int) {
		if pass = number; pass == 2 {
			t.Warn = nil // the first pass has shown it
		}
	})
	progress.Clear()
	if r != nil {
		operator.NoteLog(&r.Extent, c)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, errors.New("interrupted")
	case errors.Is(err, logs.ErrUnreadable):
		return nil, operator.ReplayError(0, 0, err, nil)
	case err != nil:
		return nil, err
	}
	for _, l := range r.Lacking {
		c.Warn("%s of %s lack %s of the key, and share a counter", text.Thousands(l.Requests), text.Plural(r.Counted, "request"), l.Field)
	}
	for _, w := range r.Windows {
		if !r.Covers(suggest.Periods * w.Length) {
			c.Warn("the log covers %s, fewer than %d periods of the window %s, so its peaks may be too low", text.Brief(r.Span()), suggest.Periods, w.Window)
		}
	}
	for _, unused := range r.Unused {
		c.Warn("--exclude %s leaves out no request: write a whole key, an address or a network", unused)
	}
	operator.WarnAll(c, r.Warnings)
	return r, nil
}

// asItIs returns a function that opens a log up to its size as it is now. So
// both passes read the same of a log that grows.
func asItIs(log *logs.Log) func() (io.ReadCloser, error) {
	open, size := log.Open, log.Size
	return func() (io.ReadCloser, error) {
		file, err := open()
		if err != nil || size < 0 {
			return file, err
		}
		return struct {
			io.Reader
			io.Closer
		}{io.LimitReader(file, size), file}, nil
	}
}

// readableTwice refuses what can be read only once.
func readableTwice(paths []string) error {
	for _, path := range paths {
		info, err := os.Stat(path)
		if path == command.Stdin || err == nil && !info.Mode().IsRegular() && !info.IsDir() {
			return command.Usagef("%s: suggest reads its logs twice: save them to a file, such as with cat > saved.log", path)
		}
	}
	return nil
}

// parseStatuses reads statuses such as "2xx,304"; none for an empty text.
func parseStatuses(list string) (all []rules.Statuses, err error) {
	if list == "" {
		return nil, nil
	}
	for text := range strings.SplitSeq(list, ",") {
		one, err := rules.ParseStatuses(text)
		if err != nil || len(text) != 3 || one.First < 100 || one.First > 599 {
			return nil, fmt.Errorf("--only-status %s: want statuses such as 2xx,304", list)
		}
		all = append(all, one)
	}
	return all, nil
}

// printSuggestion prints a report. logs are the words by which replay reads the
// same logs.
func printSuggestion(p *command.Printer, r *suggest.Report, logs []string, file string) {
	p.Line("%s of %s by %s, in %s of traffic", text.Plural(r.Counted, "request"), text.Plural(r.Keys, "key"), r.Key, text.Brief(r.Span()))
	for _, left := range []struct {
		n   int64
		why string
	}{
		{r.Excluded, "--exclude"}, {r.OtherStatus, "--only-status"}, {r.OtherRoute, "--path and --method"}, {r.Uncounted, "preflights or ambiguous paths, which no limit counts"},
	} {
		if left.n > 0 {
			p.Line("%s left out: %s", text.Plural(left.n, "request"), left.why)
		}
	}
	if r.WithStatus == 0 {
		p.Line("the log has no statuses, so the share of 2xx is unknown")
	}
	printFloods(p, r)
	leave := ""
	for i := range r.Windows {
		printWindow(p, r, &r.Windows[i])
		if s := r.Windows[i].Spiking; leave == "" && len(s) > 0 {
			leave = text.Key(s[0].Key)
		}
	}
	if leave != "" && len(r.Floods) == 0 {
		p.Line("\nto leave out a spike: --exclude %s", text.ShellWords(leave))
	}
	p.Line("\nconfidence: %s", r.Confidence.Level)
	for _, reason := range r.Confidence.Reasons {
		p.Line("  %s", reason)
	}
	o := &r.Proposed
	p.Line("\nThe proposed rule would deny %s of %s (%s)%s:\n", text.Plural(o.Denied, "request"), text.Plural(o.Keys, "key"),
		text.Percent(o.Denied, r.Counted), answered(o, ", ", " of them answered 2xx"))
	p.Line("%s", strings.TrimSuffix(r.Rules, "\n"))
	if file == "" {
		file = "rules.yaml"
		p.Line("\n--write %s writes this rule to a file. Then see what it does:", file)
	} else {
		p.Line("\nThe rule is in %s. See what it does:", file)
	}
	p.Line("  slidegate replay %s", text.ShellWords(append(logs, "--rules", file, "--report", "report.html")...))
}

// shownFloods is how many floods are shown. --json has up to a hundred.
const shownFloods = 5

// printFloods prints the keys far above the others, with what answered them.
func printFloods(p *command.Printer, r *suggest.Report) {
	if len(r.Floods) == 0 {
		return
	}
	var rows [][]string
	var leave []string
	for _, f := range r.Floods {
		leave = append(leave, "--exclude", text.Key(f.Key))
		var answers []string
		for _, class := range slices.Sorted(maps.Keys(f.Statuses)) {
			answers = append(answers, text.Thousands(f.Statuses[class])+" "+class)
		}
		rows = append(rows, []string{text.Thousands(f.Requests), text.Percent(f.Requests, r.Counted), text.Thousands(f.Peak),
			text.Stamp(f.Until), strings.Join(answers, ", "), text.Cut(text.Key(f.Key), keyWidth)})
	}
	if more := len(rows) - shownFloods; more > 0 {
		rows = append(rows[:shownFloods], []string{"", "", "", "", "", "and " + text.Thousands(more) + " more"})
	}
	p.Section("rrrlll", []string{"requests", "", "peak in " + r.Windows[0].Window, "until", "answered", text.Plural(len(r.Floods), "flood")}, rows)
	p.Line("\nto learn without floods: %s", text.ShellWords(leave...))
}

// keyWidth is the width of a key in tables. --json has whole keys.
const keyWidth = 60

func printWindow(p *command.Printer, r *suggest.Report, w *suggest.Window) {
	var rows [][]string
	for _, row := range w.Limits {
		mark, limit, first := "", text.Thousands(row.Limit), ""
		if row.Knee {
			mark, limit = "knee", p.Green(limit)
		}
		if row.First != nil {
			first = fmt.Sprintf("%s (%s)", text.Cut(text.Key(row.First.Key), keyWidth), text.Thousands(row.First.Counted))
		}
		rows = append(rows, []string{
			mark, limit, text.Thousands(row.Keys), text.Percent(int64(row.Keys), int64(r.Keys)),
			text.Thousands(row.Denied), text.Percent(row.Denied, r.Counted), answered(&row.Outcome, "", ""), first,
		})
	}
	p.Section("lrrrrrrl", []string{"", "limit in " + w.Window, "keys touched", "", "denied", "", "of these 2xx", "hit first (peak as counted)"}, rows)
	if w.Spikes == 0 {
		return
	}
	rows = nil
	for _, k := range w.Spiking {
		rows = append(rows, []string{text.Thousands(k.Peak), text.Thousands(k.Typical), text.Stamp(k.At), text.Cut(text.Key(k.Key), keyWidth)})
	}
	if more := w.Spikes - len(w.Spiking); more > 0 {
		rows = append(rows, []string{"", "", "", "and " + text.Thousands(more) + " more"})
	}
	p.Section("rrll", []string{"peak", "typical " + w.Window, "until", text.Plural(w.Spikes, "spike")}, rows)
}

// answered writes the share of denied requests that were answered 2xx, between
// two texts; nothing if the statuses of most are unknown.
func answered(o *suggest.Outcome, before, after string) string {
	if o.WithStatus == 0 || 2*o.WithStatus < o.Denied {
		return ""
	}
	return before + text.Percent(o.Answered, o.WithStatus) + after
}
