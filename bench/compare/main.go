// Command compare measures Slidegate beside other limiters and bare operations,
// all in one run.
//
//	go run ./compare -redis PATH                 # prints the table of targets
//	go run ./compare -redis PATH -docs ../docs   # measures all, and writes docs/performance.md
//	go run ./compare -docs /tmp -only 'memory/'  # measures some, and writes the page elsewhere
//	go run ./compare -from ../docs/performance.json -docs ../docs # writes the page again
//
// `make bench` and `make bench-peers` start the engines that it needs.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"regexp"
	"strconv"

	"github.com/slidegate/slidegate/bench/compare/report"
	"github.com/slidegate/slidegate/bench/compare/run"
	"github.com/slidegate/slidegate/bench/compare/subject"
)

func main() {
	server := flag.String("redis", "", "the `path` of a redis-server; none measures nothing on Redis")
	docs := flag.String("docs", "", "measure all, and write the page, its JSON and its charts into this `folder`")
	starts := flag.String("starts", "", "a `file` with the table of bench/start, for the page")
	lambda := flag.String("lambda", "", "a `file` that bench/start -json has printed, for the tables")
	from := flag.String("from", "", "write the page from the `file` performance.json of an earlier run, and measure nothing")
	rounds := flag.Int("rounds", 0, "the most `rounds` of a case, for a quick look; 0 for as many as it needs")
	only := flag.String("only", "", "a `pattern`: measure the cases whose names match, such as 'redis/.*/60x'")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	var err error
	if *from != "" {
		err = rewrite(*from, *docs)
	} else {
		err = compare(ctx, *server, *only, *rounds, files{*docs, *starts, *lambda})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "compare:", err)
		os.Exit(1)
	}
}

// rewrite writes the page again, after a change of its text.
func rewrite(from, docs string) error {
	data, err := report.Load(from)
	if err != nil {
		return err
	}
	return report.Write(docs, data)
}

// files are where results go to, and where those of other programs are. Each may
// be empty.
type files struct{ docs, starts, lambda string }

func compare(ctx context.Context, server, only string, rounds int, f files) error {
	pattern, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	data := &report.Data{}
	if err := data.Read(f.starts, f.lambda); err != nil {
		return err
	}
	r := run.Runner{Log: os.Stderr, All: f.docs != "", Only: pattern, Rounds: rounds}
	if server != "" {
		redis, err := subject.StartRedis(ctx, server)
		if err != nil {
			return err
		}
		defer redis.Close()
		r.Servers.Redis = redis
	}
	if os.Getenv("AWS_ENDPOINT_URL") != "" {
		dynamo, err := subject.ConnectDynamo(ctx)
		if err != nil {
			return err
		}
		defer dynamo.Close()
		r.Servers.Dynamo = dynamo
		pid, _ := strconv.Atoi(os.Getenv("ENGINE_PID")) // engine.sh sets it
		r.Servers.DynamoTime = subject.ProcessTime(pid)
	}
	if err := r.Measure(ctx, data); err != nil {
		return err
	}
	if f.docs == "" {
		err = report.Short(os.Stdout, data)
	} else {
		err = report.Write(f.docs, data)
	}
	if len(data.Failures) > 0 {
		err = errors.Join(err, fmt.Errorf("%d cases could not be measured", len(data.Failures)))
	}
	return err
}
