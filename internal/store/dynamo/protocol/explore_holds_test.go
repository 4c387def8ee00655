package protocol

import (
	"fmt"
	"hash/maphash"
	"slices"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	dm "github.com/slidegate/slidegate/internal/test/dynamomodel"
)

// The invariants of holds.
//
//	I0, I1  as without holds: the item is readable, so it counts its holds right, and no window holds too much.
//	H1      When a place is taken, no more callers are at work than the capacity that the caller knows.
//	H2      A charge is corrected at most once, and by its own receipt alone.
//	H3      Once all holds have ended, three writes are enough for a caller to be admitted.

// holdTick is the step of the clocks. Clocks may differ by one: by as much as the margin
// allows.
const holdTick = limit.HoldMargin

const (
	mostHolders  = 3
	mostMessages = 5
	earlyTicks   = 2 // of the slack of the ttl, of which a search reaches the end
)

// holders is a system of callers that take places and charge a window, settle, crash
// or renew. Messages may be delayed for ever, and their answers be lost. A caller
// stops by its own monotonic clock.
type holders struct {
	limits [][]limit.Limit // by capacity that a caller may know
	knows  []int8          // the capacity of each caller
	skew   []int8          // ticks by which the clock of each caller is ahead
	costs  []int64
	deltas [][]int64 // of settlements
	last   int8      // the clock stops here
	hold   int8      // ticks from a charge to the end of its hold
	sends  int8      // times that a caller sends the charge of a hold
	renews int8
	resets int8
	// double has the first caller open two holds by one write.
	double bool

	// early is a mutant: callers take holds for ended at their end.
	early bool

	*oracle
	plans map[opening]uint32
}

// opening is a decision to open a hold.
type opening struct {
	snapshot         uint32
	who, clock, know int8
	first            bool
}

// holdersState is a state of the system.
type holdersState struct {
	item        uint32
	now         int8
	generations int8
	resets      int8
	holders     [mostHolders]holder
	messages    [mostMessages]message // sorted; empty ones last
	log         ledger
}

type holder struct {
	snapshot, receipt uint32
	status            int8
	start             int8 // of its current stretch, when the message left that set the end of its hold
	sent, renewed     int8
	settled           int8 // how often
	resent            int8
	epoch             int8 // resets before its charge
}

// The statuses of a holder.
const (
	resting = iota
	asking
	working
	settlingUp
	away
)

// message is a write under way.
type message struct {
	write      uint32
	kind, who  int8
	start, nth int8
}

// The kinds of messages.
const (
	none = iota
	opens
	closes
	renews
)

func at(ticks int8) time.Time { return dawn.Add(time.Duration(ticks) * holdTick) }

func (s *holders) with(t *testing.T, m *mutant) *holders {
	with := *s
	with.oracle = newOracle(t, scope{limits: s.limits, deltas: s.deltas, ttl: true, mutant: m})
	with.plans = map[opening]uint32{}
	return &with
}

func (s *holders) start() (first holdersState) { return first }

func (s *holders) fingerprint(x *holdersState) uint64 { return maphash.Comparable(seed, *x) }

// chargeOf returns the charge of a caller's hold.
func (s *holders) chargeOf(know, id int8) *limit.Charge {
	return &limit.Charge{
		Key: "key", Limits: s.limits[know], Costs: s.costs,
		Hold: limit.Opening{ID: uint64(id) + 1, For: time.Duration(s.hold) * holdTick, Most: 2},
	}
}

