// Package protocol is the DynamoDB protocol of Slidegate: how a counter is laid
// out in an item, which conditional write charges it, and what a caller may
// conclude from an earlier state of the item.
//
// The package is pure. It takes times as arguments, returns requests as values
// and never calls DynamoDB; package dynamo sends what it plans. Every rule here
// therefore can be explored exhaustively, and the explore_*_test.go files do
// so.
//
// # The idea
//
// A caller holds a [Snapshot]: any earlier state of the item, however old. From
// it the caller computes P, the units charged before the current window. P
// never exceeds the true number, because units are only ever added and closed
// slots only grow. A window has room for a cost c exactly if the item's running
// total C is at most the ceiling
//
//	B = P + capacity - c
//
// so the write is conditional on C <= B. The condition holds or fails by the
// item as it is now, whatever other callers have written since the snapshot.
//
// # Example
//
// A limit allows 100 units in 60 slots of a second. The snapshot shows C = 940,
// of which 60 units lie in the current window, so P = 880. For a cost of 5 the
// ceiling is 880 + 100 - 5 = 975. Others may charge 35 more units before this
// write arrives; with the 36th the condition fails, and the answer carries the
// item as it is, which is the next snapshot.
//
// docs/protocol.md explains the whole protocol with its failure cases.
package protocol

// MaxAttempts bounds the writes of one charge. Within one slot three attempts
// decide it, unless two deletes or refunds interfere. The exploration checks
// this for every small system.
const MaxAttempts = 3
