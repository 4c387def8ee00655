// Package suggest finds the word that a misspelled one was probably meant to
// be, for messages.
package suggest

import (
	"fmt"
	"strings"
)

// Instead says what to write for an unknown word: the one that was probably
// meant, as in "did you mean limits?", or else lead and all known words, as in
// "there are a, b and c". Last joins the last two words: "and" or "or".
func Instead(word string, known []string, lead, last string) string {
	if meant := Closest(word, known); meant != "" {
		return fmt.Sprintf("did you mean %s?", meant)
	}
	return lead + " " + List(known, last)
}

// List writes words as "a, b and c", if last is "and".
func List(words []string, last string) string {
	n := len(words) - 1
	if n < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:n], ", ") + " " + last + " " + words[n]
}

// Closest returns the known word that differs from word in at most two letters
// and in the fewest; "" if there is none. A word shorter than its difference
// says nothing about what was meant.
func Closest(word string, known []string) string {
	best, found := 3, ""
	for _, k := range known {
		if len(word) > len(k)+2 { // keeps long words cheap
			continue
		}
		if d := distance(word, k); d < best && d < len(word) {
			best, found = d, k
		}
	}
	return found
}

// distance returns the Levenshtein distance: how many letters to insert, remove
// or replace to turn a into b.
func distance(a, b string) int {
	row := make([]int, len(b)+1) // distances of a[:i] to every prefix of b
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			change := diagonal
			if a[i] != b[j] {
				change++
			}
			diagonal = row[j+1]
			row[j+1] = min(change, row[j]+1, diagonal+1)
		}
	}
	return row[len(b)]
}
