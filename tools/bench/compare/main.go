// Command compare measures Slidegate beside other limiters and bare operations,
// all in one run, and prints tables and targets as Markdown. Run it in bench.
//
//	../localstack/engine.sh dynoxide go run ./compare -redis
//	go run ./compare -only memory -rounds 3      # a quick look at some
//	... -page ../docs/performance.md             # writes the tables into the page
//
// Without AWS_ENDPOINT_URL it measures nothing on DynamoDB, and without -redis
// nothing on Redis. `make bench` starts both.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"time"

	"github.com/slidegate/slidegate/internal/test/redistest"
)

func main() {
	server := flag.Bool("redis", false, "measure on a redis-server too, which localstack/redis.sh installs")
	page := flag.String("page", "", "the `file` whose tables to replace")
	rounds := flag.Int("rounds", 0, "the most `rounds` of a job; 0 for as many as it has")
	only := flag.String("only", "", "a `pattern` of the jobs to run, such as redis")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := compare(ctx, *server, *page, *rounds, *only); err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// job measures subjects, and returns their results.
type job struct {
	id  string
	run func(context.Context) (map[string]result, error)
}

func compare(ctx context.Context, server bool, page string, rounds int, only string) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	tests, jobs := inProcess(), []job{{"memory/size", sizes}, {"memory/fullest", fullest(inMemory[1:], 100, len(inMemory))}}
	if server {
		started, err := redistest.Open()
		if err != nil {
			return err
		}
		defer started.Close()
		redis := redisServer(started.Address)
		tests = append(tests, onServer("redis", redis.windows(), redis.buckets())...)
		jobs = append(jobs, job{"redis/fullest", fullest(redis.windows()[1:], 100, len(inMemory))})
	}
	if os.Getenv("AWS_ENDPOINT_URL") != "" {
		dynamo, err := connectDynamo(ctx)
		if err != nil {
			return err
		}
		defer dynamo.close()
		tests = append(tests, onServer("dynamodb", dynamo.windows(), dynamo.buckets())...)
		// A burst takes longer there.
		jobs = append(jobs, job{"dynamodb/fullest", fullest(append(dynamo.windows()[1:], dynamo.buckets()[2:]...), 20, 1)})
	}
	if os.Getenv("AWS_ENDPOINT_URL") != "" && pattern.MatchString("lambda") {
		l, err := newLambdas(ctx, "..")
		if l != nil {
			defer l.close()
		}
		if err != nil {
			return err
		}
		jobs = append(jobs, job{"lambda/cold", l.cold}, job{"lambda/warm", l.warm})
	}
	for _, t := range tests {
		if rounds > 0 {
			t.rounds = min(t.rounds, rounds)
		}
		jobs = append(jobs, job{t.id, t.measure})
	}
	all, started := results{}, machine()
	var errs []error
	for _, j := range jobs {
		if pattern.MatchString(j.id) && ctx.Err() == nil {
			begun := time.Now()
			all[j.id], err = j.run(ctx)
			errs = append(errs, err)
			fmt.Fprintf(os.Stderr, "%-28s %5.1f s\n", j.id, time.Since(begun).Seconds())
		}
	}
	report := all.report(started)
	fmt.Print(report)
	if page != "" && ctx.Err() == nil {
		errs = append(errs, write(page, report))
	}
	return errors.Join(errs...)
}

// inProcess returns the tests that need no server.
func inProcess() []test {
	one := test{id: "memory/one", subjects: inMemory, clients: 1, capacity: unlimited, length: 100 * time.Millisecond, rounds: 9, sample: 64}
	denied, keys, clients := one, one, one
	denied.id, denied.capacity = "memory/denied", 100
	keys.id, keys.keys = "memory/keys", 100_000
	clients.id, clients.keys, clients.clients = "memory/clients", 100_000, 16
	requests := test{id: "requests", subjects: requests(), clients: 1, length: 100 * time.Millisecond, rounds: 9, sample: 16}
	replay := test{id: "replay", subjects: []subject{{ours, openReplay}}, clients: 1, length: time.Millisecond, rounds: 5, sample: 1}
	return []test{one, denied, keys, clients, requests, replay}
}

// onServer returns the tests of a store.
func onServer(store string, windows, buckets []subject) []test {
	const many = 16
	at := func(id string, subjects []subject, clients int, load float64) test {
		t := test{id: store + "/" + id, subjects: subjects, clients: clients, load: load, length: 200 * time.Millisecond, rounds: 7, sample: 1}
		if load > 1 {
			t.rounds, t.sample = 5, 8
		}
		return t
	}
	return []test{
		at("one", windows, 1, 0.5), at("clients", windows, many, 0.5), at("bucket", buckets, many, 0.5), at("flood", windows, many, 60),
		at("processes", processes(many, windows), many, 0.5), at("bucket-processes", processes(many, buckets), many, 0.5),
	}
}