// plan returns the write that opens a caller's hold, or denied.
func (s *holders) plan(o opening) uint32 {
	return memo(s.plans, o, func(o opening) uint32 {
		snapshot, c, now := s.snapshots.all[o.snapshot], s.chargeOf(o.know, o.who), at(o.clock)
		if s.early && snapshot != nil {
			snapshot = forward(snapshot)
		}
		var v limit.Verdict
		if snapshot.Decide(c, now, &v); !v.Allowed {
			return denied
		}
		plan := PlanCharge(snapshot, c, now, now, o.first)
		if s.double && o.who == 0 {
			batch := NewBatch(snapshot, c, now)
			if !batch.Add(s.chargeOf(o.know, mostHolders), now) {
				return denied
			}
			plan = batch.Plan(now, o.first)
		}
		if s.early {
			honest(plan)
		}
		w := sent{kind: charging, of: c, now: now, snapshot: snapshot, planned: plan, update: plan.Update}
		for i, took := range plan.holds.opened[0].Took {
			if c.Limits[i].Algorithm != limit.InFlight {
				w.marks[i] = mark{int8(took.Units) * int8(len(plan.holds.opened)), int8(c.Limits[i].Capacity), slotTick(&c.Limits[i], took.Slot), 0}
			}
		}
		return s.sent(w)
	})
}

// forward returns the snapshot with holds that end sooner, by the margin and more.
func forward(s *Snapshot) *Snapshot {
	early := *s
	var all []limit.Hold
	for _, h := range s.held().All() {
		h.End -= (2 * holdTick).Milliseconds()
		all = append(all, h)
	}
	early.holds = limit.NewHolds(all, s.held().Changes())
	return &early
}

// honest undoes forward in what a write says of the holds that it removes.
func honest(w *Plan) {
	for i := range w.holds.ended {
		w.holds.ended[i].End += (2 * holdTick).Milliseconds()
	}
}

func slotTick(l *limit.Limit, slot int64) int8 { return int8(l.Until(slot, dawn) / holdTick) }

func (s *holders) expand(x holdersState, visit func(move, holdersState, string)) {
	try := func(m move, step func(next *holdersState) (bool, string)) {
		next := x
		if ok, broken := step(&next); ok {
			slices.SortFunc(next.messages[:], compareMessages)
			visit(m, next, broken)
		}
	}
	try(move{kind: ticks}, s.tick)
	try(move{kind: resets}, s.reset)
	try(move{kind: expires}, s.expire)
	for i := range int8(len(s.knows)) {
		for kind := range int8(len(holderMoves)) {
			for arg := range int8(max(1, len(s.deltas))) {
				try(move{kind: kind + 100, who: i, arg: arg}, func(next *holdersState) (bool, string) {
					return holderMoves[kind].step(s, next, &next.holders[i], i, arg), ""
				})
				if holderMoves[kind].name != "settles" {
					break
				}
			}
		}
	}
	for i := range int8(mostMessages) {
		if x.messages[i].kind != none {
			for lost := range int8(2) {
				try(move{kind: arrives, who: i, arg: lost}, func(next *holdersState) (bool, string) { return s.deliver(next, i, lost == 1) })
			}
		}
	}
}

func compareMessages(a, b message) int {
	if (a.kind == none) != (b.kind == none) {
		return int(b.kind) - int(a.kind)
	}
	for _, d := range []int{int(a.kind) - int(b.kind), int(a.who) - int(b.who), int(a.write) - int(b.write), int(a.start) - int(b.start), int(a.nth) - int(b.nth)} {
		if d != 0 {
			return d
		}
	}
	return 0
}

// holderMoves are what a caller may do.
var holderMoves = []struct {
	name string
	step func(s *holders, x *holdersState, h *holder, who, arg int8) bool
}{
	{"asks", (*holders).ask},
	{"asks again", (*holders).askAgain},
	{"reads", (*holders).look},
	{"gives up", func(_ *holders, _ *holdersState, h *holder, _, _ int8) bool { return h.leave(asking) }},
	{"crashes", func(_ *holders, _ *holdersState, h *holder, _, _ int8) bool { return h.leave(working) }},
	{"settles", (*holders).finish},
	{"settles again", (*holders).resend},
	{"renews", (*holders).renew},
}

func (h *holder) leave(status int8) bool {
	if h.status != status {
		return false
	}
	*h = holder{status: away, sent: h.sent, settled: h.settled}
	return true
}

func (s *holders) tick(x *holdersState) (bool, string) {
	if x.now == s.last {
		return false, ""
	}
	x.now++
	for i := range x.holders {
		if h := &x.holders[i]; x.now >= h.start+s.hold {
			h.leave(working)
		}
	}
	return true, ""
}

