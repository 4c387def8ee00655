package gate

import "github.com/slidegate/slidegate"

// Reasons of decisions besides [slidegate.ReasonLimited].
const (
	ReasonSkipped   slidegate.Reason = "skipped"   // Skip allowed the request
	ReasonBanned    slidegate.Reason = "banned"    // Deny or an override denied it
	ReasonUnmatched slidegate.Reason = "unmatched" // no rule matched: DenyUnmatched decided
	ReasonExempt    slidegate.Reason = "exempt"    // a plan or an override lifts every rule that matched
	ReasonAmbiguous slidegate.Reason = "ambiguous" // it was denied: servers may read its path in several ways
	ReasonPreflight slidegate.Reason = "preflight" // a CORS preflight, which no rule counts
)

// Actions after failures that only a gate has.
const (
	// ActionDecide says that the request got an error: the rules cannot be read.
	ActionDecide slidegate.Action = "decide"
	// ActionChargeShadow says that a rule in shadow mode was left out.
	ActionChargeShadow slidegate.Action = "charge shadow rule"
	// ActionReadOverride begins the actions of a decision without an override that
	// could not be read, such as "read override: deny".
	ActionReadOverride slidegate.Action = "read override"
)
