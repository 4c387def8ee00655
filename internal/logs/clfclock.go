package logs

import (
	"fmt"
	"strings"
	"time"
)

const clfTime = "02/Jan/2006:15:04:05 -0700"

// clfClock reads the times of one log. It remembers the last day, because
// time.Parse takes as long as the rest of a line.
type clfClock struct {
	day, zone string    // as written: "17/May/2015:" and " +0000"; empty before the first time
	midnight  time.Time // the start of the day
}

func (c *clfClock) parse(text string) (time.Time, error) {
	day, ofDay, zone, ok := cutClock(text)
	if ok && day == c.day && zone == c.zone {
		return c.midnight.Add(ofDay), nil
	}
	t, err := time.Parse(clfTime, text)
	if err != nil {
		return t, fmt.Errorf("time %s is not like %s", quote(text), clfTime)
	}
	midnight := t.Add(-ofDay)
	if ok && checkTime(midnight) == nil && checkTime(midnight.Add(24*time.Hour)) == nil {
		c.day, c.zone, c.midnight = strings.Clone(day), strings.Clone(zone), midnight
	}
	return t, checkTime(t)
}

// cutClock cuts a time around "15:04:05"; ok is false for one that time.Parse
// must look at.
func cutClock(text string) (day string, ofDay time.Duration, zone string, ok bool) {
	const start, end = len("02/Jan/2006:"), len("02/Jan/2006:15:04:05")
	if len(text) != len(clfTime) || text[start+2] != ':' || text[start+5] != ':' {
		return "", 0, "", false
	}
	seconds := 0
	for i, most := range [...]int{23, 59, 59} {
		tens, ones := text[start+3*i]-'0', text[start+3*i+1]-'0'
		n := int(tens)*10 + int(ones)
		if tens > 9 || ones > 9 || n > most {
			return "", 0, "", false
		}
		seconds = seconds*60 + n
	}
	return text[:start], time.Duration(seconds) * time.Second, text[end:], true
}
