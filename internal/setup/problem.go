// Package setup has what package slidegate and package gate share: what is wrong
// with limits and rules, in the words of Go programs.
package setup

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/rules"
)

// The compiler of rules decides what is wrong with limits, and says so in the
// words of rules files. The functions below say it in the words of package
// slidegate.

// LimitErrors joins what is wrong with the name and the limits of a limiter.
func LimitErrors(problems []ruledoc.Problem, limits []ruledoc.Limit) error {
	var errs []error
	for _, p := range problems {
		i, field, ok := limitPath(p.Path)
		switch {
		case strings.HasSuffix(p.Path, "].name") && !ok:
			name, _ := strconv.QuotedPrefix(p.Reason) // with which every reason begins
			errs = append(errs, fmt.Errorf("WithName(%s): %s", name, strings.TrimPrefix(p.Reason, name+" ")))
		case strings.HasSuffix(p.Path, "].lease"):
			errs = append(errs, fmt.Errorf("WithLease: %s", GoReason(p.Reason)))
		case strings.Contains(p.Path, "].refund_on"):
			errs = append(errs, fmt.Errorf("RefundOn: %s", strings.ReplaceAll(GoReason(p.Reason), "Rules[0].", "")))
		case len(limits) > limit.MaxLimits:
			return fmt.Errorf("%d limits: give 1 to %d", len(limits), limit.MaxLimits)
		case !ok:
			errs = append(errs, errors.New(p.String()))
		default:
			errs = append(errs, limitError(limits, i, field, p.Reason))
		}
	}
	return join(errs)
}

// RuleErrors joins what is wrong with the rules of a gate.
func RuleErrors(problems []ruledoc.Problem, all []ruledoc.Rule) error {
	var errs []error
	for _, p := range problems {
		var rule int
		_, err := fmt.Sscanf(p.Path, "rules[%d]", &rule)
		i, field, ok := limitPath(p.Path)
		switch missing := missing[p.Path[strings.LastIndexByte(p.Path, '.')+1:]]; {
		case ok && err == nil:
			errs = append(errs, fmt.Errorf("%s: %w", RulePath(rule), limitError(all[rule].Limits, i, field, p.Reason)))
		case missing != "" && strings.Contains(p.Reason, "is missing"):
			errs = append(errs, fmt.Errorf("%s: is missing: write %s", GoPath(p.Path), missing))
		default:
			errs = append(errs, fmt.Errorf("%s: %s", GoPath(p.Path), GoReason(p.Reason)))
		}
	}
	return join(errs)
}

// RulePath returns the path of a rule in Rules.
func RulePath(i int) string { return fmt.Sprintf("Rules[%d]", i) }

// missing says what to write for fields of rules that are missing.
var missing = map[string]string{
	"name": `one that no other rule has, such as "per-ip"`, "key": `what to count by, such as "ip:{ip}"`,
	"limits": "one to eight, such as SlidingWindow(100, time.Minute)",
}

// goFields are the fields of Rules and their parts by their names in documents.
var goFields = map[string]string{
	"rules": "Rules", "deny": "Deny", "skip": "Skip", "client_ip": "TrustedProxies", "trusted_hops": "",
	"name": "Name", "when": "When", "unless": "Unless", "key": "Key", "limits": "Limits", "cost": "Cost", "refund_on": "RefundOn", "atomic": "Atomic", "lease": "Lease",
	"methods": "Methods", "path": "Paths", "route": "Routes", "cidrs": "CIDRs", "caller": "Callers", "match": "Claims",
}

// GoPath returns the path of a document as one of Rules: "Rules[0].When.Paths[1]"
// for "rules[0].when.path[1]".
func GoPath(path string) string {
	var b strings.Builder
	for rest := path; rest != ""; {
		var segment string
		segment, rest, _ = strings.Cut(rest, ".")
		name, index, indexed := strings.Cut(segment, "[")
		if field, ok := goFields[name]; ok {
			name = field
		}
		if b.Len() > 0 && name != "" {
			b.WriteByte('.')
		}
		b.WriteString(name)
		if indexed {
			b.WriteString("[" + index)
		}
		if name == "Claims" && rest != "" { // a source such as jwt.plan
			fmt.Fprintf(&b, "[%q]", rest)
			break
		}
	}
	return b.String()
}

// GoReason says in the words of this package why something is wrong with rules,
// or probably not meant.
func GoReason(reason string) string {
	return documentPath.ReplaceAllStringFunc(goWords.Replace(reason), GoPath)
}