func (s *holders) reset(x *holdersState) (bool, string) {
	if x.item == 0 || x.resets == s.resets {
		return false, ""
	}
	x.resets++
	x.item, x.log = 0, ledger{}
	return true, ""
}

// expire has DynamoDB delete the item. Of the slack, the search leaves two ticks.
func (s *holders) expire(x *holdersState) (bool, string) {
	if x.item == 0 {
		return false, ""
	}
	ttl, err := readNumber(AttributeTTL, s.items.all[x.item].attributes[AttributeTTL])
	if err != nil || ttl-int64((slack-earlyTicks*holdTick)/time.Second) >= at(x.now).Unix() {
		return false, ""
	}
	x.item = 0
	return true, ""
}

func (s *holders) ask(x *holdersState, h *holder, who, _ int8) bool {
	return h.status == resting && s.open(x, h, who)
}

// askAgain sends the charge of the same hold again, because no answer has come.
func (s *holders) askAgain(x *holdersState, h *holder, who, _ int8) bool {
	return h.status == asking && s.open(x, h, who)
}

func (s *holders) open(x *holdersState, h *holder, who int8) bool {
	if h.sent == s.sends {
		return false
	}
	w := s.plan(opening{h.snapshot, who, x.now + s.skew[who], s.knows[who], h.sent == 0})
	if w == denied || !x.send(message{write: w, kind: opens, who: who, start: x.now}) {
		return false
	}
	h.status = asking
	h.sent++
	return true
}

func (x *holdersState) send(m message) bool {
	for i := range x.messages {
		if x.messages[i] == m {
			return true
		}
		if x.messages[i].kind == none {
			x.messages[i] = m
			return true
		}
	}
	return false
}

func (s *holders) look(x *holdersState, h *holder, _, _ int8) bool {
	if h.status != resting || h.snapshot == s.snapshotOf(x.item) {
		return false
	}
	h.snapshot = s.snapshotOf(x.item)
	return true
}

// finish settles a caller's charge, and ends its work.
func (s *holders) finish(x *holdersState, h *holder, who, delta int8) bool {
	if h.status != working || !s.close(x, h, who, delta, 0) {
		return false
	}
	h.status, h.start = settlingUp, 0
	return true
}

// resend settles once more, because no answer has come.
func (s *holders) resend(x *holdersState, h *holder, who, _ int8) bool {
	if h.status != settlingUp || h.resent == 1 || !s.close(x, h, who, int8(len(s.deltas)-1), 1) {
		return false
	}
	h.resent = 1
	return true
}

func (s *holders) close(x *holdersState, h *holder, who, delta, nth int8) bool {
	c, now, r := s.chargeOf(s.knows[who], who), at(x.now+s.skew[who]), s.receipts.all[h.receipt].Receipt
	deltas, snapshot := s.deltas[delta], s.snapshots.all[h.snapshot]
	update := func(generation string) *Update { return PlanSettlement(snapshot, c, &r, deltas, now, now, generation) }
	w := sent{kind: settling, of: c, now: now, snapshot: snapshot, update: update, refunds: true}
	planned := update("created")
	for i, delta := range deltas {
		slot := r.Slots[i]
		if value := planned.values[":"+prefixOf(i)+"q"]; delta > 0 && value != nil {
			slot = valueOf(planned, ":"+prefixOf(i)+"q")
		}
		if delta > 0 || planned.values[":"+prefixOf(i)+"r"] != nil {
			w.marks[i] = mark{units: int8(delta), at: slotTick(&c.Limits[i], slot)}
		}
	}
	ok := x.send(message{write: s.sent(w), kind: closes, who: who, nth: nth})
	if s.double && who == 0 && ok {
		second := *c
		second.Hold.ID = mostHolders + 1
		other := r
		other.Hold = second.Hold.ID
		w.marks = marks{}
		w.update = func(generation string) *Update {
			return PlanSettlement(snapshot, &second, &other, make([]int64, len(deltas)), now, now, generation)
		}
		ok = x.send(message{write: s.sent(w), kind: closes, who: mostHolders, nth: nth})
	}
	return ok
}

