package ruledoc

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
)

// Instead says what to write in place of a text that is no value of a type: by
// the tag meant of the type, else by that of the field. It returns "" if the
// text is no usual mistake.
func Instead(meant string, of reflect.Type, text string) string {
	right := cmp.Or(instead(ofType(of, "meant"), text), instead(meant, text))
	if right == "" && strings.HasPrefix(text, "{") {
		return insteadOfLimits(of, text)
	}
	return right
}

// InsteadOfField says what to write in place of a name that no field of a struct
// has; "" if the name is no usual mistake. The value tells names with two meanings
// apart.
func InsteadOfField(of reflect.Type, name, value string) string {
	list, name := ofType(of, "fields"), strings.ReplaceAll(name, "-", "_")
	return cmp.Or(instead(list, name+": "+value), instead(list, name))
}

// ofType returns a tag that texts.txt has of a type, rather than of a field.
func ofType(t reflect.Type, tag string) string {
	if t == nil {
		return ""
	}
	return tagOf(t, "*", "").Get(tag)
}

// instead finds a text in a list such as "shadow = dry-run|monitor; off = no".
// The patterns stand for the whole text, in any case. What is right may hold
// their groups.
func instead(list, text string) string {
	for entry := range strings.SplitSeq(list, "; ") {
		right, wrong, _ := strings.Cut(entry, " = ")
		known, _ := mistakes.LoadOrStore(wrong, Regexp("(?i)^(?:"+wrong+")$"))
		pattern := known.(func() *regexp.Regexp)()
		if found := pattern.FindStringSubmatchIndex(text); found != nil && wrong != "" {
			right = string(pattern.ExpandString(nil, right, text, found))
			if right == text { // which is wrong for another reason
				return ""
			}
			if strings.HasPrefix(right, "remove ") {
				return right
			}
			return "write " + right
		}
	}
	return ""
}

var mistakes sync.Map // the patterns of lists, by their texts

var thousands = Regexp(`[,_' ](\d{3})`)

// MeantNumber returns the whole number that a text such as 1k or 1,000 probably
// stands for; ok is false if it stands for none.
func MeantNumber(text string) (n int64, ok bool) {
	text = thousands().ReplaceAllString(strings.ToLower(text), "$1")
	digits := strings.TrimRight(text, "km ")
	scale := map[string]float64{"": 1, "k": 1e3, "m": 1e6}[strings.TrimSpace(text[len(digits):])]
	f, err := strconv.ParseFloat(digits, 64)
	f *= scale
	return int64(f), err == nil && f > 0 && f == math.Trunc(f) && f <= float64(mostUnits)
}

// unitWords are units of time, in words that people use.
var unitWords = [...]string{"ms msec milli millisecond", "s sec second", "m min minute", "h hr hour", "d day", "w wk week", "mo mth month"}

// unitOf returns the unit of a word, as windows have it; "" for none.
func unitOf(word string) string {
	if len(word) > 2 {
		word = strings.TrimSuffix(word, "s")
	}
	for _, words := range unitWords {
		all := strings.Fields(words)
		if slices.Contains(all, word) || Closest(word, all[len(all)-1:]) != "" {
			return all[0]
		}
	}
	return ""
}

var lengthPart = Regexp(`(\d+(?:\.\d+)?)?[ -]*([a-z]+)[ ,]*(?:and )?`)

// MeantDuration returns the window that a text such as "1 minute" or PT1H
// probably stands for; "" for none.
func MeantDuration(text string) (window string) {
	text = strings.ToLower(text)
	if iso, ok := strings.CutPrefix(text, "p"); ok {
		date, clock, _ := strings.Cut(iso, "t")
		text = strings.ReplaceAll(date, "m", "mo") + clock
	}
	read := ""
	for _, part := range lengthPart().FindAllStringSubmatch(text, -1) {
		read += part[0]
		n, unit := cmp.Or(part[1], "1"), unitOf(part[2])
		if unit == "" {
			return ""
		}
		days := map[string]int{"w": 7, "mo": 30}[unit]
		if whole, err := strconv.Atoi(n); days > 0 && err == nil && (n != "1" || part[0] != text) {
			n, unit = strconv.Itoa(days*whole), "d"
		}
		window += n + unit
	}
	if _, ok := ParseDuration(window); read != text || !ok && !isCalendarOnly(window) {
		return ""
	}
	return window
}

var rateLike = Regexp(`(?i)^([\d.,_' ]*\d(?: ?[km]\b)?) *(?:requests?|reqs?|calls?|hits?|units?|tokens?|r)? *` +
	`(?:per|every|each|in|an?|p|/|-)? *(\S.*)$`)

// ofEachKey is what rates of other programs say of keys.
var ofEachKey = Regexp(`(?i) ?(?:per|/|by|for each|for every|from) ?(?:ip|client|user|key|address|api.?key|tenant)$`)

// meantRate returns the rate that a text such as "100 requests per minute"
// probably stands for; "" for none.
func meantRate(text string) string {
	text = ofEachKey().ReplaceAllString(text, "")
	if window, units, ok := strings.Cut(text, "/"); ok && MeantDuration(window) != "" { // 1h/100
		text = units + "/" + window
	}
	parts := rateLike().FindStringSubmatch(text)
	if parts == nil {
		return ""
	}
	window := MeantDuration(parts[2])
	units, ok := MeantNumber(parts[1])
	if !ok || window == "" {
		return ""
	}
	return (&Limit{Capacity: units, Window: window}).Rate()
}

var notInNames = Regexp(`[^a-z0-9]+`)

// Slug returns the words of a text as the name of a rule can have them; "" if
// there are none.
func Slug(text string, longest int) string {
	name := strings.Trim(notInNames().ReplaceAllString(strings.ToLower(text), "-"), "-")
	return strings.Trim(name[:min(len(name), longest)], "-")
}

// Suggest says what to write for an unknown word: the known word that was
// probably meant, else all of them, such as "write a, b or c" for the lead
// "write" and the last separator "or".
func Suggest(word string, known []string, lead, last string) string {
	if meant := Closest(word, known); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return lead + " " + Enumerate(known, last)
}

// Enumerate writes words as "a, b and c", for the last separator "and".
func Enumerate(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// Closest returns the known word that a misspelled one was probably meant to
// be: at most two mistakes away, and fewer than half the letters of the longer
// of the two; "" for none.
func Closest(word string, known []string) string {
	best, found := 3, ""
	for _, k := range known {
		if len(word) > len(k)+2 { // keeps words of any length cheap
			continue
		}
		if d := distance(word, k); d < best && 2*d < max(len(word), len(k)) {
			best, found = d, k
		}
	}
	return found
}

// distance returns how many letters to insert, remove or replace, or neighbours
// to swap, to turn a into b: the optimal string alignment distance.
func distance(a, b string) int {
	var above []int                // distances of a[:i-1] to every prefix of b
	row := make([]int, len(b)+1)   // of a[:i]
	below := make([]int, len(b)+1) // of a[:i+1]
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		below[0] = i + 1
		for j := range len(b) {
			change := row[j]
			if a[i] != b[j] {
				change++
			}
			below[j+1] = min(change, row[j+1]+1, below[j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				below[j+1] = min(below[j+1], above[j-1]+1)
			}
		}
		above, row, below = row, below, make([]int, len(b)+1)
	}
	return row[len(b)]
}
