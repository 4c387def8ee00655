// Package rulesfile loads a gate's rules from a file in YAML, such as
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

	"github.com/slidegate/slidegate/gate"
	"github.com/slidegate/slidegate/internal/assemble/setup"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
)

// File is a file of rules, for [gate.New].
type File struct {
	path string

	mu        sync.Mutex
	followers []*rulefile.Follower // one for each gate
}

// Open reads a file of rules. Gates decide by it as it is when they are made,
// until [File.Watch] is called. The error lists everything that is wrong with
// the file, each with its line and what to write instead.
//
// Secrets that the file names are read from the environment. A gate's
// slidegate.ErrorPolicy is for rules without on_error in a file without defaults.
// authentication has no effect: a program passes on the claims that it has
// verified, by limithttp.WithRequest. The gate's log warns of such a file.
//
// Trade-off: each process has a copy of the file, and reads a change by itself.
// Package rulestable changes the rules of all processes at once.
func Open(path string) (*File, error) {
	text, err := rulefile.ReadFile(path)
	if err == nil {
		_, err = compile(path, text, ruledoc.Defaults{})
	}
	if err != nil {
		return nil, fmt.Errorf("rulesfile: %w", err)
	}
	return &File{path: path}, nil
}

// Watch reloads the file whenever it changes, until the context ends. Call it in
// a goroutine of its own:
//
//	go file.Watch(ctx)
//
// It reads the file every second, and a change counts once two reads in a row are
// the same. A file that is missing or not valid changes nothing, and the log of the
// gate says why. Counters of rules that did not change stay.
func (f *File) Watch(ctx context.Context) {
	ticker := time.NewTicker(rulefile.LookEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			f.mu.Lock()
			for _, follower := range f.followers {
				follower.Look()
			}
			f.mu.Unlock()
		case <-ctx.Done():
			return
		}
	}
}

// OpenRules is for package gate.
func (f *File) OpenRules(o setup.RuleOptions) (setup.Rules, error) {
	parse := func(text []byte) (*rules.Set, error) {
		set, err := compile(f.path, text, o.Defaults)
		if err == nil {
			lint.WarnOfLibrary(o.Log, f.path, set)
		}
		return set, err
	}
	file, err := rulefile.Open(context.Background(), f.path, o.Log)
	if err != nil {
		return setup.Rules{}, err
	}
	set, err := parse(file.Text)
	if err != nil {
		return setup.Rules{}, err
	}
	logWarnings(o.Log, set)
	follower := file.Follow(o.Log, set, parse)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.followers = append(f.followers, follower)
	return setup.Rules{RuleSource: follower}, nil
}

// Parse reads rules from text, such as a file that go:embed put into the
// program. name is the name of the text in errors.
func Parse(name, content string) (gate.RuleSource, error) {
	if _, err := compile(name, []byte(content), ruledoc.Defaults{}); err != nil {
		return nil, fmt.Errorf("rulesfile: %w", err)
	}
	return text{name, content}, nil
}

// text is a file of rules that does not change.
type text struct{ name, content string }

// OpenRules is for package gate.
func (t text) OpenRules(o setup.RuleOptions) (setup.Rules, error) {
	set, err := compile(t.name, []byte(t.content), o.Defaults)
	if err != nil {
		return setup.Rules{}, err
	}
	logWarnings(o.Log, set)
	lint.WarnOfLibrary(o.Log, t.name, set)
	return setup.Rules{RuleSource: engine.Fixed{Set: set}}, nil
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
