//go:build !race

package outage_test

const raceCost = 1
