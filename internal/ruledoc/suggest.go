package ruledoc

import (
	"fmt"
	"strings"
)

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
// be, at most two mistakes away, or one if the word is short: rate is not name.
// It returns "" for none.
func Closest(word string, known []string) string {
	best, found := 3, ""
	if len(word) < 5 {
		best = 2
	}
	for _, k := range known {
		if len(word) > len(k)+2 { // keeps words of any length cheap
			continue
		}
		if len(word) < 3 && len(k) == len(word) { // no is not on
			continue
		}
		if d := distance(word, k); d < best && d < len(word) {
			best, found = d, k
		}
	}
	return found
}

// distance returns how many mistakes turn a into b: a letter that is missing,
// added or another, or two neighbors that changed places.
func distance(a, b string) int {
	var before []int              // the row before the last
	last := make([]int, len(b)+1) // distances of a[:i] to every prefix of b
	for j := range last {
		last[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			change := last[j]
			if a[i] != b[j] {
				change++
			}
			row[j+1] = min(change, row[j]+1, last[j+1]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, last = last, row
	}
	return last[len(b)]
}
