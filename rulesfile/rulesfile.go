// Package rulesfile has a gate of package slidegate decide by a file of rules in
// YAML, such as
//
//	rules:
//	  - name: login
//	    when: {methods: POST, path: /login}
//	    key: "ip:{ip}"
//	    limit: 5/minute
//	  - name: per-ip
//	    key: "ip:{ip}"
//	    limit: 100/minute
//
// The command slidegate checks such files, replays recorded traffic against
// them, and publishes them to tables for package rulestable. docs/rules.md lists
// all fields: plans, overrides, costs that requests state, hashed keys.
package rulesfile

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
)

// File is a file of rules, for [slidegate.NewGate]. Its method Open is for
// package slidegate, and may change.
type File struct {
	path string

	mu        sync.Mutex
	followers []*rulefile.Follower // one for each gate
}

// Open reads a file of rules. Gates decide by it as it is when they are made,
// until [File.Watch] is called. The error lists everything that is wrong with
// the file, each with its line and what to write instead.
//
// Secrets that the file names are read from the environment. A gate's option
// WithErrorPolicy is for rules without on_error in a file without defaults.
// authentication has no effect: a program passes on the claims that it has
// verified, by DescribeBy. The gate's log warns of such a file.
//
// Trade-off: each process has a copy of the file, and reads a change by itself.
// Package rulestable changes the rules of all processes at once.
func Open(path string) (*File, error) {
	f := &File{path: path}
	if _, err := f.read(ruledoc.Defaults{}); err != nil {
		return nil, fmt.Errorf("rulesfile: %w", err)
	}
	return f, nil
}

// Watch reloads the file whenever it changes, until the context ends. Call it in
// a goroutine of its own:
//
//	go file.Watch(ctx)
//
// It looks at the file every second, and reads it once it has not changed for
// that long. A file that is missing or not valid changes nothing, and the log of
// the gate says why. Counters of rules that did not change stay.
func (f *File) Watch(ctx context.Context) {
	ticker := time.NewTicker(rulefile.LookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.look()
		case <-ctx.Done():
			return
		}
	}
}

func (f *File) look() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, follower := range f.followers {
		follower.Look()
	}
}

// Open opens the file for a gate.
func (f *File) Open(defaults ruledoc.Defaults, log *slog.Logger) (engine.RuleSource, engine.OverrideSource, error) {
	follower := rulefile.NewFollower(f.path, log)
	read := func() (*rules.Set, error) {
		set, err := f.read(defaults)
		if err == nil {
			lint.WarnOfLibrary(log, f.path, set)
		}
		return set, err
	}
	set, err := read()
	if err != nil {
		return nil, nil, err
	}
	logWarnings(log, set)
	follower.Start(set, read)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followers = append(f.followers, follower)
	return follower, nil, nil
}

func (f *File) read(defaults ruledoc.Defaults) (*rules.Set, error) {
	content, err := rulefile.ReadFile(f.path)
	if err != nil {
		return nil, err
	}
	return compile(f.path, content, defaults)
}

// Parse reads rules from text, such as a file that go:embed put into the
// program. name is the name of the text in errors.
func Parse(name, content string) (slidegate.RuleSource, error) {
	if _, err := compile(name, []byte(content), ruledoc.Defaults{}); err != nil {
		return nil, fmt.Errorf("rulesfile: %w", err)
	}
	return text{name, content}, nil
}

// text is a file of rules that does not change.
type text struct{ name, content string }

// Open opens the text for a gate.
func (t text) Open(defaults ruledoc.Defaults, log *slog.Logger) (engine.RuleSource, engine.OverrideSource, error) {
	set, err := compile(t.name, []byte(t.content), defaults)
	if err != nil {
		return nil, nil, err
	}
	logWarnings(log, set)
	lint.WarnOfLibrary(log, t.name, set)
	return engine.Fixed{Set: set}, nil, nil
}

// compile compiles rules, and reads their secrets.
func compile(name string, content []byte, defaults ruledoc.Defaults) (*rules.Set, error) {
	set, err := rulefile.ParseWith(name, content, defaults)
	if err != nil {
		return nil, err
	}
	if err := set.LoadSecrets(os.LookupEnv); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return set, nil
}

func logWarnings(log *slog.Logger, set *rules.Set) {
	for _, w := range set.Warnings {
		log.Warn("slidegate: rules", "warning", w)
	}
}
