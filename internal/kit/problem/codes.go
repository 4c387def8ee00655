package problem

// Code is a kind of mistake. The comments name the arguments of its Fault.
type Code uint8

// The kinds of mistakes in any value.
const (
	None         Code = iota
	Missing           // what to write (Need)
	MissingLeast      // source of the client
	Empty             // what to write
	EmptyList         //
	Count             // entries, their name, least, most
	OutOfRange        // value, least, most: numbers
	TooSmall          // least
	OutOfBounds       // value, least, most: lengths of time
	TooLong           // bytes, most
	UnknownWord       // word, quoted; what to write or there is
	Unknown           // what there is none of, what there is
	Malformed         // text, quoted; what it is not; what to write
	Instead           // why, what to write
	Remove            // why, what to remove
	Twice             // two forms
	Refused           // why: an error

	// Names.
	BadName        // text, "name" or the like, what to use
	RuleNameTaken  // name, path of the other
	LimitNameTaken // name, path of the other
	ReservedName   // name, what it stands for

	// Selectors.
	EmptyWhen        //
	EmptySelector    // what it would do to every request, what to write
	BadMethod        // method
	BadPattern       // pattern, why, what to write
	PatternMethod    // pattern, rest, method
	PatternParameter // pattern, parameter
	NotCompared      // source, field to write (Field)
	UntrustedViewer  // source

	// Keys.
	KeyLength      // most bytes
	KeyCharacter   // character
	NeverClosed    // rest of the key
	NoSeparator    // source, in braces
	UnknownSource  // source, what to write or there is
	NotOneSource   // source, what cannot be in it
	WrongSource    // source, what it does, what to use
	KeyPrefix      // bits, default, least, most
	EvadableSource // sources of the client

	// Limits.
	NoLimit         //
	NeedsUnit       // number
	LogCapacity     // algorithm, most, another algorithm
	NotMultiple     // window, width, slots, most slots, nearest width
	TooManySlots    // as NotMultiple
	ShortBucket     // least window, a bucket with the same rate
	NoDefaultSlots  // window, least slots, most slots, width to write
	UnevenWindow    // window, least width
	TooFast         // capacity, window, most
	TooSlow         // capacity, window, size, most
	NotOfAlgorithm  // algorithm, field, what to write, algorithm that has it
	NotOfMonths     //
	UnknownZone     // name
	CandidateBucket // algorithm
	CostTooHigh     // cost, field of the size, size, path of the limit
	UnpayableCost   // cost, field of the size, size
	CannotSettle    // path of the limit, algorithm, another algorithm
	CannotRefund    // path of the limit, algorithm, another algorithm
	CannotLease     // algorithm, another algorithm
	LeaseAtomic     //
	ShadowAtomic    //
	RestrictedBy    // what may not be, sources of the client, sources in a list
	PlanOfAnyone    // sources of the client
	SharedCounter   // the other rule, why, what to do
	CostAbove       // least, most

	// Warnings.
	NotRefunded     // algorithm, rule that denies
	AloneAtomic     //
	TooManyPatterns //
	LongQueue       // time to drain, longest hold, most
	UnderstatedCost // source, least
	UnstatedCost    // most, field of the size, size
	NoRoomToLease   //
	LeaseTooLarge   // most
	UnlikeCounter   // the other rule
	LimitsNothing   //
	SkippedWhole    // path of the entry
	CostsNothing    //
	DollarText      // what to write
	BareSource      // key, source
	ConstantKey     // what to write if it is meant
	SecretKey       // rule, source
	UnusualMethod   // method, what to write
	SharedClaim     // claim in braces, what is shared, what to write
	PlanOfIssuers   //
	ClaimOfIssuers  // claim, where to name the issuer
	Unverified      // credentials that are not, the effect
	DeployedAnswer  //

	codes // how many there are
)
