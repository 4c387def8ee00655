// Package imports turns the configuration of other rate limiters into rules documents and overrides.
//
// Nothing is dropped without a word. What a rules document cannot say, or says in another meaning, is listed with its
// place in the source; where an exception cannot be said, the general limit stays, so that what is listed is limited too
// much rather than not at all.
package imports

// File is a source and its name in messages.
type File struct {
	Name    string
	Content []byte
}

// Document is what an import comes to.
type Document struct {
	YAML      []byte     // a rules document, each rule with a comment that says where it came from
	Overrides []Override // to be put beside it: there may be more than a document holds
	Lost      []Lost     // in the order of the source
}

// Override is what is said of one exact key.
type Override struct {
	Rule     string // or rules.PlanOverrides
	Key      string // as rules.Set.OverrideKey takes it
	Document string // as in a rules document, in JSON, such as {"capacity":5}
}
