package urlpath

// machine matches a text with a pattern in one pass, without going back. It is
// a nondeterministic automaton whose states are bits (Baeza-Yates and Gonnet's
// Shift-And): state i means that the first i literal bytes of the pattern have
// matched. A step takes one byte and works on 64 states at a time, so matching
// takes at most (1 + len(text)) * (1 + len(pattern)/64) steps for any pattern.
type machine struct {
	class [256]uint8 // of each byte; 0 for bytes that the pattern does not have
	words int        // how many words the states take
	moves []uint64   // by class: the states that a byte of the class leads to
	stars []uint64   // states with a *, which stay until the segment ends
	deeps []uint64   // states with a **, which return at the end of each segment
	last  int        // the state of the whole pattern
}

// newMachine makes the machine for a pattern's segments, each of which ends in
// a slash, also the last one.
func newMachine(segments []string) *machine {
	literals := 0
	for _, s := range segments {
		literals += len(s) + 1
	}
	m := &machine{words: literals/64 + 1}
	m.moves = make([]uint64, m.words)
	m.stars, m.deeps = make([]uint64, m.words), make([]uint64, m.words)
	for _, s := range segments {
		if s == AnyDepth {
			setBit(m.deeps, m.last)
			continue
		}
		for i := range len(s) {
			if s[i] == '*' {
				setBit(m.stars, m.last)
			} else {
				m.addLiteral(s[i])
			}
		}
		m.addLiteral('/')
	}
	return m
}

func (m *machine) addLiteral(c byte) {
	if m.class[c] == 0 {
		m.class[c] = uint8(len(m.moves) / m.words)
		m.moves = append(m.moves, make([]uint64, m.words)...)
	}
	m.last++
	setBit(m.moves[int(m.class[c])*m.words:], m.last)
}

// maxWords is how many words the states of the longest pattern take. Folding
// makes three bytes of each that is no UTF-8.
const maxWords = 3*MaxPattern/64 + 1

// run reports whether the text matches, and how many words of states it has
// worked on.
func (m *machine) run(text string) (ok bool, steps int) {
	var states, deep [maxWords]uint64
	states[0] = 1
	deep[0] = m.deeps[0] & 1
	for i := 0; i <= len(text) && text != ""; i++ {
		c := byte('/') // ends the last segment
		if i < len(text) {
			c = text[i]
		}
		moves := m.moves[int(m.class[c])*m.words:]
		carry, alive := uint64(0), uint64(0)
		for w := range m.words {
			s := states[w]
			next := (s<<1 | carry) & moves[w]
			carry = s >> 63
			if c == '/' {
				deep[w] |= next & m.deeps[w]
				next |= deep[w]
			} else {
				next |= s & m.stars[w]
			}
			states[w] = next
			alive |= next | deep[w]
		}
		if steps += m.words; alive == 0 || hasBit(deep[:], m.last) {
			return alive != 0, steps
		}
	}
	return hasBit(states[:], m.last), steps
}

func setBit(words []uint64, i int)      { words[i/64] |= 1 << (i % 64) }
func hasBit(words []uint64, i int) bool { return words[i/64]>>(i%64)&1 == 1 }
