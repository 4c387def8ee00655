// Package cases lists what the bench measures.
package cases

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/bench/compare/measure"
	"github.com/slidegate/slidegate/bench/compare/subject"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/text"
)

// Groups are the tables, in their order.
const (
	Memory   = "Memory"
	DynamoDB = "DynamoDB"
	Redis    = "Redis"
	Requests = "Requests"
)

// Servers are what the stores are measured on. ProcessTime may be nil.
type Servers struct {
	Dynamo     *subject.Dynamo
	DynamoTime func() time.Duration
	Redis      *subject.RedisServer
}

// zipfKeys is the number of keys of a Zipf distribution.
const zipfKeys = 100_000

// IDs of the cases that targets refer to.
const (
	MemoryHot     = "memory/hot/0.5x/1"
	MemoryDenied  = "memory/hot/denied/1"
	MemoryZipf    = "memory/zipf/0.5x/1"
	MemoryThreads = "memory/zipf/threads"
	DynamoOne     = "dynamodb/hot/0.5x/1"
	DynamoMany    = "dynamodb/hot/0.5x/16"
	DynamoBucket  = "dynamodb/bucket/0.5x/16"
	DynamoFlood   = "dynamodb/hot/60x/1"
	DynamoFlood16 = "dynamodb/hot/60x/16"
	FleetWindow   = "dynamodb/fleet/0.5x/16"
	FleetBucket   = "dynamodb/fleet-bucket/0.5x/16"
	RedisOne      = "redis/hot/0.5x/1"
	RedisMany     = "redis/hot/0.5x/16"
	RedisFlood    = "redis/hot/60x/1"
	Redis600      = "redis/600-slots/0.5x/1"
	Rules1        = "requests/rules-1"
	Rules1000     = "requests/rules-1000"
	Handler       = "requests/handler"
	DecideAPI     = "requests/decisions"
	Replay        = "requests/clf"
)

// headline cases are those of the targets: the short table.
var headline = []string{
	MemoryHot, MemoryDenied, MemoryZipf, MemoryThreads, DynamoOne, DynamoMany, DynamoBucket, DynamoFlood, DynamoFlood16,
	FleetWindow, FleetBucket,
	RedisOne, RedisMany, RedisFlood, Redis600, Rules1, Rules1000, Handler, DecideAPI, Replay,
}

// Short returns the cases of the targets.
func Short(s *Servers) []measure.Case {
	return slices.DeleteFunc(All(s), func(c measure.Case) bool {
		return !slices.Contains(headline, c.ID) && !strings.HasPrefix(c.ID, MemoryThreads)
	})
}

// All returns all cases but those of the charts.
func All(s *Servers) []measure.Case {
	return slices.Concat(memory(), s.dynamo(), s.redis(), requests())
}

// memory compares decisions in memory by CPU time: they never wait. Between a
// load that always has room and one that never has, nothing else happens.
func memory() (all []measure.Case) {
	base := measure.Case{
		Group: Memory, ByCPU: true, Window: time.Minute, Slots: 60, Clients: 1,
		Lead: 20 * time.Millisecond, Turn: 100 * time.Millisecond, Rounds: 7, Sample: 64, Subjects: subject.Memory(),
	}
	add := func(id, title string, change func(c *measure.Case)) {
		c := base
		c.ID, c.Title = id, title
		change(&c)
		all = append(all, c)
	}
	zipf := func(c *measure.Case) { c.Keys, c.Visit = zipfKeys, true }
	add(MemoryHot, "one key, half of the limit", func(c *measure.Case) { c.Factor = 0.5 })
	add("memory/hot/0.9x/1", "one key, 90% of the limit", func(c *measure.Case) { c.Factor = 0.9 })
	add(MemoryDenied, "one key, all denied", func(c *measure.Case) { c.Capacity = 100 })
	add(MemoryZipf, "100,000 keys, half of the limit", func(c *measure.Case) { c.Factor = 0.5; zipf(c) })
	add("memory/zipf/denied/1", "100,000 keys at 100 a minute: the busy ones are denied", func(c *measure.Case) { c.Capacity = 100; zipf(c) })
	for _, n := range []int{16, 50} {
		add(fmt.Sprintf("memory/hot/0.5x/%d", n), fmt.Sprintf("one key, half of the limit, %d clients", n), func(c *measure.Case) { c.Factor, c.Clients = 0.5, n })
		add(fmt.Sprintf("memory/zipf/0.5x/%d", n), fmt.Sprintf("100,000 keys, half of the limit, %d clients", n), func(c *measure.Case) { c.Factor, c.Clients = 0.5, n; zipf(c) })
	}
	for i, one := range subject.Sharing(zipfKeys) {
		id := MemoryThreads
		if i > 0 {
			id += "/" + one.Name
		}
		add(id, "100,000 keys, two threads against one: "+one.Name, func(c *measure.Case) {
			zipf(c)
			alone, both := one, one
			alone.Name, alone.Clients = one.Name+OneThread, 1
			both.Name, both.Clients = one.Name+TwoThreads, 2
			c.ByCPU, c.Subjects = false, []measure.Subject{alone, both}
		})
	}
	return all
}

// Endings of the names of the subjects of the cases MemoryThreads.
const (
	OneThread  = ", one thread"
	TwoThreads = ", two threads"
)

