package dynamo

import "testing"

// caught is a mutant, the run that it is hunted in, and the invariant that it breaks there.
type caught struct {
	name, run, breaks string
	mutant            mutant
}

// harmless is a mutant that breaks nothing, and why.
type harmless struct {
	name, run, why string
	mutant         mutant
}

// TestExploreMutants leaves out or weakens one term of the real writes at a time. A small search catches each; with -v it tells
// the shortest trace to what is broken.
func TestExploreMutants(t *testing.T) {
	for _, c := range append(caughtCharges(), caughtOthers()...) {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			found := runNamed(c.run).explore(t, &c.mutant, c.breaks, 0)
			if found.broken == "" {
				t.Errorf("want %s broken: %v", c.breaks, &found)
			} else {
				t.Log(&found)
			}
		})
	}
}

// TestExploreHarmlessMutants has the terms that no invariant needs, each with its reason. The wide scope looks for one in every
// small run.
func TestExploreHarmlessMutants(t *testing.T) {
	for _, h := range harmlessMutants() {
		t.Run(h.name, func(t *testing.T) {
			t.Parallel()
			runs := []run{runNamed(h.run)}
			if *wide {
				runs = smallRuns()
			}
			for _, r := range runs {
				found := r.explore(t, &h.mutant, "", 0)
				found.report(t)
			}
			if !h.mutant.struck {
				t.Error("the mutant has changed nothing: its text is out of date")
			}
		})
	}
}

func runNamed(name string) run {
	for _, r := range smallRuns() {
		if r.name == name {
			return r
		}
	}
	panic("no run is called " + name)
}

// caughtCharges are mutants of charges.
func caughtCharges() []caught {
	unproven := condition("(#aC <= :ab OR (#aN = :an AND #aF >= :ac))", "#aN = :an AND #aF >= :ac")
	noTotal := update("#aC = #aC + :ac", "#aC = #aC", "#aC = if_not_exists(#aC, :zero) + :ac", "#aC = if_not_exists(#aC, :ac)")
	orLimits := condition(" AND #bT", " OR #bT", " AND (attribute_not_exists(#bT)", " OR (attribute_not_exists(#bT)")
	return []caught{
		{"h <= :q removed", "any cost 2", "I1", condition("#aH <= :aq AND ", "")},
		{"e = :e removed", "any 2 deletes", "I1", condition("#e = :e AND ", "")},
		{"a view makes an item", "any 2 deletes", "I1", mutant{tamper: revive}},
		{"all lives share a mark", "any 2 deletes", "I1", mutant{tamper: oneMark}},
		{"C <= :B always true", "any cost 2", "I1", condition("#aC <= :ab", "attribute_exists(#aC)")},
		{"C <= :B one unit looser", "any cost 2", "I1", mutant{tamper: looser}},
		{"C <= :B removed", "1 caller", "I4", unproven},
		{"n = :N removed", "any capacities", "I1", condition("#aN = :an AND ", "")},
		{"f >= :c becomes f >= 1", "any cost 2", "I1", mutant{tamper: anyCredit}},
		{"f from the view's total", "any cost 2", "I1", mutant{tamper: creditFromView}},
		{"f is set and n is not", "any capacities", "I1", update("#aF = :ab - #aC, #aN = :an", "#aF = :ab - #aC")},
		{"without a view f stays", "any cost 2", "I1", update("if_not_exists(#aF, :an) - :ac", "if_not_exists(#aF, :an)")},
		{"without a view f starts again", "any cost 2", "I1", update("if_not_exists(#aF, :an) - :ac", ":an - :ac")},
		{"an idle view leaves f", "any cost 2", "I1", update(", #aF = #aF - :ac", "")},
		{"an idle view sets n", "any capacities", "I1", update("#aF = #aF - :ac", "#aF = #aF - :ac, #aN = :an")},
		{"OR after the life", "any cost 2", "I1", condition("#e = :e AND ", "#e = :e OR ")},
		{"OR before the ceiling", "any cost 2", "I1", condition("#aH <= :aq AND (#aC", "#aH <= :aq OR (#aC")},
		{"OR in the credit", "any cost 2", "I1", condition("#aN = :an AND #aF", "#aN = :an OR #aF")},
		{"OR between two limits", "any window and bucket", "I1", orLimits},
		{"an unseen limit taken for new", "any window and bucket", "I1", mutant{tamper: unseenIsNew}},
		{"C not raised", "any cost 2", "I1", noTotal},
		{"h not set", "any cost 2", "I1", update("#aH = :aq", "#aH = if_not_exists(#aH, :aq)")},
		{"a slot set, not raised", "any cost 2", "I1", mutant{tamper: setSlot}},
		{"q = b", "k=2, skew 1", "I4", mutant{plan: ownSlot}},
		{"the window from b, not q", "k=2, skew 1", "I4", mutant{plan: ownWindow}},
		{"REMOVE one slot too far", "any cost 2", "I1", mutant{tamper: removeTooFar}},
		{"ttl from b, not q", "expiry of 2 units", "I1", mutant{plan: ttlFromClock}},
		{"ttl without slack", "expiry", "I1", mutant{plan: ttlWithoutSlack}},
		{"ttl of the limits that cost something", "expiry of 2 limits", "I1", mutant{plan: ttlOfCharged}},
		{"ttl not set again", "expiry", "I1", update("#ttl = :ttl", "#ttl = if_not_exists(#ttl, :ttl)")},
		{"weighted: tail rounded down", "any weighted", "I1", mutant{plan: floorTail}},
		{"weighted: h <= :q removed", "any weighted", "I0", condition("#aH <= :aq AND ", "")},
	}
}

