package outage

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// epoch is when every world begins: a whole minute, in Unix nanoseconds.
const epoch = int64(1_700_000_040) * int64(time.Second)

const tableName = "counters"

// world is one run of a Plan. Everything in it but posted and finished belongs
// to the goroutine that runs it.
type world struct {
	random
	plan     *Plan
	mutation dynamomodel.Mutation
	quiesce  func()
	queue    queue
	now      int64 // true time, Unix nanoseconds

	table        *dynamomodel.Table
	environments []*environment
	started      int // environments ever started
	subjects     []*subject
	counters     map[string]*counter
	report       *Report

	want    int64 // decisions after which no more requests arrive
	pending int   // requests and calls under way

	mu       sync.Mutex
	posted   []*call    // calls of DynamoDB that stores wait for
	finished []*request // requests that their stores have answered
}

// Run runs the plan until this many decisions have been made and nothing is
// under way any more. quiesce returns once every goroutine that the world has
// started is blocked: synctest.Wait. The mutation, which may be nil, changes
// the stores' writes, so that tests can show that the log detects it.
func (p *Plan) Run(decisions int64, quiesce func(), mutation dynamomodel.Mutation) *Report {
	w := &world{
		plan: p, mutation: mutation, quiesce: quiesce, random: random{rand.New(rand.NewPCG(p.Seed, 1))}, now: epoch,
		table: dynamomodel.New(tableName, "k"), counters: map[string]*counter{}, report: NewReport(), want: decisions,
	}
	for range p.Environments {
		w.environments = append(w.environments, w.newEnvironment())
	}
	for i := range p.Subjects {
		w.subjects = append(w.subjects, w.newSubject(i))
	}
	w.planFaults()
	for !w.over() {
		next, ok := w.queue.pop()
		if !ok {
			break
		}
		w.now = next.at
		next.do()
	}
	w.report.Worlds, w.report.Simulated = 1, time.Duration(w.now-epoch)
	return w.report
}

// busy reports whether requests still arrive.
func (w *world) busy() bool {
	return w.report.Counts["decisions"] < w.want && len(w.report.Violations) < maxViolations
}

func (w *world) over() bool { return !w.busy() && w.pending == 0 }

func (w *world) after(d time.Duration, do func()) { w.queue.push(w.now+int64(d), do) }

// every repeats do at random times with this mean distance, as long as requests
// arrive.
func (w *world) every(mean time.Duration, do func()) {
	if mean <= 0 {
		return
	}
	w.after(w.exponential(mean), func() {
		if w.busy() {
			do()
			w.every(mean, do)
		}
	})
}

// start lets a store work on a request until it waits for DynamoDB or has
// answered.
func (w *world) start(r *request) {
	w.pending++
	go func() {
		r.run()
		w.mu.Lock()
		defer w.mu.Unlock()
		w.finished = append(w.finished, r)
	}()
	w.settle()
}

// post hands a store's call to the world. It returns when the world has
// answered.
func (w *world) post(c *call) {
	w.mu.Lock()
	w.posted = append(w.posted, c)
	w.mu.Unlock()
	<-c.answered
}

// settle waits until every store is blocked, and takes their calls and answers.
// Several goroutines of a store may call at once, so the calls are sorted:
// their order must not depend on which goroutine ran first.
func (w *world) settle() {
	w.quiesce()
	w.mu.Lock()
	posted, finished := w.posted, w.finished
	w.posted, w.finished = nil, nil
	w.mu.Unlock()
	if len(posted) > 1 {
		slices.SortFunc(posted, func(a, b *call) int { return cmp.Compare(a.name(), b.name()) })
	}
	for _, c := range posted {
		w.dispatch(c)
	}
	for _, r := range finished {
		w.pending--
		r.done()
	}
}

// random draws the plan of a world, or what happens in it.
type random struct{ *rand.Rand }

func (r random) exponential(mean time.Duration) time.Duration {
	return time.Duration(r.ExpFloat64() * float64(mean))
}

// between returns a duration in [low, high].
func (r random) between(low, high time.Duration) time.Duration {
	if high <= low {
		return low
	}
	return low + time.Duration(r.Int64N(int64(high-low)+1))
}

func (r random) chance(p float64) bool { return p > 0 && r.Float64() < p }

// event happens at a moment: Unix nanoseconds of true time.
type event struct {
	at int64
	do func()
}

// queue holds future events, the earliest first. Of two events at one moment,
// the one that was planned first comes first.
type queue []event

func (q *queue) push(at int64, do func()) {
	i, _ := slices.BinarySearchFunc(*q, at+1, func(e event, at int64) int { return cmp.Compare(e.at, at) })
	*q = slices.Insert(*q, i, event{at, do})
}

func (q *queue) pop() (first event, ok bool) {
	if len(*q) == 0 {
		return event{}, false
	}
	first = (*q)[0]
	*q = slices.Delete(*q, 0, 1)
	return first, true
}