// load returns a case of a store with the times that suit its load.
func load(group, id, title string, factor float64, clients int, subjects []measure.Subject) measure.Case {
	c := measure.Case{
		ID: id, Title: fmt.Sprintf("%s, %s", title, offered(factor)), Group: group, Factor: factor, Clients: clients, Subjects: subjects, Slots: 60,
		Window: time.Minute, Lead: 30 * time.Millisecond, Turn: 250 * time.Millisecond, Rounds: 7, Sample: 1,
	}
	if clients > 1 {
		c.Title += fmt.Sprintf(", %d clients", clients)
	}
	if factor > 1 {
		c.Factor, c.Flood, c.Sample, c.Rounds = 0, factor, 8, 5
	}
	return c
}

func offered(factor float64) string {
	switch {
	case factor == 0.5:
		return "half of the limit"
	case factor < 1:
		return fmt.Sprintf("%.0f%% of the limit", 100*factor)
	}
	return fmt.Sprintf("%.0f × the limit", factor)
}

func hot(store string, factor float64, clients int) string {
	return fmt.Sprintf("%s/hot/%gx/%d", store, factor, clients)
}

func (s *Servers) dynamo() (all []measure.Case) {
	if s.Dynamo == nil {
		return nil
	}
	all = append(loads(DynamoDB, "dynamodb", s.Dynamo.Windows), paced(load(DynamoDB, "dynamodb/paced/16", "one key at a steady 200 a second", 0.5, 16, s.Dynamo.Windows()), 200))
	for _, clients := range []int{1, 16} {
		all = append(all, load(DynamoDB, fmt.Sprintf("dynamodb/bucket/0.5x/%d", clients), "a token bucket", 0.5, clients, s.Dynamo.Buckets()))
	}
	return s.timed(append(all, s.fleet()...), s.DynamoTime, nil)
}

// fleet returns the cases of processes that decide one request at a time.
func (s *Servers) fleet() []measure.Case {
	const size = 16
	windows := func() []measure.Subject { return subject.Fleet(size, s.Dynamo.Windows()) }
	all := []measure.Case{
		load(DynamoDB, FleetWindow, "one key", 0.5, size, windows()),
		load(DynamoDB, FleetBucket, "a token bucket", 0.5, size, subject.Fleet(size, s.Dynamo.Buckets())),
		load(DynamoDB, "dynamodb/fleet/60x/16", "one key", 60, size, windows()),
	}
	for i := range all {
		all[i].Title = strings.ReplaceAll(all[i].Title, "clients", "processes")
	}
	return all
}

func (s *Servers) redis() (all []measure.Case) {
	if s.Redis == nil {
		return nil
	}
	all = append(loads(Redis, "redis", s.Redis.Limiters), paced(load(Redis, "redis/paced/16", "one key at a steady 2,000 a second", 0.5, 16, s.Redis.Limiters()), 2000))
	wide := load(Redis, Redis600, "one key, a window of 600 slots", 0.5, 1, s.Redis.Limiters()[:2])
	wide.Slots = 600
	log := load(Redis, "redis/log/denied/1", "", 0.5, 1, s.Redis.Logs())
	log.Title, log.Factor, log.Capacity, log.Lead = "a log of 1,000 requests, full", 0, limit.MaxLog, time.Second
	bucket := load(Redis, "redis/bucket/0.5x/1", "a token bucket", 0.5, 1, s.Redis.Buckets())
	return s.timed(append(all, wide, log, bucket), subject.ProcessTime(s.Redis.PID), s.Redis.Scripts)
}

// loads returns the cases of all loads of a store.
func loads(group, store string, subjects func() []measure.Subject) (all []measure.Case) {
	for _, factor := range []float64{0.5, 0.9, 3, 20, 60} {
		for _, clients := range clientsAt(factor) {
			all = append(all, load(group, hot(store, factor, clients), "one key", factor, clients, subjects()))
		}
	}
	many := load(group, store+"/zipf/0.5x/16", "100,000 keys", 0.5, 16, subjects())
	many.Keys = zipfKeys
	return append(all, many)
}

// clientsAt returns the numbers of clients that send a load.
func clientsAt(factor float64) []int {
	if factor > 1 && factor < 60 {
		return []int{1, 16}
	}
	return []int{1, 16, 50}
}

// paced makes an open loop of a case, whose limit has room for it.
func paced(c measure.Case, rate float64) measure.Case {
	c.Factor, c.Rate = 0, rate
	return c
}

func (s *Servers) timed(all []measure.Case, server, scripts func() time.Duration) []measure.Case {
	for i := range all {
		all[i].Server, all[i].Scripts = server, scripts
	}
	return all
}

func requests() []measure.Case {
	base := measure.Case{Group: Requests, ByCPU: true, Clients: 1, Lead: 20 * time.Millisecond, Turn: 100 * time.Millisecond, Rounds: 9, Sample: 16}
	add := func(id, title string, subjects []measure.Subject) measure.Case {
		c := base
		c.ID, c.Title, c.Subjects = id, title, subjects
		return c
	}
	replay := add(Replay, "`slidegate replay` of "+text.Thousands(subject.ReplayLines)+" lines in combined format, in memory", subject.Replay())
	replay.ByCPU, replay.Lead, replay.Turn, replay.Rounds, replay.Sample = false, 0, time.Millisecond, 3, 1
	return []measure.Case{
		add(Rules1, "a request under one rule", subject.Rules(1)),
		add("requests/rules-100", "a request that one of 100 rules covers", subject.Rules(100)),
		add(Rules1000, "a request that one of 1,000 rules covers", subject.Rules(1000)),
		add(Handler, "the authorizer's handler, without the store", subject.Handler()),
		add(DecideAPI, "`POST /v1/decisions` on one connection", subject.DecideAPI()),
		replay,
	}
}