// caughtOthers are mutants of settlements, tidying, buckets, logs and transactions.
func caughtOthers() []caught {
	anyH := condition("(attribute_not_exists(#aH) OR #aH <= :aq) AND ", "")
	noTotal := update("#aC = if_not_exists(#aC, :zero) + :ar", "#aC = if_not_exists(#aC, :ar)")
	drain := condition("#e = :e AND ", "", "#aT > :at AND ", "")
	anyLog := condition("attribute_not_exists(#aC)", "(attribute_not_exists(#aC) OR attribute_exists(#aC))")
	anyItem := condition("attribute_not_exists(#e) AND attribute_not_exists(#aH)", "(attribute_not_exists(#e) OR attribute_exists(#e))")
	return []caught{
		{"down: e = :e removed", "any 2 down, delete", "I1", condition(" AND #e = :e", "").gives()},
		{"down: C lowered", "any 2 down, delete", "I1", mutant{tamper: lowerTotal}.gives()},
		{"down: f raised", "any weighted, 2 down", "I1", mutant{tamper: raiseCredit}.gives()},
		{"down: sent again", "1 caller, 2 down, delete", "I1", mutant{resend: true}},
		{"up: e = :e removed", "any 1 down, 1 up, delete", "I0", condition(" AND #e = :e", "").takes()},
		{"up: h <= :q removed", "any 1 down, 1 up, delete", "I0", anyH.takes()},
		{"up: h not set", "any 1 down, 1 up, delete", "I1", update("#aH = :aq", "#aH = if_not_exists(#aH, :aq)").takes()},
		{"up: f not lowered", "any 1 down, 1 up, delete", "I1", update("if_not_exists(#aF, :an) - :ar", "if_not_exists(#aF, :an)").takes()},
		{"up: f started again", "any 1 down, 1 up, delete", "I1", update("if_not_exists(#aF, :an) - :ar", ":an - :ar").takes()},
		{"up: n set", "any capacities, 1 up", "I1", update("#aN = if_not_exists(#aN, :an)", "#aN = :an").takes()},
		{"up: C not raised", "any 1 down, 1 up, delete", "I1", noTotal.takes()},
		{"up: ttl not set", "expiry, 1 up", "I1", update(", #ttl = :ttl", "").takes()},

		{"tidying: e = :e removed", "any tidying", "I1", condition("#e = :e", "attribute_exists(#e)").on(tidyingUp)},
		{"tidying: one slot too far", "any tidying", "I1", mutant{tamper: removeTooFar}.on(tidyingUp)},

		{"bucket: e = :e removed", "any bucket, delete", "I0", condition("#e = :e AND ", "")},
		{"bucket: neither e = :e nor tat > :now", "any bucket, delete", "I1", drain},
		{"bucket: tat <= :latest removed", "any bucket, delete", "I1", condition(" AND #aT <= :al", "")},
		{"bucket: one unit looser", "any bucket, delete", "I1", mutant{tamper: looserBucket}},
		{"bucket: tat <= :now removed", "any bucket, delete", "I1", condition("#aT <= :at", "attribute_exists(#aT)")},
		{"bucket: draining, reckoned from now", "any bucket, delete", "I1", update("#aT = #aT + :ai", "#aT = :at + :ai")},
		{"bucket: OR between its bounds", "any bucket, delete", "I1", condition("#aT > :at AND", "#aT > :at OR")},

		{"log: e = :e removed", "any log, delete", "I1", condition("#e = :e AND ", "")},
		{"log: version removed", "any log, delete", "I1", condition("#aC = :av", "attribute_exists(#aC)")},
		{"log: version at least", "any log, delete", "I1", condition("#aC = :av", "#aC >= :av")},
		{"log: version not raised", "any log, delete", "I1", mutant{tamper: sameVersion}},
		{"log: without a view over any", "any log, delete", "I1", anyLog},

		{"transaction: e = :e removed", "any transactions", "I1", condition("#e = :e AND ", "").on(transacting)},
		{"transaction: h <= :q removed", "any transactions", "I0", condition("#aH <= :aq AND ", "").on(transacting)},
		{"transaction: C <= :B removed", "any transactions", "I1", condition(" AND #aC <= :ab", "").on(transacting)},
		{"transaction: without a view over any", "any transactions", "I1", anyItem.on(transacting)},
		{"transaction: its view counts the charge twice", "any transactions", "I1", mutant{unseen: countTwice}},
		{"transaction: its view forgets what others charged", "any transactions", "I1", mutant{unseen: forgetOlder}},
	}
}

