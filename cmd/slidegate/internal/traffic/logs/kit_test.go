package logs

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

var errDown = errors.New("the table is on fire")

// read calls visit with each request of the traffic.
func read(ctx context.Context, t *Traffic, visit func(*Entry) error) (*Extent, error) {
	var x Extent
	err := t.Each(ctx, &x, func(_ context.Context, e *Entry) error {
		err := visit(e)
		if err == nil {
			x.Count(e)
		}
		return err
	})
	return &x, err
}

// keep keeps the second and the path of every request.
func keep(seen *[]string) func(*Entry) error {
	return func(e *Entry) error {
		*seen = append(*seen, fmt.Sprint(e.Time.Unix(), " ", e.Request.Path))
		return nil
	}
}

// requests returns a log of JSON Lines, from lines of "second path".
func requests(lines ...string) string {
	var b strings.Builder
	for _, line := range lines {
		second, path, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, `{"time":%s,"path":"%s","ip":"203.0.113.9"}`+"\n", second, path)
	}
	return b.String()
}

func text(content string) Log { return Stream("log", strings.NewReader(content), JSONL) }

func gzipped(t testing.TB, content string) string {
	t.Helper()
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	if _, err := io.WriteString(w, content); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