func (s *holders) renew(x *holdersState, h *holder, who, _ int8) bool {
	if h.status != working || h.renewed == s.renews || s.double && who == 0 {
		return false
	}
	c, now, r := s.chargeOf(s.knows[who], who), at(x.now+s.skew[who]), s.receipts.all[h.receipt].Receipt
	snapshot := s.snapshots.all[h.snapshot]
	w := s.sent(sent{kind: renewing, of: c, now: now, snapshot: snapshot, update: func(string) *Update {
		return PlanRenewal(snapshot, c, &r, now, now)
	}})
	h.renewed++
	return x.send(message{write: w, kind: renews, who: who, start: x.now})
}

// deliver applies a message to the table. Its sender gets the answer unless it is
// lost.
func (s *holders) deliver(x *holdersState, i int8, lost bool) (ok bool, broken string) {
	m := x.messages[i]
	x.messages[i] = message{}
	before := x.item
	after := s.apply(before, m.write, x.generations+1)
	done := after != refused
	if done {
		if x.item = after; before == 0 {
			x.generations++
		}
		if broken = s.items.all[after].broken; broken != "" {
			return true, broken
		}
	}
	h := &x.holders[m.who%mostHolders]
	switch w := &s.writes.all[m.write]; m.kind {
	case opens:
		if done {
			broken = s.taken(x, h, m, w)
		}
		if !lost && broken == "" && h.status == asking {
			broken = s.answer(x, h, m, done)
		}
	case closes:
		if m.who < mostHolders {
			broken = s.closed(x, h, m, w, done, lost)
		}
	case renews:
		held := s.held(x.item, m.who)
		switch {
		case lost || h.status != working:
		case done:
			h.start = max(h.start, m.start)
		case held == nil || held.Opened != s.receipts.all[h.receipt].Opened:
			h.leave(working)
		}
	}
	return true, broken
}

// taken logs a charge, and checks H1.
func (s *holders) taken(x *holdersState, h *holder, m message, w *sent) string {
	others := *x
	others.holders[m.who].status = away
	mine := int8(1)
	if s.double && m.who == 0 {
		mine = 2
	}
	if n, most := s.atWork(&others)+mine, s.places(m.who); x.resets == 0 && most > 0 && n > most {
		return fmt.Sprintf("H1: %d at work of %d", n, most)
	}
	return x.log.charge(w.of.Limits, &w.marks)
}

// held returns the hold of a caller in an item.
func (s *holders) held(item uint32, who int8) *limit.Hold {
	return s.snapshots.all[s.snapshotOf(item)].held().Find(uint64(who) + 1)
}

// answer tells a caller how its charge went. A refused charge whose hold is there was
// its own: it is admitted.
func (s *holders) answer(x *holdersState, h *holder, m message, done bool) string {
	h.snapshot = s.snapshotOf(x.item)
	mine := s.held(x.item, m.who)
	live := mine != nil && mine.End+limit.HoldMargin.Milliseconds() >= at(x.now+s.skew[m.who]).UnixMilli()
	if s.double && m.who == 0 {
		live = live && s.held(x.item, mostHolders) != nil
	}
	if !done && !live {
		h.status = resting
		return ""
	}
	h.start = m.start
	if !done { // by an earlier message, which left when the end of the hold says
		h.start = int8((time.UnixMilli(mine.End).Sub(dawn))/holdTick) - s.hold - s.skew[m.who]
	}
	if x.now >= h.start+s.hold {
		h.status, h.receipt = away, 0
		return ""
	}
	r := limit.Receipt{Generation: s.generationOf(x.item), Hold: mine.ID, Opened: mine.Opened}
	for i, took := range mine.Took {
		r.Slots[i] = took.Slot
	}
	h.status, h.receipt, h.epoch = working, s.receipt(bill{Receipt: r}), x.resets
	if n, most := s.atWork(x), s.places(m.who); x.resets == 0 && len(s.limits) == 1 && most > 0 && n > most {
		return fmt.Sprintf("H1: %d at work of %d", n, most)
	}
	return ""
}