var documentPath = regexp.MustCompile(`\b(rules|deny|skip)\[\d+\][a-z_.\[\]0-9]*`)

// goWords replace what to write in a file by what to write in Go.
var goWords = strings.NewReplacer(
	"a token_bucket", "a TokenBucket", "a leaky_bucket", "a LeakyBucket", "a sliding_window_log", "a SlidingLog",
	"remove refund_on, or write algorithm: sliding_window there", "remove RefundOn, or use a SlidingWindow",
	"remove lease, or write algorithm: sliding_window", "remove the lease, or use a SlidingWindow",
	"write atomic: true in both", "set Atomic in both", " under methods", " under Methods", "or match on route", "or match Routes",
	"lower the cost, raise the capacity, or write over: clamp in the limit", "lower Cost, or raise n of the limit",
	"client_ip does not trust CloudFront: write client_ip: {header: cloudfront-viewer-address, secret: {header: x-origin-secret, env: ORIGIN_SECRET}}",
	"Rules cannot trust CloudFront: use a rules file with client_ip",
	"or leave methods out to match them all", "or leave Methods out to match them all",
	"the local gateway holds a request for 10s at most: write queue: ", "a middleware delays a request for 10s at most, unless MaxDelay says otherwise: use a queue of ",
)

// join joins errors, each once.
func join(errs []error) error {
	seen := map[string]bool{}
	return errors.Join(slices.DeleteFunc(errs, func(err error) bool {
		again := seen[err.Error()]
		seen[err.Error()] = true
		return again
	})...)
}

// limitError says what is wrong with a field of limit i.
func limitError(limits []ruledoc.Limit, i int, field, reason string) error {
	if limits[i].Algorithm == "" {
		return fmt.Errorf("limit %d is the zero Limit: make one with SlidingWindow(100, time.Minute), or another of its kind", i+1)
	}
	return fmt.Errorf("%s: %s", LimitText(&limits[i]), explain(limits, i, field, reason))
}

// limitPath reads a path such as "rules[0].limits[1].window".
func limitPath(path string) (i int, field string, ok bool) {
	_, rest, ok := strings.Cut(path, "limits[")
	index, field, _ := strings.Cut(rest, "].")
	i, err := strconv.Atoi(index)
	return i, field, ok && err == nil
}

// explain says what is wrong with a field of limit i, and what to write instead.
// reason is what the compiler says.
func explain(limits []ruledoc.Limit, i int, field, reason string) string {
	d := &limits[i]
	algorithm, _ := limit.ParseAlgorithm(d.Algorithm)
	window, _ := ruledoc.ParseDuration(d.Window)
	l := limit.Limit{Algorithm: algorithm, Capacity: d.Capacity, Window: window}
	switch field {
	case "name":
		return wrongName(limits, i, reason)
	case "capacity":
		return wrongCapacity(&l)
	case "burst":
		return wrongSize(&l, field, d.Burst, "refill")
	case "queue":
		return wrongSize(&l, field, d.Queue, "drain")
	case "window":
		if window < ruledoc.MinWindow || window > ruledoc.MaxWindow {
			return "the window is out of range: give 100ms to ten years" + sameRate(d, &l)
		}
		return fmt.Sprintf("the window does not divide into %d to %d even slots: add WithSlots(%s), or give a rounder window",
			ruledoc.MinDefaultSlots, ruledoc.MaxDefaultSlots, rules.NearestGranularity(window, window/ruledoc.MaxDefaultSlots))
	case "granularity":
		return wrongSlots(&l, d.Granularity)
	case "timezone":
		return `unknown time zone: give a name of the IANA database, such as "Europe/Berlin" or "UTC"; import time/tzdata if the system has none`
	}
	switch {
	case !strings.HasPrefix(field, "anchor"):
		return reason
	case d.Window != "1mo":
		return "only PerMonth can be Anchored"
	}
	return "months start on a day from 1 to 28"
}

// sameRate writes a bucket with a short window as one with a long one, which
// means the same; it returns "" for other limits.
func sameRate(d *ruledoc.Limit, l *limit.Limit) string {
	if !l.Bucket() || l.Window < 1 || l.Window >= ruledoc.MinWindow || l.Capacity < 1 || l.Capacity > limit.MaxCapacity {
		return ""
	}
	k := int64(10)
	for l.Window*time.Duration(k) < ruledoc.MinWindow {
		k *= 10
	}
	same := *d
	same.Capacity, same.Window = l.Capacity*k, ruledoc.FormatDuration(l.Window*time.Duration(k))
	if d.Burst == 0 && d.Queue == 0 { // which stands for n
		same.Burst, same.Queue = l.Capacity, l.Capacity
	}
	return fmt.Sprintf("; the same rate is %s", LimitText(&same))
}

