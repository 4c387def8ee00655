package suggest

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/problem"
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

// compile returns a rule of any capacity. Its errors name the flags that state
// the key and the windows.
func compile(name, key string, windows []string) (*rules.Set, error) {
	capacity := make([]int64, len(windows))
	for i := range capacity {
		capacity[i] = 1
	}
	set, problems := rules.Compile(document(name, key, windows, capacity))
	if len(problems) > 0 {
		return nil, fmt.Errorf("%s: %s", place(problems[0].Path, key, windows), problems[0].Reason())
	}
	return set, nil
}

// limitOf returns a limit of any capacity in a window of one key. Windows of the
// calendar are refused: a sliding window has a length.
func limitOf(key, window string) (*limit.Limit, error) {
	set, err := compile("any", key, []string{window})
	if err != nil {
		return nil, err
	}
	l := &set.Rules[0].Limits[0]
	if l.Algorithm != limit.SlidingWindow {
		return nil, fmt.Errorf("--window %s: a window of the calendar does not slide: write a length of time, such as 7d", window)
	}
	return l, nil
}

// place names the flag that states what is wrong.
func place(path problem.Path, key string, windows []string) string {
	if path.Last() == "key" {
		return "--key " + key
	}
	for _, step := range path[min(2, len(path)):] {
		if i, ok := step.(int); ok && i < len(windows) {
			return "--window " + windows[i]
		}
	}
	return path.String()
}

// write returns a rules file with these capacities, with comments or without.
func (l *learner) write(capacity []int64, comment bool) ([]byte, error) {
	r := &l.report
	var windows []string
	for _, w := range r.Windows {
		windows = append(windows, w.Window)
	}
	comments := map[string]string{}
	if comment {
		const day = "2006-01-02"
		comments[""] = fmt.Sprintf("Proposed by slidegate suggest: %s of %s, %s to %s.\nmode: shadow denies nothing and counts what it would deny. To enforce the rule, remove that line.",
			text.Plural(r.Counted, "request"), text.Plural(r.Keys, "key"), r.First.UTC().Format(day), r.Last.UTC().Format(day))
	}
	return rulefile.Write(document(l.name, r.Key, windows, capacity), comments)
}

// parse reads a proposed file as limiters do.
func parse(file []byte) (*rules.Set, error) { return rulefile.Parse("the proposed rules", file) }
