package trafficcmd

import (
	"errors"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/replay"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/report"
)

// replayFiles are the files that a replay writes; empty for none, - for standard
// output.
type replayFiles struct{ decisions, report, svg string }

// replayWriters are the files while they are written; nil for none.
type replayWriters struct{ decisions, report, svg io.Writer }

func (f *replayFiles) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.decisions, "decisions", "", "write every decision to a file, `OUT`, or - for standard output")
	cmd.Flags().StringVar(&f.report, "report", "", "write a page with charts and other limits to a file, `OUT`, or - for standard output")
	cmd.Flags().StringVar(&f.svg, "svg", "", "write the chart of the traffic as SVG to a file, `OUT`, or - for standard output")
	command.Complete(cmd, "report", command.FilesOf("html"))
	command.Complete(cmd, "svg", command.FilesOf("svg"))
	command.Check(cmd, func() error {
		if f.onStdout() > 1 {
			return errors.New("only one of --decisions, --report and --svg can be -: give the others a file")
		}
		return nil
	})
}

// onStdout returns how many of the files are standard output.
func (f *replayFiles) onStdout() (n int) {
	for _, path := range []string{f.decisions, f.report, f.svg} {
		if path == "-" {
			n++
		}
	}
	return n
}

// note says which files there are now.
func (f *replayFiles) note(c *command.Console) {
	for _, path := range []string{f.decisions, f.report, f.svg} {
		if path != "" && path != "-" {
			c.Note("wrote %s", path)
		}
	}
}

// write calls run with the files. They appear if run succeeds. If a file cannot
// be created, write fails before it calls run.
func (f *replayFiles) write(stdout io.Writer, run func(*replayWriters) error) error {
	var w replayWriters
	next := func() error { return run(&w) }
	for _, file := range []struct {
		path string
		to   *io.Writer
	}{{f.decisions, &w.decisions}, {f.report, &w.report}, {f.svg, &w.svg}} {
		if file.path == "" {
			continue
		}
		then := next
		next = func() error {
			return command.WriteFile(file.path, stdout, func(out io.Writer) error {
				*file.to = out
				return then()
			})
		}
	}
	return next()
}

// draw writes the page and the chart of a replay.
func (w *replayWriters) draw(f *replayFlags, logs []string, totals *replay.Report) error {
	if w.report != nil {
		from := report.Source{Rules: f.Locations.RulesName(), Version: command.ReadBuild().Version}
		for _, path := range logs {
			if path == command.Stdin {
				path = "standard input"
			}
			from.Logs = append(from.Logs, filepath.Base(path))
		}
		if err := report.Write(w.report, from, totals, f.Recording); err != nil {
			return err
		}
	}
	if w.svg != nil {
		_, err := io.WriteString(w.svg, report.SVG(totals))
		return err
	}
	return nil
}
