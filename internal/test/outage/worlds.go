package outage

import "time"

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
