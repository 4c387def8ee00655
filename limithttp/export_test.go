package limithttp

// Pauses returns the number of pauses that the transport keeps.
func (t *Transport) Pauses() int { return len(t.pauses) }
