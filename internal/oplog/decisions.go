package oplog

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/request"
)

const (
	// maxDeniedKeys bounds the keys that a summary counts one by one. Denials of
	// later keys count only in all of their rule.
	maxDeniedKeys = 10_000
	// listedKeys is how many keys of a rule a summary lists.
	listedKeys = 10
)

// Decisions is an Observer that also logs denials, summed up by rule every ten
// seconds, and on demand each decision. It is safe for concurrent use.
type Decisions struct {
	*Observer
	each bool // log each decision

	mu     sync.Mutex
	denied map[denier]*denials // since the last summary
	keys   int                 // in denied
}

// denier is what denies: a rule, or only a reason.
type denier struct{ rule, reason string }

// denials counts those of one denier.
type denials struct {
	all   int64
	byKey map[string]int64 // of maxDeniedKeys keys in total
}

// DeniedKey is a key and how many of its requests were denied.
type DeniedKey struct {
	Key    string `json:"key"`
	Denied int64  `json:"denied"`
}

// NewDecisions returns an observer that writes to log; each has it write a line for
// each decision.
func NewDecisions(log *slog.Logger, each bool) *Decisions {
	return &Decisions{Observer: NewObserver(log), each: each, denied: map[denier]*denials{}}
}

// Decided counts a denial by its rule and key. A denial without a rule counts by
// the client's address.
func (o *Decisions) Decided(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
	o.Observer.Decided(ctx, now, req, d)
	ip := ""
	if req.IP.IsValid() {
		ip = req.IP.String()
	}
	if o.each {
		o.logEach(ctx, req, ip, d)
	}
	if d.Allowed {
		return
	}
	by, key := denier{"", d.Reason.String()}, ip
	if len(d.Verdicts) > 0 {
		by.rule, key = d.Verdicts[0].Rule.Name, d.Verdicts[0].Key
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.denied[by]
	if c == nil {
		c = &denials{byKey: map[string]int64{}}
		o.denied[by] = c
	}
	c.all++
	if c.byKey[key] == 0 {
		if o.keys == maxDeniedKeys {
			return
		}
		o.keys++
	}
	c.byKey[key]++
}

// logEach logs a decision. The names of the request's fields are those that replay
// reads from JSON Lines. Of a preflight it logs the fields that make it one: rules
// count other OPTIONS.
func (o *Decisions) logEach(ctx context.Context, req *request.Request, ip string, d *engine.Decision) {
	attrs := []slog.Attr{
		slog.String("method", req.Method), slog.String("path", req.Path), slog.String("ip", ip),
		slog.Bool("allowed", d.Allowed), slog.String("reason", d.Reason.String()),
	}
	if v, i := d.Tightest(); v != nil {
		attrs = append(attrs, slog.String("rule", v.Rule.Name), slog.String("key", v.Key), slog.Int64("remaining", v.Limits[i].Remaining))
	} else if len(d.Verdicts) > 0 {
		attrs = append(attrs, slog.String("rule", d.Verdicts[0].Rule.Name), slog.String("key", d.Verdicts[0].Key))
	}
	if d.Degraded {
		attrs = append(attrs, slog.Bool("degraded", true))
	}
	if req.IsPreflight() {
		fields := make([]slog.Attr, len(request.PreflightFields))
		for i, name := range request.PreflightFields {
			fields[i] = slog.Any(name, req.Header(name))
		}
		attrs = append(attrs, slog.GroupAttrs("headers", fields...))
	}
	o.log.LogAttrs(ctx, slog.LevelInfo, "decision", attrs...)
}

// Run logs a summary every ten seconds in which a request was denied, until the
// context ends. Flush logs the last one.
func (o *Decisions) Run(ctx context.Context) {
	ticks := time.NewTicker(reportEvery)
	defer ticks.Stop()
	for {
		select {
		case <-ticks.C:
			o.summarize(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Flush is Observer.Flush, and logs the denials since the last summary.
func (o *Decisions) Flush(ctx context.Context) {
	o.Observer.Flush(ctx)
	o.summarize(ctx)
}

// summarize logs the denials since the last summary, a line for each denier.
func (o *Decisions) summarize(ctx context.Context) {
	o.mu.Lock()
	denied := o.denied
	o.denied, o.keys = map[denier]*denials{}, 0
	o.mu.Unlock()
	byName := func(a, b denier) int { return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.reason, b.reason)) }
	for _, by := range slices.SortedFunc(maps.Keys(denied), byName) {
		c := denied[by]
		most := make([]DeniedKey, 0, len(c.byKey))
		for key, n := range c.byKey {
			most = append(most, DeniedKey{key, n})
		}
		slices.SortFunc(most, func(a, b DeniedKey) int { return cmp.Or(cmp.Compare(b.Denied, a.Denied), cmp.Compare(a.Key, b.Key)) })
		most = most[:min(len(most), listedKeys)]
		others := c.all
		for _, k := range most {
			others -= k.Denied
		}
		o.log.InfoContext(ctx, "denials", "rule", by.rule, "reason", by.reason, "denied", c.all, "keys", most, "others", others)
	}
}
