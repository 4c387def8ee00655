package suggest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rulefile"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/text"
)

var (
	part    = regexp.MustCompile(`\{([^}]*)\}`)
	unnamed = regexp.MustCompile(`[^a-z0-9]+`)
)

// ruleName names a rule by what its key reads: per-ip for ip:{ip}.
func ruleName(key string) string {
	name := "per"
	for _, p := range part.FindAllStringSubmatch(key, -1) {
		name += "-" + p[1]
	}
	if name == "per" {
		return "suggested"
	}
	name = unnamed.ReplaceAllString(strings.ToLower(name), "-")
	return strings.Trim(name[:min(len(name), 63)], "-")
}

// document returns a rule in shadow with a limit for each capacity above 0.
func document(name, key string, windows []string, capacity []int64) *ruledoc.Document {
	rule := ruledoc.Rule{Name: name, Key: key, Mode: "shadow"}
	for i, n := range capacity {
		if n > 0 {
			rule.Limits = append(rule.Limits, ruledoc.Limit{Capacity: n, Window: windows[i]})
		}
	}
	return &ruledoc.Document{Rules: []ruledoc.Rule{rule}}
}

// compile returns a rule with a limit of any capacity in one window. Its errors
// name the flag that is wrong. Windows of the calendar are refused: a sliding
// window has a length.
func compile(name, key, window string) (*rules.Set, error) {
	set, problems := rules.Compile(document(name, key, []string{window}, []int64{1}))
	switch {
	case len(problems) > 0 && problems[0].Path.Last() == "key":
		return nil, fmt.Errorf("--key %s: %s", key, problems[0].Reason())
	case len(problems) > 0:
		return nil, fmt.Errorf("--window %s: %s", window, problems[0].Reason())
	case set.Rules[0].Limits[0].Algorithm != limit.SlidingWindow:
		return nil, fmt.Errorf("--window %s: a window of the calendar does not slide: write a length of time, such as 7d", window)
	}
	return set, nil
}

// write returns a rules file with these capacities, and its rules as limiters
// read them.
func (l *learner) write(capacity []int64) (string, *rules.Set, error) {
	r := &l.report
	var windows []string
	for _, w := range r.Windows {
		windows = append(windows, w.Window)
	}
	const day = "2006-01-02"
	about := fmt.Sprintf("Proposed by slidegate suggest: %s of %s, %s to %s.\n"+
		"mode: shadow denies nothing and counts what it would deny. To enforce the rule, remove that line.",
		text.Plural(r.Counted, "request"), text.Plural(r.Keys, "key"), r.First.UTC().Format(day), r.Last.UTC().Format(day))
	file, err := rulefile.Write(document(l.name, r.Key, windows, capacity), map[string]string{"": about})
	if err != nil {
		return "", nil, err
	}
	set, err := rulefile.Parse("the proposed rules", file)
	return string(file), set, err
}
