package operator

import (
	"cmp"
	"context"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/request"
)

const (
	// denialsEvery is how often denials are summed up.
	denialsEvery = 10 * time.Second
	// deniedKeys is how many keys of a rule a summary lists.
	deniedKeys = 10
)

// decisionLog is an engine.Observer that logs what an oplog.Observer does, denials
// summed up by rule every ten seconds, and on demand each decision. It is safe for
// concurrent use.
type decisionLog struct {
	*oplog.Observer
	log  *slog.Logger
	each bool // log each decision

	mu     sync.Mutex
	denied map[denier]*denials // since the last summary
}

// denier is what denies: a rule, or only a reason.
type denier struct{ rule, reason string }

// denials counts those of one denier.
type denials struct {
	all  int64
	keys telemetry.Sketch
}

// deniedKey is a key and how many of its requests were denied at least. The number
// is exact if its rule denied 100 keys or fewer.
type deniedKey struct {
	Key    string `json:"key"`
	Denied int64  `json:"denied"`
}

// String writes the key for a log that is no JSON.
func (k deniedKey) String() string { return slog.Int64(k.Key, k.Denied).String() }

// newDecisionLog returns an observer that writes to log; each has it write a line
// for each decision.
func newDecisionLog(log *slog.Logger, each bool) *decisionLog {
	return &decisionLog{Observer: oplog.NewObserver(log), log: log, each: each, denied: map[denier]*denials{}}
}

// Decided counts a denial by its rule and key. A denial without a rule counts by
// the client's address.
func (o *decisionLog) Decided(ctx context.Context, now time.Time, req *request.Request, d *engine.Decision) {
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
		c = &denials{}
		o.denied[by] = c
	}
	c.all++
	c.keys.Add(key)
}

// logEach logs a decision. The names of the request's fields are those that replay
// reads from JSON Lines. Of a preflight it logs the fields that make it one: rules
// count other OPTIONS.
func (o *decisionLog) logEach(ctx context.Context, req *request.Request, ip string, d *engine.Decision) {
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
func (o *decisionLog) Run(ctx context.Context) {
	ticks := time.NewTicker(denialsEvery)
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
func (o *decisionLog) Flush(ctx context.Context) {
	o.Observer.Flush(ctx)
	o.summarize(ctx)
}

// summarize logs the denials since the last summary, a line for each denier.
func (o *decisionLog) summarize(ctx context.Context) {
	o.mu.Lock()
	denied := o.denied
	o.denied = map[denier]*denials{}
	o.mu.Unlock()
	byName := func(a, b denier) int { return cmp.Or(cmp.Compare(a.rule, b.rule), cmp.Compare(a.reason, b.reason)) }
	for _, by := range slices.SortedFunc(maps.Keys(denied), byName) {
		c := denied[by]
		most, others := []deniedKey{}, c.all
		for _, k := range c.keys.Top(deniedKeys) {
			most = append(most, deniedKey{k.Key, k.Count - k.Error})
			others -= k.Count - k.Error
		}
		o.log.InfoContext(ctx, "denials", "rule", by.rule, "reason", by.reason, "denied", c.all, "keys", most, "others", others)
	}
}
