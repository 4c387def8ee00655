package sim

import (
	"slices"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Subject is a key of a rule, and the requests for it.
type Subject struct {
	Limits   []limit.Limit
	Rate     float64       // mean cost of all requests in a second
	MaxCosts []int64       // costs are from 1 to this, for each limit
	ZeroCost float64       // share of requests that have zero cost for a limit
	Edges    bool          // requests arrive in bursts around the borders of windows
	Active   time.Duration // mean time during which requests arrive before a pause; 0 for always
	Pause    time.Duration // the least length of a pause
	Partner  int           // the subject in the same transactions; its own number for none
}

// version is a published version of the rule. A new capacity keeps the counter,
// and a new shape starts another.
type version struct {
	published int64
	limits    []limit.Limit
	counter   *counter
}

// subject is a Subject at work.
type subject struct {
	*Subject
	world     *world
	number    int
	versions  []*version
	mean      time.Duration // between two requests
	burst     int           // requests left in the burst
	spacing   time.Duration // between two requests of a burst
	nextEdge  int64         // the next border
	nextPause int64         // when the next pause begins
}

func (w *world) newSubject(n int) *subject {
	s := &subject{Subject: &w.plan.Subjects[n], world: w, number: n}
	s.mean = s.distance()
	s.publish(s.Limits, w.newCounter(s, s.Limits), 0)
	s.nextPause = w.now + int64(w.exponential(s.Active))
	s.nextEdge = s.border(w.now)
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

// version returns the version of the rule that an environment has loaded.
func (s *subject) version(e *environment) *version {
	for i := len(s.versions) - 1; i > 0; i-- {
		if v := s.versions[i]; v.published+int64(e.lag) <= s.world.now {
			return v
		}
	}
	return s.versions[0]
}

// changeCapacity publishes other capacities, from half to double the first
// ones.
func (s *subject) changeCapacity() {
	limits := slices.Clone(s.newest().limits)
	for i := range limits {
		l, first := &limits[i], &s.Limits[i]
		l.Capacity = max(1, first.Capacity/2+s.world.Int64N(first.Capacity*3/2+1))
		if l.Algorithm == limit.SlidingWindowLog {
			l.Capacity = min(l.Capacity, limit.MaxLog)
		}
	}
	s.publish(limits, s.newest().counter, s.world.now)
}

// changeShape publishes the same limits with another window, which need a new
// counter.
func (s *subject) changeShape() {
	limits := slices.Clone(s.newest().limits)
	for i := range limits {
		if l, first := &limits[i], &s.Limits[i]; l.Algorithm == limit.SlidingWindow {
			factor := time.Duration(1 + s.world.IntN(2))
			l.Window, l.Granularity = first.Window*factor, first.Granularity*factor
		}
	}
	s.publish(limits, s.world.newCounter(s, limits), s.world.now)
}

// arrive makes a request, and schedules the next.
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

// next draws the time of the next request.
func (s *subject) next() int64 {
	w := s.world
	if s.burst > 0 {
		s.burst--
		return w.now + int64(w.exponential(s.spacing))
	}
	at := w.now + int64(w.exponential(s.mean))
	if s.Edges && at >= s.nextEdge {
		at = s.startBurst()
	}
	if s.Active > 0 && at >= s.nextPause {
		at = s.endPause()
	}
	return at
}

// endPause draws the first request after a pause. Where requests arrive in
// bursts, that is just before the end of a window.
func (s *subject) endPause() int64 {
	w := s.world
	at := w.now + int64(s.Pause+w.exponential(10*time.Second))
	s.nextEdge = s.border(at)
	if s.Edges {
		at = s.startBurst()
	}
	s.nextPause = at + int64(w.exponential(s.Active))
	return at
}

// startBurst begins a burst before the next border. Its requests cost twice the
// limit within burstLength.
func (s *subject) startBurst() int64 {
	at := max(s.world.now, s.nextEdge-int64(s.world.between(0, burstLength)))
	s.nextEdge = s.border(s.nextEdge + 1)
	s.burst = int(2 * s.Limits[0].MaxCost() / (1 + s.MaxCosts[0]/2))
	s.spacing = burstLength / time.Duration(s.burst+1)
	return at
}

const burstLength = 100 * time.Millisecond

// border returns the first border of windows after a moment.
func (s *subject) border(after int64) int64 {
	width := int64(s.Limits[0].Window)
	return (after/width + 1) * width
}

// request makes an environment decide: by its snapshots if they deny, else by
// its store. It may charge the subject's partner in the same transaction.
func (s *subject) request(e *environment) {
	w, now := s.world, e.clock.Now()
	p := s.part(e, now)
	if p == nil {
		return
	}
	r := &request{world: w, environment: e, operation: charge, parts: []*part{p}}
	if w.chance(w.plan.Peeks) {
		r.operation = peek
	} else if s.Partner != s.number && w.chance(0.5) {
		p := w.subjects[s.Partner].part(e, now)
		if p == nil {
			return
		}
		r.parts = append(r.parts, p)
	}
	r.begin(false)
}

// part draws a charge of the subject's counter. It returns nil if a snapshot of
// the environment denies the charge.
func (s *subject) part(e *environment, now time.Time) *part {
	w, v, costs := s.world, s.version(e), make([]int64, len(s.Limits))
	for i := range costs {
		costs[i] = 1
		if s.MaxCosts[i] > 1 {
			costs[i] += w.Int64N(s.MaxCosts[i])
		}
		if w.chance(s.ZeroCost) {
			costs[i] = 0
		}
	}
	p := &part{counter: v.counter, charge: limit.Charge{Key: v.counter.key, Limits: v.limits, Costs: costs}}
	if e.store.Denies(now, &p.charge, &p.verdict) {
		v.counter.deniedBySnapshot(w, now, &p.charge)
		return nil
	}
	return p
}
