package outage

import (
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Subject is a key of a rule, and the requests for it.
type Subject struct {
	Limit   limit.Limit   // a sliding window
	Rate    float64       // mean cost of all requests in a second
	MaxCost int64         // costs are from 1 to this
	Edges   bool          // requests arrive in bursts around the borders of windows
	Active  time.Duration // mean time during which requests arrive before a pause; 0 for always
	Pause   time.Duration // the least length of a pause
}

// subject is a Subject at work.
type subject struct {
	*Subject
	world     *world
	counter   *counter
	mean      time.Duration // between two requests
	burst     int           // requests left in the burst
	spacing   time.Duration // between two requests of a burst
	nextEdge  int64         // the next border
	nextPause int64         // when the next pause begins
}

func (w *world) newSubject(n int) *subject {
	s := &subject{Subject: &w.plan.Subjects[n], world: w, counter: w.newCounter(n)}
	s.mean = s.distance()
	s.nextPause = w.now + int64(w.exponential(s.Active))
	s.nextEdge = s.border(w.now)
	w.after(w.between(0, s.mean), s.arrive)
	return s
}

// distance returns the mean time between two requests.
func (s *Subject) distance() time.Duration {
	return max(time.Microsecond, time.Duration(float64(s.MaxCost+1)/2/s.Rate*float64(time.Second)))
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
	s.burst = int(2 * s.Limit.MaxCost() / (1 + s.MaxCost/2))
	s.spacing = burstLength / time.Duration(s.burst+1)
	return at
}

const burstLength = 100 * time.Millisecond

// border returns the first border of windows after a moment.
func (s *subject) border(after int64) int64 {
	width := int64(s.Limit.Window)
	return (after/width + 1) * width
}

// request makes an environment decide: by its snapshots if they deny, else by
// its store.
func (s *subject) request(e *environment) {
	w, cost := s.world, int64(1)
	if s.MaxCost > 1 {
		cost += w.Int64N(s.MaxCost)
	}
	r := &request{world: w, counter: s.counter}
	r.charge = limit.Charge{Key: s.counter.key, Limits: []limit.Limit{s.Limit}, Costs: []int64{cost}}
	if e.store.Denies(e.clock.Now(), &r.charge, &r.verdict) {
		w.count("decisions", 1)
		w.count("denied", 1)
		w.count("denied by a snapshot", 1)
		return
	}
	r.begin(e)
}
