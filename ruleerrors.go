package slidegate

import (
	"errors"
	"regexp"
	"strings"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

// The compiler of rules says what is wrong in the words of rules files. The
// functions below say it in the words of this package.

// goPath matches the fields of documents in the paths of problems.
var goPath = regexp.MustCompile(`\b(client_ip\.trusted_hops|rules|deny|skip|when|unless|name|key|limits|cost|refund_on|on_error|mode|headers|methods|path|route|cidrs|caller)\b`)

// goNames are the names of the fields that do not only begin with a capital.
var goNames = map[string]string{
	"client_ip.trusted_hops": "TrustedProxies", "refund_on": "RefundOn", "on_error": "OnError",
	"path": "Paths", "route": "Routes", "cidrs": "CIDRs", "caller": "Callers", "mode": "Shadow", "headers": "Quiet",
}

// pathInText matches a path in a problem: at its start, or in the text.
var pathInText = regexp.MustCompile(`^(refund_on|client_ip)[^:]*:|\b(rules|deny|skip|limits)\[\d+\][^: ]*`)

// goWords replace what to write in a file by what to write in Go.
var goWords = strings.NewReplacer(
	"such as name: per-ip", `such as "per-ip"`,
	`such as key: "ip:{ip}"`, `such as "ip:{ip}"`,
	"write limit: 100/minute, or limits: [20/second, 1000/hour]", "write one such as SlidingWindow(100, time.Minute)",
	"is missing: write how many units a window allows, such as capacity: 100", "is missing: make a limit with SlidingWindow(100, time.Minute), or another of its kind",
	"is missing: write a length of time, such as window: 60s", "is missing",
	"write a name of its own, such as {name: burst, capacity: 20, window: 1s}", `name one of them, such as Named("burst")`,
	"a token_bucket, which cannot refund: remove refund_on, or write algorithm: sliding_window there", "a TokenBucket, which cannot refund: remove RefundOn, or use a SlidingWindow",
	"a leaky_bucket, which cannot refund: remove refund_on, or write algorithm: sliding_window there", "a LeakyBucket, which cannot refund: remove RefundOn, or use a SlidingWindow",
	"a sliding_window_log, which cannot refund: remove refund_on, or write algorithm: sliding_window there", "a SlidingLog, which cannot refund: remove RefundOn, or use a SlidingWindow",
	"or leave methods out to match them all", "or leave Methods out to match them all",
	"one that is, or state the granularity", "one that is, or add WithSlots",
	"the local gateway holds a request for 10s at most: write queue: ", "a middleware delays a request for 10s at most, unless MaxDelay says otherwise: use a queue of ",
)

// inGo says in the words of this package what a problem says, such as
// "Rules[1].When.Paths[0]: …".
func inGo(problem string) string {
	return pathInText.ReplaceAllStringFunc(goWords.Replace(problem), goFields)
}

// goFields returns a path with the fields of this package.
func goFields(path string) string {
	at, source, claims := strings.Cut(path, ".match.") // the name of a source has dots
	at = goPath.ReplaceAllStringFunc(at, func(field string) string {
		if name, ok := goNames[field]; ok {
			return name
		}
		return strings.ToUpper(field[:1]) + field[1:]
	})
	if claims {
		at += `.Claims["` + source + `"]`
	}
	return at
}

// problemsError joins problems into one error.
func problemsError(problems []ruledoc.Problem) error {
	errs := make([]error, len(problems))
	for i, p := range problems {
		errs[i] = errors.New(inGo(p.String()))
	}
	return errors.Join(errs...)
}