func harmlessMutants() []harmless {
	const gone = "what has left the window counts for nothing, given back or not"
	anyLife := condition("attribute_not_exists(#e)", "(attribute_not_exists(#e) OR attribute_exists(#e))")
	return []harmless{
		{"the credit removed", "cost 2", "it spares writes: a view that is a little old need not be read again",
			condition("(#aC <= :ab OR (#aN = :an AND #aF >= :ac))", "#aC <= :ab")},
		{"without a view n is set", "any capacities", "the condition has n = :N, or there is none",
			update("#aN = if_not_exists(#aN, :an)", "#aN = :an")},
		{"REMOVE nothing", "any k=2", "the item only grows", mutant{plan: removeNothing}},
		{"down: #j >= :r removed", "any 2 down, delete", "a receipt gives back what was charged; the term is for those that are settled twice",
			mutant{tamper: noFloor}.gives()},
		{"down: with h <= :j+k", "any 2 down, delete", gone, mutant{tamper: stillCounts}.gives()},
		{"down, weighted: with h <= :j+k", "any weighted, 2 down", gone, mutant{tamper: stillCounts}.gives()},
		{"bucket: tat > :now removed", "any bucket, delete", "a view of this life has seen it, and it only grows",
			condition("#aT > :at AND ", "")},
		{"log: version at most", "any log, delete", "in a life it is never less", condition("#aC = :av", "#aC <= :av")},
		{"transaction: without a view in any life", "any transactions, 2 limits", "each limit has to be new too", anyLife.on(transacting)},
	}
}
