package match

import (
	"strings"

	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/request/urlpath"
	"github.com/slidegate/slidegate/internal/rules/key"
)

const (
	// fewSelectors are compared as quickly as they are looked up.
	fewSelectors = 4
	// mostTexts bounds the memory of an index, which could otherwise be many
	// times that of its selectors.
	mostTexts = 16
)

// Index finds the selectors of a list that may cover a request. It looks up each
// of them by one field: by the segments that its paths or routes begin with, or
// by the values of a source. So its time grows only with the selectors that have
// no such field, and with those that share the same text.
type Index struct {
	others        []int32 // places in the list of selectors without such a field
	paths, routes table
	values        map[key.Part]*table // by source
}

// table has places of selectors by texts of one field. Each is one of a path's
// heads, such as "v1/items", or a value.
type table struct {
	places map[string][]int32
	source key.Part // of values
	depths []bool   // of heads: whether there is one of so many segments
}

// NewIndex returns the index of a list of selectors, which must not change
// afterwards.
func NewIndex(list []*Selector) *Index {
	x := &Index{values: map[key.Part]*table{}}
	for place, s := range list {
		if len(list) <= fewSelectors {
			x.others = append(x.others, int32(place))
		} else {
			x.add(s, int32(place))
		}
	}
	return x
}

// add adds a selector to the table in which it shares its texts with the fewest
// others so far.
func (x *Index) add(s *Selector, place int32) {
	var best *table
	var texts []string
	least := 0
	consider := func(t *table, all []string) {
		sum := 0
		for _, text := range all {
			sum += len(t.places[text])
		}
		if best == nil || sum < least {
			best, texts, least = t, all, sum
		}
	}
	if heads := headsOf(s.Paths); len(heads) > 0 {
		consider(&x.paths, heads)
	}
	if heads := headsOf(s.Routes); len(heads) > 0 {
		consider(&x.routes, heads)
	}
	for i := range s.Match {
		if c := &s.Match[i]; len(c.Words) <= mostTexts {
			if x.values[c.Part] == nil {
				x.values[c.Part] = &table{source: c.Part}
			}
			consider(x.values[c.Part], c.Words)
		}
	}
	if best == nil {
		x.others = append(x.others, place)
		return
	}
	best.add(texts, place)
}

// headsOf returns the heads of patterns. It returns none if one of them matches
// paths of any head.
func headsOf(patterns []Pattern) (heads []string) {
	if len(patterns) > mostTexts {
		return nil
	}
	for i := range patterns {
		head := patterns[i].pattern.Head()
		if head == "" {
			return nil
		}
		heads = append(heads, head)
	}
	return heads
}

func (t *table) add(texts []string, place int32) {
	if t.places == nil {
		t.places = map[string][]int32{}
	}
	for _, text := range texts {
		places := t.places[text]
		if n := len(places); n > 0 && places[n-1] == place { // two patterns with one head
			continue
		}
		t.places[text] = append(places, place)
		depth := strings.Count(text, "/") + 1
		for len(t.depths) <= depth {
			t.depths = append(t.depths, false)
		}
		t.depths[depth] = true
	}
}

// Each calls yield with the places of all selectors that may cover the request,
// in any order and some several times.
func (x *Index) Each(r *request.Request, yield func(place int32)) {
	for _, place := range x.others {
		yield(place)
	}
	f := r.Derived()
	variants := f.PathVariants()
	for i := range variants {
		x.paths.eachHead(&variants[i], yield)
		if f.Template == "" {
			x.routes.eachHead(&variants[i], yield)
		}
	}
	if f.Template != "" {
		x.routes.eachHead(&f.Route, yield)
	}
	for _, t := range x.values {
		t.source.Each(r, func(text string) {
			for _, place := range t.places[text] {
				yield(place)
			}
		})
	}
}

// eachHead calls yield with the places of all heads of a path.
func (t *table) eachHead(path *urlpath.Text, yield func(place int32)) {
	if t.places == nil {
		return
	}
	text := path.Folded()
	for depth, end := 1, 0; depth < len(t.depths) && end < len(text); depth++ {
		if depth > 1 {
			end++ // the slash
		}
		if slash := strings.IndexByte(text[end:], '/'); slash >= 0 {
			end += slash
		} else {
			end = len(text)
		}
		if t.depths[depth] {
			for _, place := range t.places[text[:end]] {
				yield(place)
			}
		}
	}
}
