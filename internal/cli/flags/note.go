package flags

import (
	"errors"
	"os/user"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/slidegate/slidegate/internal/ruletable"
	"github.com/slidegate/slidegate/internal/text"
)

// Note has the flags that say who changes something, and why.
type Note struct{ Who, Why string }

// Add adds --why and --who.
func (f *Note) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.Why, "why", "", "why: a `TEXT` for the history (required)")
	cmd.Flags().StringVar(&f.Who, "who", "", "the `NAME` of who changes it (default: the user of this system)")
}

// Read returns the note for the history. A reason is required.
func (f *Note) Read(cmd *cobra.Command, now time.Time) (note ruletable.Note, err error) {
	if f.Why == "" {
		return note, Usagef(cmd, "--why is missing: give a reason for the history")
	}
	return f.ReadOptional(cmd, now)
}

// ReadOptional is Read without a required reason.
func (f *Note) ReadOptional(cmd *cobra.Command, now time.Time) (note ruletable.Note, err error) {
	note = ruletable.Note{Who: f.Who, Why: f.Why, When: now}
	if f.Who == "" {
		u, err := user.Current()
		if err != nil {
			return note, Usagef(cmd, "--who is missing, and the system does not say who runs this: %w", err)
		}
		note.Who = u.Username
	}
	return note, nil
}

// Until has the flags that say when something ends.
type Until struct{ until, span string }

// Add adds --for and --until with these descriptions.
func (f *Until) Add(cmd *cobra.Command, forUsage, untilUsage string) {
	cmd.Flags().StringVar(&f.span, "for", "", forUsage)
	cmd.Flags().StringVar(&f.until, "until", "", untilUsage)
}

// Read returns when it ends; the zero Time for never.
func (f *Until) Read(cmd *cobra.Command, now time.Time) (end time.Time, err error) {
	switch {
	case f.until != "" && f.span != "":
		return end, Usagef(cmd, "--until and --for both say when it ends: give one")
	case f.until != "":
		if end, err = time.Parse(time.RFC3339, f.until); err != nil {
			return end, Usagef(cmd, "--until %s: want a time such as 2026-12-31T23:59:00Z", f.until)
		}
	case f.span != "":
		d, err := parseSpan(f.span)
		if err != nil {
			return end, Usagef(cmd, "--for %s: want a time such as 90m, 12h or 7d", f.span)
		}
		end = now.Add(d)
	default:
		return end, nil
	}
	if !end.After(now) {
		return end, Usagef(cmd, "it would end at %s, which is past", text.Stamp(end))
	}
	if end = wholeSecond(end); end.Year() > 9999 {
		return end, Usagef(cmd, "it would end after the year 9999, the last that can be written: give an earlier time")
	}
	return end, nil
}

// wholeSecond returns the first whole second that is not before t, in UTC: a
// span of less than a second must not end before it begins.
func wholeSecond(t time.Time) time.Time {
	second := t.UTC().Truncate(time.Second)
	if second.Before(t) {
		second = second.Add(time.Second)
	}
	return second
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
