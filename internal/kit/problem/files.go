package problem

// inFiles are the words for people who write rules files.
var inFiles = [codes]string{
	Missing:      "is missing: %s",
	MissingLeast: "is missing or 0, and the client sets %s: write the least that a client can pay, 1 or more",
	Empty:        "is empty: write %s",
	EmptyList:    "is empty: write a value or remove it",
	Count:        "holds %d %s: write %d to %d",
	OutOfRange:   "%v is out of range: write a number from %d to %d",
	TooSmall:     "must be at least %s",
	OutOfBounds:  "%s is out of range: write %s to %s",
	TooLong:      "has %d bytes, and %d is the most: shorten it",
	UnknownWord:  "unknown value %s: %s",
	Unknown:      "%s: %s",
	Malformed:    "%s is no %s: write %s",
	Instead:      "%s: write %s",
	Remove:       "%s: remove %s",
	Twice:        "states both %s and %s: keep one of them",
	Refused:      "%s",

	BadName:       "%q cannot be a %s: use %s",
	RuleNameTaken: "%q is the name of %s too: write a name of its own",
	LimitNameTaken: "%q is the name of %s too: write a name of its own, " +
		"such as {name: burst, capacity: 20, window: 1s}",
	ReservedName: "%q stands for %s: write another name",

	EmptyWhen:        "is empty: remove it to match every request",
	EmptySelector:    "is empty and would %s every request: write %s",
	BadMethod:        "%q is no method: write names such as GET, or leave methods out to match them all",
	BadPattern:       "pattern %q: %s: write %s",
	PatternMethod:    "pattern %q: write %s here and %s under methods",
	PatternParameter: "pattern %q: a path has no template parameters: write * in place of %s, or match on route",
	NotCompared:      "%s cannot be compared: write %s beside match",
	UntrustedViewer: "%s is what CloudFront says of the client, and client_ip does not trust CloudFront: " +
		"write client_ip: {header: cloudfront-viewer-address, secret: {header: x-origin-secret, env: ORIGIN_SECRET}}",

	KeyLength: `a key is 1 to %d bytes long: write "ip:{ip}" to count by address, ` +
		"or a fixed text to count all requests together",
	KeyCharacter:  "%q cannot stand in a key's own text: use printable ASCII without %%, { and }",
	NeverClosed:   "%q is never closed: write } after the name",
	NoSeparator:   "write : or | after {%s}, so that no two requests can have the same key",
	UnknownSource: "unknown source %s: %s",
	NotOneSource: "%s is not one source, because no source has %q in it: write a single source; for a fallback write two rules, " +
		`one with when: {caller: known} and key: "user:{jwt.sub}", and one with when: {caller: anonymous} and key: "ip:{ip}"`,
	WrongSource: "%s %s: use %s",
	KeyPrefix: "the number in {ip/%s} is how many bits of an IPv6 address count: write {ip} for /%d, " +
		"or {ip/%d} to {ip/%d}; an IPv4 address always counts whole",
	EvadableSource: "the client can make up a new value of %s for every request and is then never limited: " +
		`add a rule with a key such as "ip:{ip}" for the same requests`,

	NoLimit:   "a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]",
	NeedsUnit: "needs a unit: write %ss for seconds",
	LogCapacity: "a %s keeps every request, and %d is the most: lower it, " +
		"or write algorithm: %s",
	NotMultiple:  "the window of %[1]s is no whole multiple of %[2]s: write %[5]s",
	TooManySlots: "cuts the window of %[1]s into %[3]d slots, and %[4]d is the most: write %[5]s",
	ShortBucket:  "must be at least %s: the same rate is %s",
	NoDefaultSlots: "%s does not divide into %d to %d even slots: state the granularity, " +
		"such as granularity: %s, or write a rounder window",
	UnevenWindow:    "%s is no whole multiple of %s: write one that is, or state the granularity",
	TooFast:         "%d in %s is more than one unit in a nanosecond, faster than a bucket counts: write at most %d",
	TooSlow:         "at %d in %s, %d take more than ten years: write at most %d",
	NotOfAlgorithm:  "a %s has no %s: %s, or write algorithm: %s",
	NotOfMonths:     "is the day on which months start: write window: 1mo, or remove anchor",
	UnknownZone:     "unknown timezone %q: write a name of the IANA time zone database, such as Europe/Berlin or UTC",
	CandidateBucket: "the state of a %s cannot be evaluated at another rate: try it as a rule of its own, with mode: shadow",
	CostTooHigh: "%d is above the %s %d of %s, so no request would ever be allowed: " +
		"lower the cost, raise the %[2]s, or write over: clamp in the limit",
	UnpayableCost: "a request costs %d here, above the %s %d, so none would ever be allowed: " +
		"raise it, lower the cost, or write over: clamp in the limit",
	CostAbove:    "%d is above max, which is %d: lower it",
	CannotSettle: "%s is a %s, which cannot be corrected afterwards: remove settle, or write algorithm: %s there",
	CannotRefund: "%s is a %s, which cannot refund: remove refund_on, or write algorithm: %s there",
	CannotLease:  "a %s has no slots that a lease could end with: remove lease, or write algorithm: %s",
	LeaseAtomic: "the charges of an atomic rule are made together with those of others, never ahead: " +
		"remove lease, or remove atomic",
	ShadowAtomic: "a rule in shadow is evaluated alone, after all others have allowed: " +
		"remove atomic, or write mode: enforce",
	RestrictedBy: "%s, and the client sets %s of its key: write deny or a lower capacity, " +
		"or, if the backend verifies it, trusted: [%s] in the rule",
	PlanOfAnyone:  "the client sets %s, and could take another's plan: use sources such as {jwt.sub} or {apikey}",
	SharedCounter: "rule %s has this counter too, and %s: %s",

	NotRefunded: "a %s does not refund a request that rule %s denies afterwards: " +
		"put this rule below it, or write atomic: true in both",
	AloneAtomic: "has no effect: no other rule for the same requests is atomic",
	TooManyPatterns: "there are more routes and paths than are compared: from this rule on, warnings " +
		"about rules that cover the same requests are left out",
	LongQueue: "the queue takes %s to drain, and the local gateway holds a request for %s at most: write queue: %d",
	UnderstatedCost: "the client sets %s, so the least a client can pay is min, %d: " +
		"write settle: true and have the backend report the true cost",
	UnstatedCost: "a request that does not state its cost takes max, %d, above the %s %d, and is never allowed: " +
		"lower max, or write over: clamp in the limit",
	NoRoomToLease: "the limits leave no room to charge ahead: remove lease, " +
		"which is for keys above 1,000 requests a second",
	LeaseTooLarge: "a process charges at most half of the limits ahead: write lease: %d",
	UnlikeCounter: "rule %s has this counter too, but its limits differ in name, algorithm, window or slots, " +
		"so the two share nothing: write the same limits in both, whatever their capacities",
	LimitsNothing: "it leaves out every request that the rule covers, so the rule limits nothing: narrow it, or remove it",
	SkippedWhole:  "%s lifts all limits of every request that this rule covers: narrow it, or remove the rule",
	CostsNothing:  "requests cost 0, so the rule limits nothing: write cost: 1 or more in one of its limits, or remove it",
	DollarText:    "$ is text of the key, and no part of a source: write %s",
	BareSource:    `%s without braces is text, so all requests share one counter: write "{%s}"`,
	ConstantKey: "no source is in it, so all requests share one counter: " +
		`write one such as "ip:{ip}", or %s if that is meant`,
	SecretKey: "rule %s puts %s, a secret, into tables and logs: " +
		`write hash: true in the rule, and hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`,
	UnusualMethod: "HTTP has no method %s: %s",
	SharedClaim:   "%s may be the same for callers of several issuers, who then share %s: write %q",
	PlanOfIssuers: "each issuer in authentication.jwt can state any plan: " +
		`list one issuer, or write overrides with a key such as "user:{jwt.iss}|{jwt.sub}" in place of from`,
	ClaimOfIssuers: "each issuer in authentication.jwt can state %s: add jwt.iss to %s, with the issuers that may",
	Unverified:     "%s: %s",
	DeployedAnswer: "a REST API answers denied requests as it was deployed, with status 429 and problem details: " +
		"only slidegate serve and the Go library use this",
}
