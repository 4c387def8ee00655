package suggest

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/key"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
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
func document(o *Options, windows []Window, capacity []int64) *ruledoc.Document {
	rule := ruledoc.Rule{Name: ruleName(o.Key), Key: o.Key, Mode: "shadow"}
	if o.Path != "" || len(o.Methods) > 0 {
		rule.When = &ruledoc.Selector{Methods: o.Methods}
		if o.Path != "" {
			rule.When.Path = ruledoc.Texts{o.Path}
		}
	}
	for i, n := range capacity {
		if n > 0 {
			rule.Limits = append(rule.Limits, ruledoc.Limit{Capacity: n, Window: windows[i].Window})
		}
	}
	doc := &ruledoc.Document{Rules: []ruledoc.Rule{rule}}
	if o.Hops != 0 {
		n := int64(o.Hops)
		doc.ClientIP = &ruledoc.ClientIP{TrustedHops: &n}
	}
	return doc
}

// compile returns a rule with a limit of any capacity in one window. Its errors
// name the flag that is wrong.
func compile(o *Options, window string) (*rules.Set, error) {
	set, problems := rules.Compile(document(o, []Window{{Window: window}}, []int64{1}))
	last := ""
	if len(problems) > 0 {
		last = problems[0].Path.Last()
	}
	switch {
	case last == "key":
		return nil, fmt.Errorf("--key %s: %s", o.Key, problems[0].Reason())
	case last == "trusted_hops":
		return nil, fmt.Errorf("--trusted-hops %d: %s", o.Hops, problems[0].Reason())
	case strings.HasPrefix(last, "path"):
		return nil, fmt.Errorf("--path %s: %s", o.Path, problems[0].Reason())
	case strings.HasPrefix(last, "methods"):
		return nil, fmt.Errorf("--method %s: %s", strings.Join(o.Methods, ","), problems[0].Reason())
	case len(problems) > 0:
		return nil, fmt.Errorf("--window %s: %s", window, problems[0].Reason())
	case !strings.Contains(o.Key, "{"):
		return nil, fmt.Errorf("--key %s: this is text, so all requests share one counter: write %s", o.Key, inBraces(o.Key))
	case set.Rules[0].Limits[0].Algorithm != limit.SlidingWindow:
		return nil, fmt.Errorf("--window %s: a window of the calendar does not slide: write a length of time, such as 7d", window)
	}
	return set, nil
}

// inBraces returns a template for text that may be a source.
func inBraces(text string) string {
	if _, wrong := key.ParseSource(text); wrong.Found() {
		text = "ip"
	}
	return text[strings.LastIndexByte(text, '.')+1:] + ":{" + text + "}"
}

// write returns a rules file with these capacities, and the warnings of those who
// would use it.
func (l *learner) write(capacity []int64) (file string, warnings []string, err error) {
	const day = "2006-01-02"
	r := &l.report
	about := fmt.Sprintf("Proposed by slidegate suggest: %s of %s, %s to %s.\n"+
		"mode: shadow denies nothing and counts what it would deny. To enforce the rule, remove that line.",
		text.Plural(r.Counted, "request"), text.Plural(r.Keys, "key"), r.First.UTC().Format(day), r.Last.UTC().Format(day))
	yaml, err := rulefile.Write(document(l.o, r.Windows, capacity), map[string]string{"": about})
	if err != nil {
		return "", nil, err
	}
	set, err := rulefile.Parse("the proposed rules", yaml)
	if err != nil {
		return "", nil, err
	}
	return string(yaml), set.Warnings, nil
}

// shares are the parts of the keys that the limits of the table may touch: one in
// ten, one in twenty, and so on.
var shares = []int{10, 20, 50, kneeShare, 200, 500, 1000}

// kneeShare is the part of the keys that the knee may touch: a hundredth.
const kneeShare = 100

// candidates returns the smallest round limits that touch at most each of shares,
// and the smallest that touches none, ascending, and the knee among them. peaks
// are those of all keys as a limit counts, descending.
func candidates(peaks []int64) (all []int64, knee int64) {
	for _, s := range shares {
		all = append(all, roundUp(peaks[len(peaks)/s])) // at most as many keys are above
	}
	return slices.Compact(append(all, roundUp(peaks[0]))), roundUp(peaks[len(peaks)/kneeShare])
}

// roundUp returns the first round number from n on: 1, 2, 3, 5, 7, 10, 15, 20 …
func roundUp(n int64) int64 {
	for power := int64(1); ; power *= 10 {
		for _, tenths := range []int64{10, 15, 20, 30, 50, 70} {
			if r := tenths * power; r%10 == 0 && r >= 10*n {
				return r / 10
			}
		}
	}
}
