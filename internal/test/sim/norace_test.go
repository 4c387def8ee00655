//go:build !race

package sim_test

const raceCost = 1
