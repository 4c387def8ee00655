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
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/term"
)

// connect connects to AWS, and returns who listens to its operations.
func connect(ctx context.Context, c *command.Console, f *stackFlags) (*aws.Account, *listener, error) {
	account, err := aws.Connect(ctx)
	if err != nil {
		return nil, nil, err
	}
	l := &listener{Console: c, ctx: ctx, yes: f.yes, out: term.NewPrinter(c.Stderr), line: term.NewProgress(c.Stderr, time.Now),
		now: time.Now, local: account.Local}
	poll := account.Wait
	account.Wait = func(ctx context.Context, d time.Duration) error {
		for ; d > 0; d -= time.Second { // the line shows the seconds
			l.paint()
			l.hint()
			if err := poll(ctx, min(d, time.Second)); err != nil {
				l.line.Clear()
				return err
			}
		}
		return nil
	}
	return account, l, nil
}

// listener shows on standard error what AWS does: a line for each resource
// that is finished, and on a terminal one that tells what is under way.
type listener struct {
	*command.Console
	ctx      context.Context
	yes      bool // the answer to every question
	confirm  func(l *listener, question string) error
	out      *term.Printer
	line     *term.Progress
	now      func() time.Time
	local    bool      // whether AWS is an emulator on this machine
	began    time.Time // by AWS's clock
	started  time.Time // by this machine's
	underWay []string  // resources
	log      string    // the log group of the Lambdas, if this operation makes it
	slow     string    // the custom resource that a hint is about; empty for none
	since    time.Time // when it began
}

// hintAfter is how long a Lambda that publishes rules may take without a hint.
const hintAfter = 30 * time.Second

// Tell prints a line.
func (l *listener) Tell(format string, args ...any) {
	l.line.Clear()
	l.out.Line(format, args...)
}

// Event prints a line for a resource that is finished.
func (l *listener) Event(e aws.Event) {
	if l.began.IsZero() {
		l.began, l.started = e.At, l.now()
	}
	if e.Type == "AWS::Logs::LogGroup" && e.ID != "" {
		l.log = " " + e.ID
	}
	at := slices.Index(l.underWay, e.Resource)
	switch {
	case e.Stack:
		if strings.Contains(e.Status, "ROLLBACK_IN_PROGRESS") {
			l.Tell("%s", l.out.Red("failed: AWS takes it back"))
		}
		return
	case !e.Done() && at < 0:
		l.underWay = append(l.underWay, e.Resource)
		if strings.HasPrefix(e.Type, "Custom::") {
			l.slow, l.since = e.Resource, l.now()
		}
	case e.Done() && at >= 0:
		l.underWay = slices.Delete(l.underWay, at, at+1)
	}
	if e.Done() {
		l.Tell("%6s  %s  %-30s  %s", fmt.Sprintf("%d s", int(e.At.Sub(l.began).Seconds())), l.word(e), e.Type, e.Resource)
	}
}

// word says in one word how a resource has finished, in its colour.
func (l *listener) word(e aws.Event) string {
	done, _, _ := strings.Cut(e.Status, "_")
	word := fmt.Sprintf("%-7s", map[string]string{"CREATE": "created", "UPDATE": "updated", "DELETE": "deleted", "IMPORT": "imported"}[done])
	switch {
	case e.Failed():
		return l.out.Red("failed ")
	case strings.HasSuffix(e.Status, "_SKIPPED"):
		return "kept   "
	}
	return l.out.Green(word)
}

// paint shows what is under way.
func (l *listener) paint() {
	if l.started.IsZero() {
		return
	}
	what := "waiting"
	if n := len(l.underWay); n > 3 {
		what = fmt.Sprintf("%s and %d more", strings.Join(l.underWay[:3], ", "), n-3)
	} else if n > 0 {
		what = strings.Join(l.underWay, ", ")
	}
	l.line.Line(fmt.Sprintf("%6s  %s ...", fmt.Sprintf("%d s", int(l.now().Sub(l.started).Seconds())), what))
}

// hint says once where to look if a custom resource takes long. CloudFormation
// waits for its Lambda for many minutes, also for one that cannot start.
func (l *listener) hint() {
	if !slices.Contains(l.underWay, l.slow) || l.now().Sub(l.since) < hintAfter {
		return
	}
	where := "its log group" + l.log
	if l.local {
		where = "the log of the local AWS, where a Lambda for another architecture never starts"
	}
	l.Tell("%s takes long: CloudFormation waits for the Lambda that publishes the rules. See %s", l.slow, where)
	l.slow = ""
}

// Confirm asks, unless --yes has the answer. It fails if there is no terminal.
func (l *listener) Confirm(question string) error {
	switch {
	case l.yes:
		return nil
	case !l.Interactive():
		return fmt.Errorf("%s There is no terminal to ask on: give --yes", question)
	}
	return l.confirm(l, question)
}

// askYes takes y and yes for a yes.
func askYes(l *listener, question string) error {
	answer, err := l.Ask(l.ctx, bufio.NewReader(l.Stdin), question+" [y/N] ")
	if err == nil && !slices.Contains([]string{"y", "yes"}, strings.ToLower(answer)) {
		err = command.ErrNotConfirmed
	}
	return err
}

// askFor takes one word for a yes.
func askFor(word string) func(*listener, string) error {
	return func(l *listener, question string) error {
		answer, err := l.Ask(l.ctx, bufio.NewReader(l.Stdin), question+"\nType "+word+" to go on: ")
		if err == nil && answer != word {
			err = command.ErrNotConfirmed
		}
		return err
	}
}
