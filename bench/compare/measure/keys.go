package measure

import (
	"math"
	"math/rand/v2"
	"strconv"
)

const (
	zipfExponent = 1.1
	zipfDraws    = 1 << 17
)

// keys returns the keys of requests in their order, the same in every run: one
// key, each of n keys once, or draws from a Zipf distribution over them.
func keys(prefix string, n int, uniform bool) []string {
	if n <= 1 {
		return []string{prefix + "0"}
	}
	random := rand.New(rand.NewPCG(1, 2))
	if uniform {
		all := make([]string, n)
		for i := range all {
			all[i] = prefix + strconv.Itoa(i)
		}
		random.Shuffle(n, func(i, j int) { all[i], all[j] = all[j], all[i] })
		return all
	}
	names := make([]string, n)
	z := rand.NewZipf(random, zipfExponent, 1, uint64(n-1))
	draws := make([]string, zipfDraws)
	for i := range draws {
		k := z.Uint64()
		if names[k] == "" {
			names[k] = prefix + strconv.FormatUint(k, 10)
		}
		draws[i] = names[k]
	}
	return draws
}

// busiest returns the share of the requests that the busiest of n keys gets.
func busiest(n int) float64 {
	var sum float64
	for k := range n {
		sum += math.Pow(float64(k+1), -zipfExponent)
	}
	return 1 / sum
}
