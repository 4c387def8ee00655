package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator"
)

// Console is the standard input, output and error of a command. It is an
// operator.Listener.
type Console struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
}

// Note prints a message to standard error. It escapes what does not print.
func (c *Console) Note(format string, args ...any) {
	fmt.Fprintf(Escaper{Writer: c.Stderr}, "slidegate: "+format+"\n", args...)
}

// Warn prints a warning to standard error.
func (c *Console) Warn(format string, args ...any) { c.Note("warning: "+format, args...) }

// Progress returns a line of progress on standard error.
func (c *Console) Progress() operator.Progress { return NewProgress(c.Stderr, time.Now) }

// Interactive reports whether somebody can be asked.
func (c *Console) Interactive() bool {
	in, ok := c.Stdin.(*os.File)
	return ok && IsTerminal(in) && IsTerminal(c.Stderr)
}

// ErrNotConfirmed is the outcome of a question that was answered by no, or by
// nothing.
var ErrNotConfirmed = errors.New("nothing was changed")

// Ask prints a prompt, and returns the line that is typed. in reads from Stdin.
// It fails with ErrNotConfirmed if the input or the context ends.
func (c *Console) Ask(ctx context.Context, in *bufio.Reader, prompt string) (string, error) {
	fmt.Fprint(c.Stderr, prompt)
	type typed struct {
		text string
		err  error
	}
	line := make(chan typed, 1)
	go func() { // a read from a terminal cannot be interrupted
		text, err := in.ReadString('\n')
		line <- typed{strings.TrimSpace(text), err}
	}()
	select {
	case <-ctx.Done():
	case t := <-line:
		if t.err == nil || t.text != "" {
			return t.text, nil
		}
	}
	fmt.Fprintln(c.Stderr) // the context or the input has ended
	return "", ErrNotConfirmed
}