// places returns how many callers may be at work; 0 for no limit.
func (s *holders) places(who int8) int8 {
	for i := range s.limits[s.knows[who]] {
		if l := &s.limits[s.knows[who]][i]; l.Algorithm == limit.InFlight {
			return int8(l.Capacity)
		}
	}
	return 0
}

func (s *holders) atWork(x *holdersState) (n int8) {
	for i := range x.holders {
		if x.holders[i].status == working {
			n++
			if s.double && i == 0 {
				n++
			}
		}
	}
	return n
}

// closed logs a settlement. A refused one whose hold is still there is planned again.
func (s *holders) closed(x *holdersState, h *holder, m message, w *sent, done, lost bool) string {
	if !done {
		if !lost && h.status == settlingUp && s.held(x.item, m.who) != nil && s.generationOf(x.item) == s.receipts.all[h.receipt].Generation {
			h.snapshot = s.snapshotOf(x.item)
			s.close(x, h, m.who, 0, m.nth)
		}
		return ""
	}
	if h.settled++; h.settled > 1 {
		return "H2: a charge is corrected twice"
	}
	if h.epoch == x.resets {
		x.log.correct(&w.marks)
		return ""
	}
	return "H2: a charge is corrected in another counter than its own"
}

// check checks H3 at the end of a search.
func (s *holders) check(x *holdersState) string {
	if x.now < s.last || x.item == 0 || s.places(0) == 0 {
		return ""
	}
	return memo(s.alone, lonely{item: x.item, capacity: s.knows[0]}, func(l lonely) string {
		o := opening{who: mostHolders + 1, clock: s.last + 2*s.hold + 4, know: l.capacity, first: true}
		for range MaxAttempts {
			if w := s.plan(o); w == denied {
				return "H3: denied, though all holds have ended"
			} else if s.apply(l.item, w, 100) != refused {
				return ""
			}
			o.snapshot, o.first = s.snapshotOf(l.item), false
		}
		return "H3: not admitted by three writes, though all holds have ended"
	})
}

func (s *holders) describe(before *holdersState, m move, after *holdersState) string {
	item := "item: " + s.describeItem(after.item)
	switch {
	case m.kind == ticks:
		return fmt.Sprintf("tick %d", after.now)
	case m.kind == resets:
		return "an operator deletes the item"
	case m.kind == expires:
		return "the item expires"
	case m.kind >= 100:
		return fmt.Sprintf("%c %s", 'A'+m.who, holderMoves[m.kind-100].name)
	}
	message := before.messages[m.who]
	outcome := "refused"
	if before.item != after.item {
		outcome = item
	}
	return fmt.Sprintf("%c: its message %s arrives%s; %s", 'A'+message.who, s.describeWrite(message.write), [...]string{"", ", its answer is lost"}[m.arg], outcome)
}

// inFlight returns a limit of so many places.
func inFlight(capacity int64) limit.Limit {
	return limit.Limit{Name: "places", Algorithm: limit.InFlight, Capacity: capacity, Window: 2 * holdTick}
}

// ticking returns a sliding window of two slots, each one tick wide.
func ticking(capacity int64) limit.Limit {
	return limit.Limit{Name: "a", Capacity: capacity, Window: holdTick, Granularity: holdTick}
}

