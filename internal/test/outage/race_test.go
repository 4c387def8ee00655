//go:build race

package outage_test

// raceCost divides the decisions to simulate under the race detector, which
// makes a world eight times as slow.
const raceCost = 5
