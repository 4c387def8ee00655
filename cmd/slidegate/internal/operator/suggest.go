package operator

import (
	"context"
	"errors"
	"io"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/suggest"
)

// Suggest proposes limits by recorded traffic, which it reads twice.
func Suggest(ctx context.Context, traffic logs.Traffic, o suggest.Options, listener Listener) (*suggest.Report, error) {
	progress := listener.Progress()
	t := recorded(traffic, progress, listener)
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
		noteLog(&r.Extent, listener)
	}
	switch {
	case errors.Is(err, context.Canceled):
		return nil, errors.New("interrupted")
	case errors.Is(err, logs.ErrUnreadable):
		return nil, replayError(0, 0, err, nil)
	case err != nil:
		return nil, err
	}
	for _, l := range r.Lacking {
		listener.Warn("%s of %s lack %s of the key, and share a counter", text.Thousands(l.Requests), text.Plural(r.Counted, "request"), l.Field)
	}
	for _, w := range r.Windows {
		if !r.Covers(w.Length) {
			listener.Warn("the log covers only %s of the window %s, so its peaks may be too low", text.Brief(r.Span()), w.Window)
		}
	}
	for _, unused := range r.Unused {
		listener.Warn("--exclude %s leaves out no request: write a whole key, an address or a network", unused)
	}
	WarnAll(listener, r.Warnings)
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
