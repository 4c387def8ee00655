package command

import (
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
)

// Stdin stands for standard input among the names of logs.
const Stdin = "-"

// Logs say how to read logs.
type Logs struct {
	Format   logs.Format
	Template *logs.Template
	Order    logs.Order
	text     string // of Template, as given
}

// Add adds --format, --log-format and --order.
func (f *Logs) Add(cmd *cobra.Command) {
	Choice(cmd, (*string)(&f.Order), "order",
		"decide requests by `ORDER`: time, or file for the order of the lines (default: time)", string(logs.ByTime), string(logs.AsLogged))
	formats := make([]string, len(logs.Formats))
	for i, format := range logs.Formats {
		formats[i] = string(format)
	}
	Choice(cmd, (*string)(&f.Format), "format", "the logs' `FORMAT`: "+strings.Join(formats, ", ")+" (default: by their first lines)", formats...)
	Var(cmd, &f.Template, "log-format", "NGINX's log_format of the logs, a `TEXT` as in nginx.conf", f.parseTemplate)
	Refuse(cmd, func() bool { return f.Format != "" && f.Template != nil }, "--log-format is a format of NGINX: leave out --format")
}

func (f *Logs) parseTemplate(text string) (*logs.Template, error) {
	f.text = text
	t, err := logs.ParseTemplate(text)
	if err != nil {
		return nil, fmt.Errorf("--log-format: %w", err)
	}
	return t, nil
}

// Args returns the flags as they were given.
func (f *Logs) Args() (all []string) {
	for _, flag := range [][]string{{"--format", string(f.Format)}, {"--log-format", f.text}, {"--order", string(f.Order)}} {
		if flag[1] != "" {
			all = append(all, flag...)
		}
	}
	return all
}

// Traffic returns the requests of logs. It fails for a file that does not exist,
// but opens nothing yet. A directory stands for the files in it.
func (f *Logs) Traffic(stdin io.Reader, paths []string) (logs.Traffic, error) {
	t := logs.Traffic{Order: f.Order}
	for _, path := range paths {
		if path == Stdin {
			t.Logs = append(t.Logs, logs.Stream("standard input", stdin, f.Format))
			continue
		}
		all, err := logs.Files(path, f.Format)
		if err != nil {
			return t, err
		}
		t.Logs = append(t.Logs, all...)
	}
	for i := range t.Logs {
		t.Logs[i].Template = f.Template
	}
	return t, nil
}
