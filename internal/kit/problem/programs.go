package problem

// inPrograms are the words for people who write Go, where they differ from those
// of rules files. Words that begin with a space continue the name of what is
// wrong.
var inPrograms = [codes]string{
	Missing: "is missing: write %s", EmptyList: "is empty: give a value, or nil",
	Count: "%[1]d %[2]s: give %[3]d to %[4]d", OutOfRange: " must be from %[2]d to %[3]d", TooSmall: " must be at least %s",
	OutOfBounds:    " must be from %[2]s to ten years",
	LimitNameTaken: `has the name %q as %s has: name one of them, such as WithName("burst")`,

	BadMethod:        "%q is no method: write names such as GET, or leave Methods out to match them all",
	PatternMethod:    "pattern %q: write %s here and %s under Methods",
	PatternParameter: "pattern %q: a path has no template parameters: write * in place of %s, or match Routes",
	NotCompared:      "%s cannot be compared: write %s beside Claims",
	UntrustedViewer:  "%s is what CloudFront says of the client, and Rules cannot trust CloudFront: use a rules file with client_ip",

	NotOneSource: "%s is not one source, because no source has %q in it: write a single source; for a fallback write two rules, " +
		`one with When: Match{Callers: []string{"known"}} and Key: "user:{jwt.sub}", ` +
		`and one with When: Match{Callers: []string{"anonymous"}} and Key: "ip:{ip}"`,

	NoLimit:        "is missing: write one to eight, such as SlidingWindow(100, time.Minute)",
	LogCapacity:    " must be at most %[2]d: use %[3]s for more",
	NotMultiple:    " must divide the window into at most %[4]d: write WithSlots(%[5]s)",
	TooManySlots:   " must divide the window into at most %[4]d: write WithSlots(%[5]s)",
	ShortBucket:    " must be at least %s; the same rate is %s",
	NoDefaultSlots: " does not divide into %[2]d to %[3]d even slots: add WithSlots(%[4]s), or give a rounder window",
	UnevenWindow:   " is no whole multiple of %[2]s: give one that is, or add WithSlots",
	TooFast:        " must be at most %[3]d", TooSlow: " must be at most %[4]d: more take over ten years",
	NotOfAlgorithm: "only %[4]s takes WithSlots", NotOfMonths: "only PerMonth takes WithAnchor",
	UnknownZone: "unknown time zone %q: give time.UTC, or what time.LoadLocation returns for a name of the IANA database",
	CostTooHigh: "%[1]d is above %[2]s of %[4]s, so no request would ever be allowed: " +
		"lower Cost, or raise %[2]s",
	CannotRefund: "%s cannot refund: remove RefundOn, or use %[3]s",
	CannotLease:  "a %s has no slots that a lease could end with: remove the lease, or use %s",
	LeaseAtomic: "the charges of an atomic rule are made together with those of others, never ahead: " +
		"remove Lease, or remove Atomic",
	ShadowAtomic: "a rule in shadow is evaluated alone, after all others have allowed: remove Atomic, or remove Shadow",

	NotRefunded: "a %s does not refund a request that rule %s denies afterwards: " +
		"put this rule below it, or set Atomic in both",
	LongQueue: "the queue takes %s to drain, and a middleware delays a request for %s at most, " +
		"unless MaxDelay says otherwise: use a queue of %d",
	LeaseTooLarge: "a process charges at most half of the limits ahead: write %d",
	SecretKey:     "rule %s puts %s, a secret, into tables and logs: count by a hash of it, or use a rules file with hashed keys",
	CostsNothing:  "requests cost 0, so the rule limits nothing: write 1 or more, or remove it",
}