func holderRuns() map[string]*holders {
	places := func(capacities ...int64) (all [][]limit.Limit) {
		for _, n := range capacities {
			all = append(all, []limit.Limit{inFlight(n)})
		}
		return all
	}
	both := func(window, n int64) [][]limit.Limit { return [][]limit.Limit{{ticking(window), inFlight(n)}} }
	spend := func(window int64) [][]limit.Limit { return [][]limit.Limit{{ticking(window)}} }
	zero, same, ahead := [][]int64{{0}}, []int8{0, 0}, []int8{0, 1}
	return map[string]*holders{
		"places":            {limits: places(1), knows: same, skew: ahead, costs: []int64{1}, deltas: zero, last: 4, hold: 2, sends: 2},
		"capacity 2 to 1":   {limits: places(2, 1), knows: ahead, skew: ahead, costs: []int64{1}, deltas: zero, last: 3, hold: 2, sends: 2},
		"two by one write":  {limits: places(2), knows: same, skew: ahead, costs: []int64{1}, deltas: zero, last: 3, hold: 2, sends: 2, double: true},
		"renewals":          {limits: places(1), knows: same, skew: ahead, costs: []int64{1}, deltas: zero, last: 3, hold: 3, sends: 1, renews: 2},
		"3 callers":         {limits: places(2), knows: []int8{0, 0, 0}, skew: []int8{0, 0, 0}, costs: []int64{1}, deltas: zero, last: 5, hold: 2, sends: 1, double: true},
		"window and places": {limits: both(3, 2), knows: same, skew: ahead, costs: []int64{2, 1}, deltas: [][]int64{{-1, 0}, {1, 0}}, last: 2, hold: 2, sends: 2},
		"spend":             {limits: spend(3), knows: same, skew: same, costs: []int64{2}, deltas: [][]int64{{-1}, {1}}, last: 2, hold: 2, sends: 2},
		"spend, reset":      {limits: spend(3), knows: same, skew: same, costs: []int64{2}, deltas: [][]int64{{-1}}, last: 2, hold: 2, sends: 2, resets: 1},
	}
}

// explore searches a system of holders.
func (s *holders) explore(t *testing.T, m *mutant, only string) finding {
	return explore(s.with(t, m), only)
}

func TestExploreHolds(t *testing.T) {
	for name, s := range holderRuns() { // of "e = :e" in a settlement, the opening of the hold proves as much
		if *wide {
			s.last += 2
		} else if len(s.knows) == 3 {
			continue // it takes minutes
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := s.explore(t, nil, "")
			found.report(t)
		})
	}
}

// TestExploreHoldMutants leaves out one term of the writes of holds at a time.
func TestExploreHoldMutants(t *testing.T) {
	open := func(pairs ...string) *mutant { m := condition(pairs...); return &m }
	closing := func(pairs ...string) *mutant { m := condition(pairs...).on(settling); return &m }
	renewal := func(pairs ...string) *mutant { m := condition(pairs...).on(renewing); return &m }
	counted := mutate(dm.Assignment("if_not_exists(#I, :zero) + :more", "if_not_exists(#I, :zero) + :one"))
	free := mutate(dm.Assignment("#I = #I - :one", "#I = #I")).on(settling)
	for _, c := range []struct {
		name, run, breaks string
		mutant            *mutant
	}{
		{"attribute_not_exists(#id) removed", "two by one write", "I0", open("attribute_not_exists(#id0) AND ", "")},
		{"#x = :x becomes attribute_exists(#x)", "places", "H1", open("#x0 = :x0", "attribute_exists(#x0)")},
		{"I raised for a hold that replaces another", "places", "I0", &counted},
		{"I <= N - 1 + k removed", "places", "H1", open(" AND (attribute_not_exists(#I) OR #I <= :most)", "")},
		{"a hold ends without a margin", "places", "H1", nil},
		{"ttl <= :ttl removed", "3 callers", "H1", open(" AND (attribute_not_exists(#ttl) OR #ttl <= :ttl)", "")},
		{"close: the opening of #id removed", "places", "I0", closing("#id < :later AND #id >= :opened AND ", "", " AND #id < :later AND #id >= :opened", "")},
		{"close: I stays", "places", "I0", &free},
		{"renew: neither #id < :later nor ttl <= :ttl", "renewals", "H1", renewal("#id < :id AND ", "", " AND (attribute_not_exists(#ttl) OR #ttl <= :ttl)", "")},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := *holderRuns()[c.run]
			s.early = c.mutant == nil
			found := s.explore(t, c.mutant, c.breaks)
			if found.broken == "" {
				t.Errorf("want %s broken: %v", c.breaks, &found)
			} else {
				t.Log(&found)
			}
		})
	}
}
