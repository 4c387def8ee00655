package rules

import (
	"math/bits"
	"strings"
)

// maxIndexed is how many rules an index tells apart: as many as a file can hold.
const maxIndexed = 1 << 14

// index finds the rules that may cover a request without asking every rule. A rule stands in buckets: those of its routes,
// those of its paths, or those of the words that it wants in a claim, whichever it shares with the fewest others. A lookup
// goes through the buckets that a request comes by and asks the rules in them.
//
// It only has to be too generous, never too narrow, for the rule has the last word. So it tells segments apart by their
// hashes, takes all segments with a star for one, and reads no further than to the first **. It follows that rules which
// differ in nothing else, such as a thousand for /** or for different methods, are asked one by one.
//
// A lookup usually takes as many steps as the path has segments. Patterns with stars in many places may make it take all
// the steps that there are, which are no more than the patterns have segments.
type index struct {
	rules  []*Rule // in file order
	always bucket  // of the rules that nothing tells apart
	routes *step
	paths  *step
	claims []claimed
}

// bucket is where rules stand in an index, by their positions in file order.
type bucket struct {
	rules []uint16
	crowd int // how many could stand here
}

// choice is the buckets that a rule may stand in for one of its fields: a request that the rule covers comes by one of them
// at least.
type choice []*bucket

// step is a segment of patterns, with those that continue it.
type step struct {
	literal map[uint64]*step // by the hash of the segment
	star    *step            // any segment with a star
	end     bucket           // of patterns that are complete here
	deep    bucket           // of patterns that go on with **, or for too long
}

// claimed has the rules that want one of several words from a source.
type claimed struct {
	part    part
	buckets map[string]*bucket
}

// newIndex returns the index of a set's rules, in file order.
func newIndex(rules []*Rule) *index {
	x := &index{rules: rules, routes: &step{}, paths: &step{}}
	choices := make([][]choice, min(len(rules), maxIndexed))
	for i := range choices {
		choices[i] = x.choices(&rules[i].when)
		for _, c := range choices[i] {
			for _, b := range c {
				b.crowd++
			}
		}
	}
	for i := range choices {
		for _, b := range x.leastCrowded(choices[i]) {
			b.rules = append(b.rules, uint16(i))
		}
	}
	return x
}

func (x *index) choices(s *selector) (choices []choice) {
	if len(s.routes) > 0 {
		choices = append(choices, x.routes.choice(s.routes))
	}
	if len(s.paths) > 0 {
		choices = append(choices, x.paths.choice(s.paths))
	}
	for i := range s.match {
		choices = append(choices, x.claimed(s.match[i].part).choice(s.match[i].words))
	}
	return choices
}

// leastCrowded returns the choice whose fullest bucket has the fewest rules to share it.
func (x *index) leastCrowded(choices []choice) choice {
	best, least := choice{&x.always}, maxIndexed+1
	for _, c := range choices {
		most := 0
		for _, b := range c {
			most = max(most, b.crowd)
		}
		if most < least {
			best, least = c, most
		}
	}
	return best
}

func (x *index) claimed(p part) *claimed {
	for i := range x.claims {
		if x.claims[i].part == p {
			return &x.claims[i]
		}
	}
	x.claims = append(x.claims, claimed{p, map[string]*bucket{}})
	return &x.claims[len(x.claims)-1]
}

func (c *claimed) choice(words []string) choice {
	buckets := make(choice, len(words))
	for i, w := range words {
		if c.buckets[w] == nil {
			c.buckets[w] = &bucket{}
		}
		buckets[i] = c.buckets[w]
	}
	return buckets
}

func (s *step) choice(globs []glob) choice {
	buckets := make(choice, len(globs))
	for i := range globs {
		buckets[i] = s.bucket(globs[i].segments)
	}
	return buckets
}

// bucket returns the one of a pattern, making the steps to it.
func (s *step) bucket(segments []string) *bucket {
	for i, segment := range segments {
		if segment == anyDepth || i == maxSteps {
			return &s.deep
		}
		s = s.to(segment)
	}
	return &s.end
}

func (s *step) to(segment string) *step {
	if strings.IndexByte(segment, '*') >= 0 {
		if s.star == nil {
			s.star = &step{}
		}
		return s.star
	}
	hash := foldedHash(segment)
	if s.literal == nil {
		s.literal = map[uint64]*step{}
	}
	if s.literal[hash] == nil {
		s.literal[hash] = &step{}
	}
	return s.literal[hash]
}

// appendMatches appends the rules that cover the request, in file order: those whose Matches says so. It allocates nothing
// but what Matches does.
func (x *index) appendMatches(dst []*Rule, req *Request) []*Rule {
	var found shortlist
	x.find(&found, req)
	indexed := min(len(x.rules), maxIndexed)
	for w := range (indexed + 63) / 64 {
		for word := found[w]; word != 0; word &= word - 1 {
			if r := x.rules[w*64+bits.TrailingZeros64(word)]; r.Matches(req) {
				dst = append(dst, r)
			}
		}
	}
	for _, r := range x.rules[indexed:] {
		if r.Matches(req) {
			dst = append(dst, r)
		}
	}
	return dst
}

// find adds all rules that may cover the request.
func (x *index) find(found *shortlist, req *Request) {
	found.add(&x.always)
	f := req.work()
	x.findPath(found, f.path, f.template == "")
	for _, p := range f.others {
		x.findPath(found, p, f.template == "")
	}
	if f.template != "" {
		t := trailOf(f.template)
		found.walk(x.routes, t.segments(), t.cut)
	}
	for i := range x.claims {
		found.addClaimed(&x.claims[i], req)
	}
}

func (x *index) findPath(found *shortlist, path string, isRoute bool) {
	t := trailOf(path)
	found.walk(x.paths, t.segments(), t.cut)
	if isRoute {
		found.walk(x.routes, t.segments(), t.cut)
	}
}

// shortlist has the rules found so far, a bit each, so that they come out once and in file order.
type shortlist [(maxIndexed + 63) / 64]uint64

func (l *shortlist) add(b *bucket) {
	for _, i := range b.rules {
		l[i/64] |= 1 << (i % 64)
	}
}

func (l *shortlist) addClaimed(c *claimed, req *Request) {
	c.part.each(req, func(word string) {
		if b := c.buckets[word]; b != nil {
			l.add(b)
		}
	})
}

// walk adds what stands along a path. It goes both ways where there are two.
func (l *shortlist) walk(s *step, hashes []uint64, cut bool) {
	for ; s != nil; hashes = hashes[1:] {
		l.add(&s.deep)
		if len(hashes) == 0 {
			if !cut {
				l.add(&s.end)
			}
			return
		}
		if s.star != nil {
			l.walk(s.star, hashes[1:], cut)
		}
		s = s.literal[hashes[0]]
	}
}
