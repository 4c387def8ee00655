package sim

import (
	"fmt"
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Subject is a key of a rule, and the requests that come for it.
type Subject struct {
	Limits   []limit.Limit
	Rate     float64       // units that requests ask for in a second, on the average
	MaxCosts []int64       // costs are from 1 to this, one for each limit
	ZeroCost float64       // share of requests that cost the limit at hand nothing
	Edges    bool          // requests come in bursts around the borders of windows
	Active   time.Duration // requests come for so long, on the average, and then pause; 0 for always
	Pause    time.Duration // for at least so long
	Partner  int           // the subject that a request charges together with this one; its own number for none
}

// version is the rule as it was published at some time. A new capacity keeps
// the counter, a new shape starts another.
type version struct {
	published int64
	limits    []limit.Limit
	counter   *counter
}

// subject is a Subject at work.
type subject struct {
	*Subject
	world    *world
	number   int
	versions []*version
	shapes   int
	mean     time.Duration // between two requests
	burst    int           // requests of a burst that are still to come
	haste    time.Duration // between two of them
	edge     int64         // the next border
	pauses   int64         // when the next pause begins
}

func (w *world) newSubject(n int) *subject {
	s := &subject{Subject: &w.plan.Subjects[n], world: w, number: n}
	s.mean = s.distance()
	s.publish(s.Limits, w.newCounter(s, s.Limits), 0)
	s.pauses = w.now + int64(w.exponential(s.Active))
	s.edge = s.border(w.now)
	w.after(w.between(0, s.mean), s.arrive)
	return s
}

// distance returns the mean time between two requests.
func (s *Subject) distance() time.Duration {
	var cost float64
	for _, most := range s.MaxCosts {
		cost = max(cost, float64(most+1)/2*(1-s.ZeroCost))
	}
	return max(time.Microsecond, time.Duration(cost/s.Rate*float64(time.Second)))
}

func (s *subject) publish(limits []limit.Limit, k *counter, at int64) {
	s.versions = append(s.versions, &version{at, limits, k})
}

func (s *subject) newest() *version { return s.versions[len(s.versions)-1] }

// version returns the rule as an environment knows it.
func (s *subject) version(e *environment) *version {
	for i := len(s.versions) - 1; i > 0; i-- {
		if v := s.versions[i]; v.published+int64(e.lag) <= s.world.now {
			return v
		}
	}
	return s.versions[0]
}

// changeCapacity publishes other capacities, between a half and double what
// they were at first.
func (s *subject) changeCapacity() {
	limits := slices.Clone(s.newest().limits)
	for i := range limits {
		l, first := &limits[i], &s.Limits[i]
		l.Capacity = max(1, first.Capacity/2+s.world.random.Int64N(first.Capacity*3/2+1))
		if l.Algorithm == limit.SlidingWindowLog {
			l.Capacity = min(l.Capacity, limit.MaxLog)
		}
	}
	s.publish(limits, s.newest().counter, s.world.now)
}

// changeShape publishes the same limits with another window: their counter is a
// new one.
func (s *subject) changeShape() {
	limits := slices.Clone(s.newest().limits)
	for i := range limits {
		if l, first := &limits[i], &s.Limits[i]; l.Algorithm == limit.SlidingWindow {
			factor := time.Duration(1 + s.world.random.IntN(2))
			l.Window, l.Granularity = first.Window*factor, first.Granularity*factor
		}
	}
	s.publish(limits, s.world.newCounter(s, limits), s.world.now)
}

// arrive has a request come, and plans the next.
func (s *subject) arrive() {
	w := s.world
	if !w.busy() {
		return
	}
	if e := w.pick(); e != nil {
		s.request(e)
	}
	w.queue.push(s.next(), s.arrive)
}

// next draws when the next request comes.
func (s *subject) next() int64 {
	w := s.world
	if s.burst > 0 {
		s.burst--
		return w.now + int64(w.exponential(s.haste))
	}
	at := w.now + int64(w.exponential(s.mean))
	if s.Edges && at >= s.edge {
		at = s.rush()
	}
	if s.Active > 0 && at >= s.pauses {
		at = s.resume()
	}
	return at
}

// resume draws when requests come again after a pause: where they know where
// windows end, just before one does.
func (s *subject) resume() int64 {
	w := s.world
	at := w.now + int64(s.Pause+w.exponential(10*time.Second))
	s.edge = s.border(at)
	if s.Edges {
		at = s.rush()
	}
	s.pauses = at + int64(w.exponential(s.Active))
	return at
}

// rush begins a burst before the next border: within rushLasts, twice what the
// limit allows.
func (s *subject) rush() int64 {
	at := max(s.world.now, s.edge-int64(s.world.between(0, rushLasts)))
	s.edge = s.border(s.edge + 1)
	s.burst = int(2 * s.Limits[0].MaxCost() / (1 + s.MaxCosts[0]/2))
	s.haste = rushLasts / time.Duration(s.burst+1)
	return at
}

const rushLasts = 100 * time.Millisecond

// border returns the first border of windows after a moment.
func (s *subject) border(after int64) int64 {
	width := int64(s.Limits[0].Window)
	return (after/width + 1) * width
}

// request has an environment decide: from its snapshots if they deny, else by
// its store. It may charge the subject's partner in the same transaction.
func (s *subject) request(e *environment) {
	w, now := s.world, e.clock.Now()
	p := s.ask(e, now)
	if p == nil {
		return
	}
	r := &request{world: w, environment: e, operation: charge, parts: []*part{p}}
	if w.chance(w.plan.Peeks) {
		r.operation = peek
	} else if s.Partner != s.number && w.chance(0.5) {
		p := w.subjects[s.Partner].ask(e, now)
		if p == nil {
			return
		}
		r.parts = append(r.parts, p)
	}
	r.begin(false)
}

// ask draws a charge of the subject's counter. It returns nil if a snapshot of
// the environment denies the charge.
func (s *subject) ask(e *environment, now time.Time) *part {
	w, v, costs := s.world, s.version(e), make([]int64, len(s.Limits))
	for i := range costs {
		costs[i] = 1
		if s.MaxCosts[i] > 1 {
			costs[i] += w.random.Int64N(s.MaxCosts[i])
		}
		if w.chance(s.ZeroCost) {
			costs[i] = 0
		}
	}
	p := &part{counter: v.counter, charge: limit.Charge{Key: v.counter.key, Limits: v.limits, Costs: costs}}
	if e.other == nil && e.store.Denies(now, &p.charge, &p.verdict) {
		v.counter.deniedBySnapshot(w, now, &p.charge)
		return nil
	}
	return p
}

func (s *subject) name() string {
	s.shapes++
	return fmt.Sprintf("rule|user:%d|%08x", s.number, s.shapes)
}
