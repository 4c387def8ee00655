// Package dose is mutated by the tests of the tool: its own tests and those of package meter catch some of its mutants.
package dose

const most = 10

// Clamp is tested here, but not at its boundary, where nothing could be seen.
func Clamp(n int) int {
	if n > most {
		return most
	}
	return n
}

// Halve is tested in package meter alone.
func Halve(n int) int { return n / 2 }

// Count ends only if it counts the right way.
func Count(n int) (steps int) {
	for n > 0 {
		n--
		steps++
	}
	return steps
}

var sizes = [...]int{4}

// Smallest has an index that the compiler knows to be right: to change it does not compile.
func Smallest() int { return sizes[0] }

// Forgotten is not tested at all.
func Forgotten(n int) int { return -n }
