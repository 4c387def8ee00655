//go:build race

package sim_test

// raceCost is by how much less is simulated where the race detector looks on:
// it makes everything eight times as slow, and a world's goroutines take turns.
const raceCost = 5
