package command

import (
	"errors"
	"fmt"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// Note adds --why and --who, the reason and the author of a change. A reason is
// required unless the run is dry; a dry of nil is false.
func Note(cmd *cobra.Command, note *ruletable.Note, dry *bool) {
	OptionalNote(cmd, note, "why: a `TEXT` for the history (required)", "changes it")
	Refuse(cmd, func() bool { return note.Why == "" && (dry == nil || !*dry) }, "--why is missing: give a reason for the history")
}

// OptionalNote is Note without a required reason. action is what the author does,
// such as "changes it".
func OptionalNote(cmd *cobra.Command, note *ruletable.Note, why, action string) {
	cmd.Flags().StringVar(&note.Why, "why", "", why)
	cmd.Flags().StringVar(&note.Who, "who", "", "the `NAME` of who "+action+" (default: the user of this system)")
	Check(cmd, func() error {
		note.When = time.Now()
		if note.Who == "" {
			u, err := user.Current()
			if err != nil {
				return fmt.Errorf("--who is missing, and the system does not say who runs this: %w", err)
			}
			note.Who = u.Username
		}
		return nil
	})
}

// Until adds --for and --until, either of which says when something ends. The
// zero Time is never.
func Until(cmd *cobra.Command, end *time.Time, untilUsage string) {
	var span, until time.Time
	Var(cmd, &span, "for", "how long it lasts, a `TIME` such as 90m, 12h or 7d", func(text string) (time.Time, error) {
		d, err := parseSpan(text)
		if err != nil {
			return time.Time{}, fmt.Errorf("--for %s: want a time such as 90m, 12h or 7d", text)
		}
		return endAt(time.Now().Add(d), time.Now())
	})
	Var(cmd, &until, "until", untilUsage+", a `TIME` such as 2026-12-31T23:59:00Z", func(text string) (time.Time, error) {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil {
			return at, fmt.Errorf("--until %s: want a time such as 2026-12-31T23:59:00Z", text)
		}
		return endAt(at, time.Now())
	})
	Refuse(cmd, func() bool { return !span.IsZero() && !until.IsZero() }, "--until and --for both say when it ends: give one")
	Check(cmd, func() error {
		if *end = span; span.IsZero() {
			*end = until
		}
		return nil
	})
}

// Span adds a flag that is how long something lasts, 0 included. *span is its
// default.
func Span(cmd *cobra.Command, span *time.Duration, name, usage string) {
	cmd.Flags().Func(name, usage, func(text string) error {
		if text == "0" {
			*span = 0
			return nil
		}
		d, err := parseSpan(text)
		if err != nil {
			return Usagef("--%s %s: want a time such as 90m, 12h or 7d, or 0", name, text)
		}
		*span = d
		return nil
	})
}

// endAt returns the first whole second that is not before t, in UTC: a span of
// less than a second must not end before it begins. It refuses a past time, and one
// after the year 9999, which RFC 3339 cannot write.
func endAt(t, now time.Time) (time.Time, error) {
	end := t.UTC().Truncate(time.Second)
	if end.Before(t) {
		end = end.Add(time.Second)
	}
	switch {
	case !t.After(now):
		return end, fmt.Errorf("it would end at %s, which is past", text.Stamp(t))
	case end.Year() > 9999:
		return end, errors.New("it would end after the year 9999, the last that can be written: give an earlier time")
	}
	return end, nil
}

// parseSpan reads how long something lasts: as Go writes it, or whole days such
// as 7d, up to ten years.
func parseSpan(given string) (time.Duration, error) {
	const longest = 10 * 365 * 24 * time.Hour
	days, isDays := strings.CutSuffix(given, "d")
	d, err := time.ParseDuration(given)
	if isDays {
		var n int64
		n, err = strconv.ParseInt(days, 10, 16)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err == nil && (d <= 0 || d > longest) {
		err = errors.New("out of range")
	}
	return d, err
}
