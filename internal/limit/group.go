package limit

import "errors"

// ErrGroup is wrapped by an error of a call with several charges which each of
// them might not get alone: one of the counters is at fault, or the store cannot
// take these keys together. Nothing was charged.
var ErrGroup = errors.New("the charges were refused together")
