package rules

// closest returns the known word that a misspelled one was probably meant to be, or "".
func closest(word string, known []string) string {
	best, found := 3, "" // up to two slips, in a word that is longer than they are
	for _, k := range known {
		if len(word) > len(k)+2 { // and cheap for words of any length
			continue
		}
		if d := distance(word, k); d < best && d < len(word) {
			best, found = d, k
		}
	}
	return found
}

// distance returns how many letters must be put in, left out or changed to turn a into b: Levenshtein's distance.
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
