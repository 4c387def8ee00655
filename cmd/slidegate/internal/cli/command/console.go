package command

import (
	"bufio"
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
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
func (c *Console) Progress() operator.Progress { return newProgress(c.Stderr, time.Now) }

// Interactive reports whether somebody can be asked.
func (c *Console) Interactive() bool {
	in, ok := c.Stdin.(*os.File)
	return ok && isTerminal(in) && isTerminal(c.Stderr)
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

// WriteFile lets write fill a temporary file and renames it to path once write has
// succeeded. A file that exists keeps its mode. Write passes standard output for a
// path of "" or "-". A pipe, a device or another special file is written in place.
func WriteFile(path string, stdout io.Writer, write func(io.Writer) error) error {
	if path == "" || path == "-" {
		return write(stdout)
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real // a link stays one
	}
	old, _ := os.Stat(path)
	if old != nil && !old.Mode().IsRegular() {
		file, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return cmp.Or(write(file), file.Close())
	}
	temporary := path + "." + rand.Text()[:8] + ".tmp"
	if err := create(temporary, path, old, write); err != nil {
		return err
	}
	if err := os.Rename(temporary, path); err != nil {
		os.Remove(temporary)
		return &fs.PathError{Op: "write", Path: path, Err: errors.Unwrap(err)}
	}
	return nil
}

// create fills a new file, with the mode of old, nil for none. If that fails, it
// leaves no file, and the error names the file as path.
func create(name, path string, old fs.FileInfo, write func(io.Writer) error) error {
	mode := fs.FileMode(0o666) // less the umask
	if old != nil {
		mode = old.Mode().Perm()
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_EXCL|os.O_WRONLY, mode)
	if err != nil {
		return renamed(err, name, path)
	}
	if old != nil {
		err = file.Chmod(mode) // whatever the umask
	}
	if err == nil {
		err = cmp.Or(write(file), file.Sync()) // some file systems notice only now that they are full
	}
	if err = cmp.Or(err, file.Close()); err != nil {
		os.Remove(name)
	}
	return renamed(err, name, path)
}

// renamed replaces the name of a temporary file in an error, whose text writers may
// have put into another.
func renamed(err error, name, path string) error {
	if err == nil || name == path || !strings.Contains(err.Error(), name) {
		return err
	}
	return errors.New(strings.ReplaceAll(err.Error(), name, path))
}

// WriteText writes a text as Write does.
func WriteText(path string, stdout io.Writer, text string) error {
	return WriteFile(path, stdout, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// CheckNewFile reports why WriteNew would fail, before the work on the text.
func CheckNewFile(path string) error {
	if path == Stdin {
		return Usagef("%s: want the name of a new file, such as rules.yaml", path)
	}
	if _, err := os.Lstat(path); err == nil {
		return fmt.Errorf("%s: file exists: choose another name", path)
	}
	if info, err := os.Stat(filepath.Dir(path)); err != nil || !info.IsDir() {
		return fmt.Errorf("%s: there is no directory %s", path, filepath.Dir(path))
	}
	return nil
}

// WriteNewFile writes a text to a file that must not exist yet, under any name.
func WriteNewFile(path, text string) error {
	return create(path, path, nil, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}
