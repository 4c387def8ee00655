package cli

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/flags"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
)

// stdinName stands for standard input among the names of logs.
const stdinName = "-"

// logFlags say how to read logs.
type logFlags struct {
	format   logs.Format
	template *logs.Template
	text     string // of template, as given
	order    logs.Order
}

// add adds --format, --log-format and --order.
func (f *logFlags) add(cmd *cobra.Command) {
	flags.Choice(cmd, (*string)(&f.order), "order",
		"decide requests by `ORDER`: time, or file for the order of the lines (default: time)", string(logs.ByTime), string(logs.AsLogged))
	formats := make([]string, len(logs.Formats))
	for i, format := range logs.Formats {
		formats[i] = string(format)
	}
	flags.Choice(cmd, (*string)(&f.format), "format", "the logs' `FORMAT`: "+strings.Join(formats, ", ")+" (default: by their first lines)", formats...)
	flags.Var(cmd, &f.template, "log-format", "NGINX's log_format of the logs, a `TEXT` as in nginx.conf", f.parseTemplate)
	flags.Refuse(cmd, func() bool { return f.format != "" && f.template != nil }, "--log-format is a format of NGINX: leave out --format")
}

func (f *logFlags) parseTemplate(text string) (*logs.Template, error) {
	f.text = text
	t, err := logs.ParseTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("--log-format: %w", err)
	}
	return t, nil
}

// args returns the flags as they were given.
func (f *logFlags) args() (all []string) {
	for _, flag := range [][]string{{"--format", string(f.format)}, {"--log-format", f.text}, {"--order", string(f.order)}} {
		if flag[1] != "" {
			all = append(all, flag...)
		}
	}
	return all
}

// traffic returns the requests of logs. It fails for a file that does not exist,
// but opens nothing yet. A directory stands for the files in it.
func (c *cli) traffic(f *logFlags, paths []string) (logs.Traffic, error) {
	t := logs.Traffic{Order: f.order}
	for _, path := range paths {
		if path == stdinName {
			t.Logs = append(t.Logs, logs.Stream("standard input", c.stdin, f.format))
			continue
		}
		all, err := logs.Files(path, f.format)
		if err != nil {
			return t, err
		}
		t.Logs = append(t.Logs, all...)
	}
	for i := range t.Logs {
		t.Logs[i].Template = f.template
	}
	return t, nil
}
