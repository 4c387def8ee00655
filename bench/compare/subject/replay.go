package subject

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/internal/cli"
)

// ReplayLines is how many lines of a log one operation of Replay reads.
const ReplayLines = 200_000

const replayRules = "rules: [{name: per-ip, key: 'ip:{ip}', limits: [{capacity: 10, window: 60s}]}]\n"

// Replay sends a log in the combined format through a rule in memory, as the
// command does. The bare operation reads the lines of the log.
func Replay() []measure.Subject {
	return []measure.Subject{
		{Name: Bare, Open: replaying(func(_ context.Context, dir string) error {
			file, err := os.Open(filepath.Join(dir, "access.log"))
			if err != nil {
				return err
			}
			defer file.Close()
			lines := bufio.NewScanner(file)
			for lines.Scan() {
			}
			return lines.Err()
		})},
		{Name: Slidegate, Open: replaying(func(ctx context.Context, dir string) error {
			var errs bytes.Buffer
			args := []string{"replay", filepath.Join(dir, "access.log"), "--rules", filepath.Join(dir, "rules.yaml")}
			if code := cli.Run(ctx, args, nil, io.Discard, &errs); code != 0 {
				return fmt.Errorf("replay: exit code %d: %s", code, errs.String())
			}
			return nil
		})},
	}
}

// replaying writes the log into a new directory, and has each decision read it.
func replaying(read func(ctx context.Context, dir string) error) func(context.Context, measure.Limit) (*measure.Limiter, error) {
	return func(context.Context, measure.Limit) (*measure.Limiter, error) {
		dir, err := os.MkdirTemp("", "bench-replay")
		if err != nil {
			return nil, err
		}
		for name, text := range map[string][]byte{"rules.yaml": []byte(replayRules), "access.log": accessLog()} {
			if err := os.WriteFile(filepath.Join(dir, name), text, 0o600); err != nil {
				_ = os.RemoveAll(dir)
				return nil, err
			}
		}
		return &measure.Limiter{Close: func() { _ = os.RemoveAll(dir) }, Decide: func(ctx context.Context, _ string) (bool, error) {
			err := read(ctx, dir)
			return err == nil, err
		}}, nil
	}
}

// accessLog is an hour of a web site in which 5,000 addresses send requests.
func accessLog() []byte {
	var log bytes.Buffer
	start := time.Date(2026, time.January, 2, 3, 0, 0, 0, time.UTC)
	for i := range ReplayLines {
		client := i * 7919 % 5000
		at := start.Add(time.Duration(i) * time.Hour / ReplayLines)
		fmt.Fprintf(&log, "10.0.%d.%d - - [%s] \"GET /v1/items/%d?page=2 HTTP/1.1\" 200 5124 \"https://example.com/\" \"Mozilla/5.0 (X11; Linux x86_64)\"\n",
			client>>8, client&255, at.Format("02/Jan/2006:15:04:05 -0700"), i%1000)
	}
	return log.Bytes()
}