// wrongName says that a name has another form, or that an earlier limit has it.
func wrongName(limits []ruledoc.Limit, i int, reason string) string {
	name, _, taken := strings.Cut(reason, " is the name of ")
	if !taken {
		return reason
	}
	named := ruledoc.WithDefaults(&ruledoc.Document{Rules: []ruledoc.Rule{{Limits: limits}}}).Rules[0].Limits
	first := slices.IndexFunc(named, func(l ruledoc.Limit) bool { return l.Name == named[i].Name })
	return fmt.Sprintf(`has the name %s as %s has: name one of them, such as Named("burst")`, name, LimitText(&limits[first]))
}

func wrongCapacity(l *limit.Limit) string {
	switch {
	case l.Capacity < 1:
		return "n must be at least 1"
	case l.Algorithm == limit.SlidingWindowLog:
		return fmt.Sprintf("n must be at most %d: use SlidingWindow for more", limit.MaxLog)
	case l.Bucket() && l.Window > 0: // a unit in a nanosecond is the fastest
		return fmt.Sprintf("n must be at most %d", min(limit.MaxCapacity, int64(l.Window)))
	}
	return fmt.Sprintf("n must be at most %d", int64(limit.MaxCapacity))
}

// wrongSize says what is wrong with the burst or the queue of a bucket.
func wrongSize(l *limit.Limit, field string, size int64, empties string) string {
	switch {
	case size < 1:
		return field + " must be at least 1, or 0 for n"
	case l.Capacity >= 1 && l.Window >= 1 && limit.MaxDrain/l.Interval() < limit.MaxCapacity:
		return fmt.Sprintf("%s must be at most %d: more take over ten years to %s", field, limit.MaxDrain/l.Interval(), empties)
	}
	return fmt.Sprintf("%s must be at most %d", field, int64(limit.MaxCapacity))
}

// wrongSlots says what is wrong with the width of slots.
func wrongSlots(l *limit.Limit, text string) string {
	width, _ := ruledoc.ParseDuration(text)
	switch {
	case l.Algorithm != limit.SlidingWindow:
		return "only SlidingWindow takes WithSlots"
	case width < ruledoc.MinWindow || l.Window < ruledoc.MinWindow:
		return fmt.Sprintf("slots must be at least %s wide", ruledoc.FormatDuration(ruledoc.MinWindow))
	}
	return fmt.Sprintf("slots must divide the window into at most %d: write WithSlots(%s)",
		limit.MaxSlots, rules.NearestGranularity(l.Window, min(width, l.Window)))
}

// Constructors are the names of the functions that make limits.
var Constructors = [...]string{
	limit.SlidingWindow: "SlidingWindow", limit.FixedWindow: "FixedWindow", limit.SlidingWindowCounter: "SlidingWindowCounter",
	limit.SlidingWindowLog: "SlidingLog", limit.TokenBucket: "TokenBucket", limit.LeakyBucket: "LeakyBucket",
}

// LimitText returns the call that makes a limit, such as
// "SlidingWindow(100, 1m)".
func LimitText(l *ruledoc.Limit) string {
	algorithm, ok := limit.ParseAlgorithm(l.Algorithm)
	if !ok {
		return "Limit{}"
	}
	call := fmt.Sprintf("%s(%d, %s)", Constructors[algorithm], l.Capacity, l.Window)
	switch {
	case algorithm == limit.TokenBucket || algorithm == limit.LeakyBucket:
		call = fmt.Sprintf("%s(%d, %s, %d)", Constructors[algorithm], l.Capacity, l.Window, cmp.Or(l.Burst, l.Queue))
	case l.Timezone != "":
		per := map[string]string{"1d": "PerDay", "1w": "PerWeek", "1mo": "PerMonth"}
		call = fmt.Sprintf("%s(%d, %q)", per[l.Window], l.Capacity, l.Timezone)
	}
	if l.Granularity != "" {
		call += fmt.Sprintf(".WithSlots(%s)", l.Granularity)
	}
	if l.Anchor != nil {
		call += fmt.Sprintf(".Anchored(%d)", l.Anchor.Day)
	}
	if l.Name != "" {
		call += fmt.Sprintf(".Named(%q)", l.Name)
	}
	return call
}
