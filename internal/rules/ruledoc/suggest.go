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
