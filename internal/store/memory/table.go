package memory

// table finds counters by key. It is a hash table with open addressing and
// linear probing: the store hashes a key once, for its shard and for its place,
// where a Go map would hash it again.
type table struct {
	places []*counter // a power of two, at most three quarters in use
	n      int
}

// home returns the first place to look for a hash. The low bits chose the shard.
func (t *table) home(hash uint32) int { return int(hash) & (len(t.places) - 1) }

func (t *table) next(i int) int { return (i + 1) & (len(t.places) - 1) }

// find returns the counter of a key; nil if there is none.
func (t *table) find(hash uint32, key string) *counter {
	if t.n == 0 {
		return nil
	}
	for i := t.home(hash); t.places[i] != nil; i = t.next(i) {
		if ct := t.places[i]; ct.hash == hash && ct.key == key {
			return ct
		}
	}
	return nil
}

// add adds a counter with a new key.
func (t *table) add(ct *counter) {
	if 4*(t.n+1) > 3*len(t.places) {
		t.grow()
	}
	t.n++
	t.place(ct)
}

func (t *table) place(ct *counter) {
	i := t.home(ct.hash)
	for t.places[i] != nil {
		i = t.next(i)
	}
	t.places[i] = ct
}

func (t *table) grow() {
	old := t.places
	t.places = make([]*counter, max(4, 2*len(old)))
	for _, ct := range old {
		if ct != nil {
			t.place(ct)
		}
	}
}

// remove removes a counter of the table. It moves those behind it that had to
// give way, so that each is still found from its home.
func (t *table) remove(ct *counter) {
	i := t.home(ct.hash)
	for t.places[i] != ct {
		i = t.next(i)
	}
	t.n--
	for j := t.next(i); t.places[j] != nil; j = t.next(j) {
		mask := len(t.places) - 1
		if fromHome := (j - t.home(t.places[j].hash)) & mask; fromHome >= (j-i)&mask {
			t.places[i], i = t.places[j], j
		}
	}
	t.places[i] = nil
}
