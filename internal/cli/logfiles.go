package cli

import (
	"cmp"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/internal/logs"
)

// stdinName stands for standard input among the names of logs.
const stdinName = "-"

// logFlags say how to read logs.
type logFlags struct {
	format logs.Format
	order  logs.Order
}

// add adds --format and --order.
func (f *logFlags) add(cmd *cobra.Command) {
	flags.Choice(cmd, (*string)(&f.order), "order",
		"decide requests by `ORDER`: time, or file for the order of the lines (default: time)", string(logs.ByTime), string(logs.AsLogged))
	flags.Choice(cmd, (*string)(&f.format), "format", "the logs' `FORMAT`: clf, jsonl or csv (default: by suffix)", "clf", "jsonl", "csv")
}

// traffic returns the requests of logs. It fails for a file that does not exist,
// but opens nothing yet.
func (c *cli) traffic(f *logFlags, paths []string) (logs.Traffic, error) {
	t := logs.Traffic{Order: f.order}
	for _, path := range paths {
		format := cmp.Or(f.format, logs.FormatOf(path))
		if path == stdinName {
			t.Logs = append(t.Logs, logs.Stream("standard input", c.stdin, format))
			continue
		}
		log, err := logs.File(path, format)
		if err != nil {
			return t, err
		}
		t.Logs = append(t.Logs, log)
	}
	return t, nil
}
