package problem

import "strings"

// Code is a kind of mistake, with the words for it.
type Code = *words

type words struct {
	inFiles string // for people who write rules files
	// inPrograms are for people who write Go, if they differ; "" for none. Words
	// that begin with a space continue the name of what is wrong.
	inPrograms string
}

// codes are all codes, for tests.
var codes []Code

func code(inFiles string, inPrograms ...string) Code {
	c := &words{inFiles, strings.Join(inPrograms, "")}
	codes = append(codes, c)
	return c
}

// The comment before a code names the arguments of its Fault.
var (
	// Any value.

	// what to write (Need)
	Missing = code("is missing: %s",
		"is missing: write %s")
	// source of the client
	MissingLeast = code("is missing or 0, and the client sets %s: write the least that a client can pay, 1 or more")
	// what to write
	Empty     = code("is empty: write %s")
	EmptyList = code("is empty: write a value or remove it",
		"is empty: give a value, or nil")
	// entries, their name, least, most
	Count = code("holds %d %s: write %d to %d",
		"%[1]d %[2]s: give %[3]d to %[4]d")
	// value, least, most: numbers
	OutOfRange = code("%v is out of range: write a number from %d to %d",
		" must be from %[2]d to %[3]d")
	// least
	TooSmall = code("must be at least %s",
		" must be at least %s")
	// value, least, most: lengths of time; in a program also what to write for a
	// number without a unit
	OutOfBounds = code("%[1]s is out of range: write %[2]s to %[3]s",
		" must be from %[2]s to %[3]s%[4]s")
	// bytes, most
	TooLong = code("has %d bytes, and %d is the most: shorten it")
	// word, quoted; what to write or there is
	UnknownWord = code("unknown value %s: %s")
	// what there is none of, what there is
	Unknown = code("%s: %s")
	// text, quoted; what it is not; what to write
	Malformed = code("%s is no %s: write %s")
	// why, what to write
	Instead = code("%s: write %s")
	// why, what to remove
	Remove = code("%s: remove %s")
	// two forms
	Twice = code("states both %s and %s: keep one of them")
	// why: an error
	Refused = code("%s")

	// Names.

	// text, "name" or the like, what to use
	BadName = code("%q cannot be a %s: use %s")
	// name, path of the other
	RuleNameTaken = code("%q is the name of %s too: write a name of its own")
	// name, path of the other
	LimitNameTaken = code("%q is the name of %s too: write a name of its own, "+
		"such as {name: burst, capacity: 20, window: 1s}",
		`has the name %q as %s has: name one of them, such as WithName("burst")`)
	// name, what it stands for
	ReservedName = code("%q stands for %s: write another name")

	// Selectors.

	EmptyWhen = code("is empty: remove it to match every request")
	// what it would do to every request, what to write
	EmptySelector = code("is empty and would %s every request: write %s")
	// method
	BadMethod = code("%q is no method: write names such as GET, or leave methods out to match them all",
		"%q is no method: write names such as GET, or leave Methods out to match them all")
	// pattern, why, what to write
	BadPattern = code("pattern %q: %s: write %s")
	// pattern, rest, method
	PatternMethod = code("pattern %q: write %s here and %s under methods",
		"pattern %q: write %s here and %s under Methods")
	// pattern, parameter
	PatternParameter = code("pattern %q: a path has no template parameters: write * in place of %s, or match on route",
		"pattern %q: a path has no template parameters: write * in place of %s, or match Routes")
	// source, field to write (Field)
	NotCompared = code("%s cannot be compared: write %s beside match",
		"%s cannot be compared: write %s beside Claims")
	// source
	UntrustedViewer = code("%s is what CloudFront says of the client, and client_ip does not trust CloudFront: "+
		"write client_ip: {header: cloudfront-viewer-address, secret: {header: x-origin-secret, env: ORIGIN_SECRET}}",
		"%s is what CloudFront says of the client, and Rules cannot trust CloudFront: use a rules file with client_ip")

	// Keys.

	// most bytes
	KeyLength = code(`a key is 1 to %d bytes long: write "ip:{ip}" to count by address, ` +
		"or a fixed text to count all requests together")
	// character
	KeyCharacter = code("%q cannot stand in a key's own text: use printable ASCII without %%, { and }")
	// rest of the key
	NeverClosed = code("%q is never closed: write } after the name")
	// source, in braces
	NoSeparator = code("write : or | after {%s}, so that no two requests can have the same key")
	// source, what to write or there is
	UnknownSource = code("unknown source %s: %s")
	// source, what cannot be in it
	NotOneSource = code("%s is not one source, because no source has %q in it: write a single source; for a fallback write two rules, "+
		`one with when: {caller: known} and key: "user:{jwt.sub}", and one with when: {caller: anonymous} and key: "ip:{ip}"`,
		"%s is not one source, because no source has %q in it: write a single source; for a fallback write two rules, "+
			`one with When: Match{Callers: []string{"known"}} and Key: "user:{jwt.sub}", `+
			`and one with When: Match{Callers: []string{"anonymous"}} and Key: "ip:{ip}"`)
	// source, what it does, what to use
	WrongSource = code("%s %s: use %s")
	// bits, default, least, most
	KeyPrefix = code("the number in {ip/%s} is how many bits of an IPv6 address count: write {ip} for /%d, " +
		"or {ip/%d} to {ip/%d}; an IPv4 address always counts whole")
	// sources of the client
	EvadableSource = code("the client can make up a new value of %s for every request and is then never limited: " +
		`add a rule with a key such as "ip:{ip}" for the same requests`)

	// Limits.

	NoLimit = code("a limit is missing: write limit: 100/minute, or limits: [20/second, 1000/hour]",
		"is missing: write one to eight, such as SlidingWindow(100, time.Minute)")
	// number
	NeedsUnit = code("needs a unit: write %ss for seconds")
	// algorithm, most, another algorithm
	LogCapacity = code("a %s keeps every request, and %d is the most: lower it, "+
		"or write algorithm: %s",
		" must be at most %[2]d: use %[3]s for more")
	// window, width, slots, most slots, nearest width
	NotMultiple = code("the window of %[1]s is no whole multiple of %[2]s: write %[5]s",
		" must divide the window into at most %[4]d: write WithSlots(%[5]s)")
	// as NotMultiple
	TooManySlots = code("cuts the window of %[1]s into %[3]d slots, and %[4]d is the most: write %[5]s",
		" must divide the window into at most %[4]d: write WithSlots(%[5]s)")
	// least window, a bucket with the same rate
	ShortBucket = code("must be at least %s: the same rate is %s",
		" must be at least %s; the same rate is %s")
	// window, least slots, most slots, width to write
	NoDefaultSlots = code("%s does not divide into %d to %d even slots: state the granularity, "+
		"such as granularity: %s, or write a rounder window",
		" does not divide into %[2]d to %[3]d even slots: add WithSlots(%[4]s), or give a rounder window")
	// window, least width
	UnevenWindow = code("%s is no whole multiple of %s: write one that is, or state the granularity",
		" is no whole multiple of %[2]s: give one that is, or add WithSlots")
	// capacity, window, length of a unit, capacity with units of that length
	TooFast = code("%d in %s is more than 1%% off in a bucket, with whole nanoseconds for a unit, here %s: write %d, or algorithm: sliding_window",
		" must be %[4]d, or the limit a SlidingWindow: a bucket has whole nanoseconds for a unit, here %[3]s, and %[1]d in %[2]s is more than 1%% off")
	// capacity, window, size, most
	TooSlow = code("at %d in %s, %d take more than ten years: write at most %d",
		" must be at most %[4]d: more take over ten years")
	// algorithm, field, what to write, algorithm that has it
	NotOfAlgorithm = code("a %s has no %s: %s, or write algorithm: %s",
		"only %[4]s takes WithSlots")
	NotOfMonths = code("is the day on which months start: write window: 1mo, or remove anchor",
		"only PerMonth takes WithAnchor")
	// name
	UnknownZone = code("unknown timezone %q: write a name of the IANA time zone database, such as Europe/Berlin or UTC",
		"unknown time zone %q: give time.UTC, or what time.LoadLocation returns for a name of the IANA database")
	// algorithm
	CandidateBucket = code("the state of a %s cannot be evaluated at another rate: try it as a rule of its own, with mode: shadow")
	// cost, field of the size, size, path of the limit
	CostTooHigh = code("%d is above the %s %d of %s, so no request would ever be allowed: "+
		"lower the cost, raise the %[2]s, or write over: clamp in the limit",
		"%[1]d is above %[2]s of %[4]s, so no request would ever be allowed: "+
			"lower Cost, or raise %[2]s")
	// cost, field of the size, size
	UnpayableCost = code("a request costs %d here, above the %s %d, so none would ever be allowed: " +
		"raise it, lower the cost, or write over: clamp in the limit")
	// path of the limit, algorithm, another algorithm
	CannotSettle = code("%s is a %s, which cannot be corrected afterwards: remove settle, or write algorithm: %s there")
	// path of the limit, algorithm, another algorithm
	CannotRefund = code("%s is a %s, which cannot refund: remove refund_on, or write algorithm: %s there",
		"%s cannot refund: remove RefundOn, or use %[3]s")
	// algorithm, another algorithm
	CannotLease = code("a %s has no slots that a lease could end with: remove lease, or write algorithm: %s",
		"a %s has no slots that a lease could end with: remove the lease, or use %s")
	LeaseAtomic = code("the charges of an atomic rule are made together with those of others, never ahead: "+
		"remove lease, or remove atomic",
		"the charges of an atomic rule are made together with those of others, never ahead: "+
			"remove Lease, or remove Atomic")
	// path of the other
	InFlightTwice = code("limits requests in flight as %s does: remove one of the two")
	LeaseInFlight = code("a place in flight is taken by one request, never ahead: remove lease, or write in_flight in a rule of its own",
		"a place in flight is taken by one request, never ahead: remove the lease, or limit requests in flight apart")
	AtomicInFlight = code("a place in flight is taken alone, after all other charges: remove atomic, or write in_flight in a rule of its own",
		"a place in flight is taken alone, after all other charges: remove Atomic, or limit requests in flight in a rule of its own")
	ShadowAtomic = code("a rule in shadow is evaluated alone, after all others have allowed: "+
		"remove atomic, or write mode: enforce",
		"a rule in shadow is evaluated alone, after all others have allowed: remove Atomic, or remove Shadow")
	// what may not be, sources of the client, sources in a list
	RestrictedBy = code("%s, and the client sets %s of its key: write deny or a lower capacity, " +
		"or, if the backend verifies it, trusted: [%s] in the rule")
	// sources of the client
	PlanOfAnyone = code("the client sets %s, and could take another's plan: use sources such as {jwt.sub} or {apikey}")
	// the other rule, why, what to do
	SharedCounter = code("rule %s has this counter too, and %s: %s")
	// least, most
	CostAbove = code("%d is above max, which is %d: lower it")

	// Warnings.

	// algorithm, rule that denies
	NotRefunded = code("a %s does not refund a request that rule %s denies afterwards: "+
		"put this rule below it, or write atomic: true in both",
		"a %s does not refund a request that rule %s denies afterwards: "+
			"put this rule below it, or set Atomic in both")
	AloneAtomic     = code("has no effect: no other rule for the same requests is atomic")
	TooManyPatterns = code("there are more routes and paths than are compared: from this rule on, warnings " +
		"about rules that cover the same requests are left out")
	// time to drain, longest hold, most
	LongQueue = code("the queue takes %s to drain, and the local gateway holds a request for %s at most: write queue: %d",
		"the queue takes %s to drain, and a middleware delays a request for %s at most, "+
			"unless MaxDelay says otherwise: use a queue of %d")
	// source, least
	UnderstatedCost = code("the client sets %s, so the least a client can pay is min, %d: " +
		"write settle: true and have the backend report the true cost")
	// most, field of the size, size
	UnstatedCost = code("a request that does not state its cost takes max, %d, above the %s %d, and is never allowed: " +
		"lower max, or write over: clamp in the limit")
	NoRoomToLease = code("the limits leave no room to charge ahead: remove lease, " +
		"which is for keys above 1,000 requests a second")
	// most
	LeaseTooLarge = code("a process charges at most half of the limits ahead: write lease: %d",
		"a process charges at most half of the limits ahead: write %d")
	// the other rule
	UnlikeCounter = code("rule %s has this counter too, but its limits differ in name, algorithm, window or slots, " +
		"so the two share nothing: write the same limits in both, whatever their capacities")
	LimitsNothing = code("it leaves out every request that the rule covers, so the rule limits nothing: narrow it, or remove it")
	// path of the entry
	SkippedWhole = code("%s lifts all limits of every request that this rule covers: narrow it, or remove the rule")
	CostsNothing = code("requests cost 0, so the rule limits nothing: write cost: 1 or more in one of its limits, or remove it",
		"requests cost 0, so the rule limits nothing: write 1 or more, or remove it")
	// what to write
	DollarText = code("$ is text of the key, and no part of a source: write %s")
	// key, source
	BareSource = code(`%s without braces is text, so all requests share one counter: write "{%s}"`)
	// what to write if it is meant
	ConstantKey = code("no source is in it, so all requests share one counter: " +
		`write one such as "ip:{ip}", or %s if that is meant`)
	// rule, source
	SecretKey = code("rule %s puts %s, a secret, into tables and logs: "+
		`write hash: true in the rule, and hash_secret: {env: KEY_SECRET, check: "1a2b3c4d"} at the top of the document`,
		"rule %s puts %s, a secret, into tables and logs: count by a hash of it, or use a rules file with hashed keys")
	// method, what to write
	UnusualMethod = code("HTTP has no method %s: %s")
	// claim in braces, what is shared, what to write
	SharedClaim   = code("%s may be the same for callers of several issuers, who then share %s: write %q")
	PlanOfIssuers = code("each issuer in authentication.jwt can state any plan: " +
		`list one issuer, or write overrides with a key such as "user:{jwt.iss}|{jwt.sub}" in place of from`)
	// claim, where to name the issuer
	ClaimOfIssuers = code("each issuer in authentication.jwt can state %s: add jwt.iss to %s, with the issuers that may")
	// credentials that are not, the effect
	Unverified = code("%s: %s")
	// how long
	PlaceKept = code("behind an authorizer a place is free again once the backend settles the request, or after %s: " +
		"have the backend settle, as docs/authorizer.md shows")
	DeployedAnswer = code("a REST API answers denied requests as it was deployed, with status 429 and the type and title of problem details: " +
		"only slidegate serve, the Go library and backends of PassDenials use the rest")
	// value of the body
	UnshownMember = code("the body does not show it: write {%s} in the body, or remove it")
	ShadowAnswer  = code("in shadow the rule denies nothing, so no client gets this answer: enforce the rule, or remove the answer")
)
