package outage

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
)

// Plan describes a world. Durations between faults are means; 0 stands for
// never.
type Plan struct {
	Name         string
	Seed         uint64
	Share        float64 // how many decisions it makes, relative to other worlds
	Environments int
	Gateways     bool          // environments serve requests concurrently; Lambda's serve one at a time
	Turns        time.Duration // how long all requests go to one environment before the next one's turn; 0 for no turns
	Subjects     []Subject
	Network      Network
	Clocks       Clocks

	Deaths, Freezes, Resets time.Duration
	LateExpiry              float64 // share of items that outlive their ttl

	Warmup time.Duration // admissions before its end are not in Report.Peak
}

// Clocks describes the errors of the environments' clocks.
type Clocks struct {
	Error   time.Duration // at most, either way
	Jumps   time.Duration // between two jumps of some clock
	MaxJump time.Duration // the farthest that a jump takes a clock from true time
}

// Worlds returns the names of the kinds of worlds that Draw draws.
func Worlds() []string {
	names := make([]string, len(worlds))
	for i := range worlds {
		names[i] = worlds[i].name
	}
	return names
}

// Draw draws the n-th world of a seed. The kinds of worlds take turns.
func Draw(seed uint64, n int) *Plan {
	kind := &worlds[n%len(worlds)]
	p := &Plan{Name: kind.name, Share: kind.share, Seed: mix(seed, uint64(n))}
	d := &draw{random{rand.New(rand.NewPCG(p.Seed, 0))}, p, 0}
	d.rate = math.Exp(1 + 4*d.Float64()) // 3 to 150
	p.Environments = d.int(20, 200)
	p.Gateways = d.Float64() < 0.25
	p.Network = Network{Latency: d.between(time.Millisecond, 5*time.Millisecond), Deadline: 250 * time.Millisecond}
	kind.draw(d)
	return p
}

