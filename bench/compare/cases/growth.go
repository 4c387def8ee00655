package cases

import (
	"fmt"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

// Charts are the groups of the growth cases, in their order.
var Charts = []string{"keys in memory", "slots in memory", "slots in Redis", "slots in DynamoDB", "clients in memory", "clients on Redis", "clients on DynamoDB", "rules", "overrides"}

// Growth returns the cases of the charts, with as many keys at most.
func Growth(s *Servers, mostKeys int) (all []measure.Case) {
	for n := 1000; n <= mostKeys; n *= 10 {
		c := point("keys in memory", n, memoryPair(n), true)
		c.Keys, c.Uniform, c.Visit, c.Slots, c.Window = n, true, true, 60, 10*time.Minute
		all = append(all, c)
	}
	for _, n := range []int{1, 10, 60, 600} {
		all = append(all, slots(point("slots in memory", n, memoryPair(1), true), n))
		if s.Redis != nil {
			c := slots(point("slots in Redis", n, s.Redis.Limiters()[:2], false), n)
			all = append(all, c)
		}
		if s.Dynamo != nil {
			all = append(all, slots(point("slots in DynamoDB", n, s.Dynamo.Windows()[:2], false), n))
		}
	}
	for _, n := range []int{1, 2, 5, 16, 50, 200} {
		all = append(all, slots(point("clients in memory", n, memoryPair(1), true), 60))
		if s.Redis != nil {
			all = append(all, slots(point("clients on Redis", n, s.Redis.Limiters()[:2], false), 60))
		}
		if s.Dynamo != nil {
			all = append(all, slots(point("clients on DynamoDB", n, s.Dynamo.Windows()[:2], false), 60))
		}
	}
	for i := range all {
		if all[i].Group[:7] == "clients" {
			all[i].Clients = int(all[i].X)
		}
	}
	for n := 1; n <= 10_000; n *= 10 {
		all = append(all, point("rules", n, subject.Rules(n), true), point("overrides", n, subject.Overrides(n), true))
	}
	return all
}

func memoryPair(keys int) []measure.Subject {
	return []measure.Subject{subject.Memory()[0], {Name: subject.Slidegate, Open: subject.OpenMemory(subject.Sliding, 2*keys)}}
}

// point is where a chart measures the bare operation and Slidegate.
func point(chart string, x int, subjects []measure.Subject, byCPU bool) measure.Case {
	return measure.Case{
		ID: fmt.Sprintf("growth/%s/%d", chart, x), Title: fmt.Sprintf("%s: %d", chart, x), Group: chart, X: float64(x), ByCPU: byCPU, Clients: 1,
		Lead: 20 * time.Millisecond, Turn: 100 * time.Millisecond, Rounds: 5, Sample: 16, Subjects: subjects,
	}
}

// slots has a case fill its window at half load.
func slots(c measure.Case, n int) measure.Case {
	c.Slots, c.Window, c.Factor = n, time.Minute, 0.5
	return c
}
