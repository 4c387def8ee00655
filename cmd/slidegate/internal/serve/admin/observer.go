package admin

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	keptDenials     = 50
	shownDenials    = 20
	deniedPerSecond = 5
)

// Observer is an engine.Observer that keeps the 50 latest denied requests: at most
// five a second, and at most one a minute for each rule and key. So a flood costs
// two mutexes, and one loud key does not hide the others. It is safe for concurrent
// use.
type Observer struct {
	engine.Observer
	inForce atomic.Pointer[inForce]

	mu     sync.Mutex
	kept   []Denial // the latest first
	latest int64    // ID; 0 before the first
	second int64    // since 1970, in which taken were kept
	taken  int
}

// Denial is a request that was denied.
type Denial struct {
	ID                   int64
	At                   time.Time
	Reason, By, Key      string // By is the limit, as clients know it
	Method, Path, Client string
	request              request.Request
}

// Subject is the key that was denied or, without one, the client's address.
func (d *Denial) Subject() string { return cmp.Or(d.Key, d.Client) }

// inForce is the rules and the time of their first decision here.
type inForce struct {
	set   *rules.Set
	since time.Time
}

// NewObserver returns an observer that passes everything on to another.
func NewObserver(next engine.Observer) *Observer { return &Observer{Observer: next} }

// Decided keeps a request that was denied.
func (o *Observer) Decided(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
	o.Observer.Decided(ctx, now, req, d)
	o.since(now, d.Rules())
	if !d.Allowed {
		o.keep(now, req, d)
	}
}

// since returns since when rules are in force: since their first decision, or
// since the page first showed them.
func (o *Observer) since(now time.Time, set *rules.Set) time.Time {
	f := o.inForce.Load()
	if f == nil || f.set != set {
		f = &inForce{set, now}
		o.inForce.Store(f)
	}
	return f.since
}

func (o *Observer) keep(now time.Time, req *request.Request, d *engine.Decision) {
	one := Denial{At: now, Reason: d.Reason.String(), Method: req.Method, Path: req.Path, request: *req}
	if len(d.Verdicts) > 0 {
		one.By, one.Key = d.Verdicts[0].Rule.Name, d.Verdicts[0].Key
	}
	if v, i := d.Tightest(); v != nil {
		one.By = v.PolicyName(i)
	}
	if req.IP.IsValid() {
		one.Client = req.IP.String()
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if now.Unix() != o.second {
		o.second, o.taken = now.Unix(), 0
	}
	if o.taken == deniedPerSecond || slices.ContainsFunc(o.kept, func(last Denial) bool {
		return last.By == one.By && last.Subject() == one.Subject() && last.Reason == one.Reason && now.Sub(last.At) < time.Minute
	}) {
		return
	}
	o.taken++
	o.latest++
	one.ID = o.latest
	o.kept = slices.Insert(o.kept[:min(len(o.kept), keptDenials-1)], 0, one)
}

func (o *Observer) find(id int64) (one Denial, kept bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	i := slices.IndexFunc(o.kept, func(d Denial) bool { return d.ID == id })
	if i < 0 {
		return one, false
	}
	return o.kept[i], true
}

// list returns the latest denials, the last one first.
func (o *Observer) list() []Denial {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.kept[:min(len(o.kept), shownDenials)])
}