// mix derives a world's seed from a run's (splitmix64).
func mix(seed, n uint64) uint64 {
	z := seed + (n+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// draw draws a plan.
type draw struct {
	random
	plan *Plan
	rate float64 // units a second that a limit of the plan allows, about
}

// each returns the mean time in which the world makes the given number of
// requests, so that busier worlds have more faults.
func (d *draw) each(requests int) time.Duration {
	var rate float64
	for i := range d.plan.Subjects {
		rate += 1 / d.plan.Subjects[i].distance().Seconds()
	}
	return time.Duration(float64(requests) / rate * float64(time.Second))
}

// int returns a number in [low, high].
func (d *draw) int(low, high int) int { return low + d.IntN(high-low+1) }

// shapes of windows: their length and granularity.
var shapes = [][2]time.Duration{
	{time.Second, 100 * time.Millisecond}, {2 * time.Second, time.Second}, {10 * time.Second, time.Second},
	{10 * time.Second, 200 * time.Millisecond}, {time.Minute, time.Second}, {time.Minute, time.Second},
	{time.Minute, 10 * time.Second}, {10 * time.Minute, 10 * time.Second}, {time.Hour, time.Minute},
}

// mostUnits bounds the capacity of a window, so that floods fill even the
// longest.
const mostUnits = 4000

// limit draws a sliding window of about as many units a second as the plan's
// limits allow.
func (d *draw) limit() limit.Limit {
	shape := shapes[d.IntN(len(shapes))]
	for d.rate*shape[0].Seconds() > mostUnits {
		shape = shapes[d.IntN(len(shapes))]
	}
	capacity := max(1, int64(d.rate*shape[0].Seconds()*(0.5+1.5*d.Float64())))
	return limit.Limit{Capacity: capacity, Window: shape[0], Granularity: shape[1]}
}

// subject adds a subject. Two of three charge each request 1 unit. Others charge
// up to 100, and at most a part of the capacity.
func (d *draw) subject(load float64, l limit.Limit) *Subject {
	s := Subject{Limit: l, Rate: d.rate * load, MaxCost: 1}
	if d.IntN(3) == 0 {
		s.MaxCost = max(1, min(l.MaxCost()/int64(1+d.IntN(5)), 1+d.Int64N(100)))
	}
	d.plan.Subjects = append(d.plan.Subjects, s)
	return &d.plan.Subjects[len(d.plan.Subjects)-1]
}

// loads of the subjects of a world, in shares of what their limits allow.
var loads = []float64{0.1, 0.5, 0.9, 1.1, 3, 20, 60}

// worlds are the kinds of worlds; each has other faults. Where snapshots deny
// little, a decision takes ten times as long, so those worlds make a quarter as
// many decisions.
var worlds = []struct {
	name  string
	share float64
	draw  func(*draw)
}{
	{"calm", 1, func(d *draw) { d.sliding() }},
	{"faults", 1, func(d *draw) {
		d.sliding()
		d.breakNetwork()
	}},
	{"clocks", 1, func(d *draw) {
		d.sliding()
		d.plan.Clocks.Error = d.between(50*time.Millisecond, time.Second)
	}},
	{"jumps", 1, func(d *draw) {
		d.sliding()
		d.plan.Clocks = Clocks{
			Error: 200 * time.Millisecond, Jumps: d.each(5000), MaxJump: d.between(time.Second, time.Minute),
		}
	}},
	{"resets", 1, func(d *draw) {
		d.sliding()
		d.plan.Resets = d.each(2000)
	}},
	{"idle", 0.25, func(d *draw) {
		d.sliding()
		d.pause()
	}},
	{"tight", 0.25, func(d *draw) { d.tight() }},
	{"everything", 0.25, func(d *draw) {
		d.sliding()
		d.breakNetwork()
		d.plan.Resets = d.each(2000)
		d.plan.Clocks = Clocks{Error: d.between(0, time.Second), Jumps: d.each(20_000), MaxJump: 20 * time.Second}
	}},
}

// sliding adds sliding windows under every load, some with bursts at their
// borders.
func (d *draw) sliding() {
	for i, load := range loads {
		s := d.subject(load, d.limit())
		s.Edges = i%2 == 1
	}
}

// tight adds small windows of few slots and few units, so that environments
// compete.
func (d *draw) tight() {
	d.rate = float64(d.int(1, 8))
	for i, load := range []float64{0.5, 1, 2, 5, 20} {
		l := d.limit()
		l.Capacity = int64(d.int(1, 4))
		l.Granularity = d.between(100*time.Millisecond, 500*time.Millisecond).Round(time.Millisecond)
		l.Window = time.Duration(d.int(1, 3)) * l.Granularity
		s := d.subject(load, l)
		s.Edges = i%2 == 0
	}
	d.breakNetwork()
	d.plan.Network.Latency = d.between(5*time.Millisecond, 40*time.Millisecond)
	d.plan.Clocks.Error = d.between(0, 500*time.Millisecond)
	d.plan.Resets = d.each(1000)
}

func (d *draw) breakNetwork() {
	n := &d.plan.Network
	n.Slow, n.Throttled = 0.02*d.Float64(), 0.05*d.Float64()
	n.LostRequests, n.LostAnswers, n.Stuck = 0.03*d.Float64(), 0.05*d.Float64(), 0.03*d.Float64()
	n.StuckFor = d.between(100*time.Millisecond, 2*time.Minute)
	d.plan.Deaths, d.plan.Freezes = d.each(2000), d.each(2000)
}

// pause makes every subject pause again and again, until about the expiry of
// its item.
func (d *draw) pause() {
	d.breakNetwork()
	d.plan.Clocks.Error = d.between(0, time.Second)
	d.plan.LateExpiry = 0.2
	some := time.Duration(d.plan.Environments)
	d.plan.Deaths, d.plan.Freezes = 10*time.Hour/some, time.Hour/some
	for i := range d.plan.Subjects {
		s := &d.plan.Subjects[i]
		s.Edges, s.Active, s.Pause = false, 200*s.distance(), s.Limit.Window+time.Hour-5*time.Second
	}
}
