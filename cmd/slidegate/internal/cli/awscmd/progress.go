package awscmd

import (
	"bufio"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
)

// listener prints on standard error what AWS does, a line for each resource that
// is finished, and asks before anything changes.
type listener struct {
	*command.Console
	ctx   context.Context
	yes   bool      // the answer to every question
	word  string    // to type for a yes; empty for y
	began time.Time // by AWS's clock
}

// Tell prints a line.
func (l *listener) Tell(format string, args ...any) {
	command.NewPrinter(l.Stderr).Line(format, args...)
}

// Event prints a line for a resource that is finished.
func (l *listener) Event(e aws.Event) {
	if l.began.IsZero() {
		l.began = e.At
	}
	switch {
	case e.Stack && strings.Contains(e.Status, "ROLLBACK_IN_PROGRESS"):
		l.Tell("failed: AWS takes it back")
	case !e.Stack && e.Done():
		l.Tell("%6s  %-7s  %-30s  %s", fmt.Sprintf("%d s", int(e.At.Sub(l.began).Seconds())), outcome(e), e.Type, e.Resource)
	}
}

// outcome says in one word how a resource has finished.
func outcome(e aws.Event) string {
	done, _, _ := strings.Cut(e.Status, "_")
	switch {
	case e.Failed():
		return "failed"
	case strings.HasSuffix(e.Status, "_SKIPPED"):
		return "kept"
	}
	return map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted", "IMPORT": "imported"}[done]
}

// Confirm asks, unless --yes has the answer. It fails if there is no terminal.
func (l *listener) Confirm(question string) error {
	switch {
	case l.yes:
		return nil
	case !l.Interactive():
		return fmt.Errorf("%s There is no terminal to ask on: give --yes", question)
	}
	prompt, yes := " [y/N] ", []string{"y", "Y", "yes"}
	if l.word != "" {
		prompt, yes = "\nType "+l.word+" to go on: ", []string{l.word}
	}
	answer, err := l.Ask(l.ctx, bufio.NewReader(l.Stdin), question+prompt)
	if err == nil && !slices.Contains(yes, answer) {
		err = command.ErrNotConfirmed
	}
	return err
}
