package outage_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/store/dynamostore"
	"github.com/slidegate/slidegate/store/redisstore"
)

// These variables make this program a worker, and name its store.
const jobVariable, redisVariable, tableVariable = "SLIDEGATE_TEST_JOB", "SLIDEGATE_TEST_REDIS", "SLIDEGATE_TEST_TABLE"

// TestMain runs the tests, or a worker. That ends with its standard input, and so
// with the test.
func TestMain(m *testing.M) {
	switch os.Getenv(jobVariable) {
	case "":
		os.Exit(m.Run())
	case "hold":
		holdPlaces(openStore(os.Getenv))
		_, _ = io.Copy(io.Discard, os.Stdin)
	case "pay":
		teller := newTeller(openStore(os.Getenv))
		for in := bufio.NewScanner(os.Stdin); in.Scan(); {
			go func(words []string) { fmt.Println("answer", words[0], teller.do(words[1:])) }(strings.Fields(in.Text()))
		}
	}
}

// openStore returns the store of an environment, as a new process sees it.
func openStore(getenv func(string) string) slidegate.Store {
	if address := getenv(redisVariable); address != "" {
		return redisstore.New(goredis.NewClient(&goredis.Options{Addr: address, ContextTimeoutEnabled: true}))
	}
	aws, err := config.LoadDefaultConfig(context.Background())
	if err != nil {
		panic(err)
	}
	return dynamostore.New(dynamodb.NewFromConfig(aws), getenv(tableVariable))
}

// onBoth runs a test on a new table and on a new Redis server, each with a crew
// that does a job.
func onBoth(t *testing.T, size int, job string, test func(*testing.T, *crew, slidegate.Store)) {
	table, server := dynamotest.Counters(t, dynamotest.Connect(t)), servers.StartRedis(t)
	for store, variable := range map[string][2]string{"DynamoDB": {tableVariable, table}, "Redis": {redisVariable, server.Address}} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			c := &crew{workers: make([]*worker, size), environment: append(os.Environ(), jobVariable+"="+job, variable[0]+"="+variable[1])}
			t.Cleanup(c.end)
			test(t, c, openStore(func(name string) string { return map[string]string{variable[0]: variable[1]}[name] }))
		})
	}
}

// crew is several worker processes. One that dies is replaced.
type crew struct {
	environment []string
	said        func(pid int, words []string) // gets each line of a worker but answers
	died        func(pid int, at time.Time)   // no more lines come
	mu          sync.Mutex
	workers     []*worker
	over        bool
	running     sync.WaitGroup
	kills       int
	calls       int
}

type worker struct {
	cmd     *exec.Cmd
	stdin   io.Writer
	waiting map[string]chan []string // for answers; nil after its death
}

func (c *crew) start() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.workers {
		c.run(i)
	}
}

// run starts worker i.
func (c *crew) run(i int) {
	w := &worker{cmd: exec.Command(os.Args[0]), waiting: map[string]chan []string{}}
	w.cmd.Env, w.cmd.Stderr, c.workers[i] = c.environment, os.Stderr, w
	w.stdin, _ = w.cmd.StdinPipe()
	stdout, _ := w.cmd.StdoutPipe()
	if err := w.cmd.Start(); err != nil {
		panic(err)
	}
	c.running.Go(func() {
		for lines := bufio.NewScanner(stdout); lines.Scan(); {
			words := strings.Fields(lines.Text())
			c.mu.Lock()
			if words[0] == "answer" {
				w.waiting[words[1]] <- words[2:]
				delete(w.waiting, words[1])
			} else {
				c.said(w.cmd.Process.Pid, words)
			}
			c.mu.Unlock()
		}
		_ = w.cmd.Wait() // its error is the signal
		c.mu.Lock()
		defer c.mu.Unlock()
		if c.died != nil {
			c.died(w.cmd.Process.Pid, time.Now())
		}
		for _, answer := range w.waiting {
			close(answer)
		}
		if w.waiting = nil; !c.over {
			c.run(i)
		}
	})
}

// call has worker i do something. The answer is nil if it dies first.
func (c *crew) call(i int, words ...any) []string {
	answer := make(chan []string, 1)
	c.mu.Lock()
	w := c.workers[i]
	c.calls++
	call := strconv.Itoa(c.calls)
	if w.waiting == nil {
		close(answer)
	} else {
		w.waiting[call] = answer
		_, _ = fmt.Fprintln(w.stdin, append([]any{call}, words...)...)
	}
	c.mu.Unlock()
	return <-answer
}

// killSome kills workers at random times with this mean distance, until a channel
// is closed.
func (c *crew) killSome(mean time.Duration, until <-chan struct{}) {
	for {
		select {
		case <-until:
			return
		case <-time.After(time.Duration(rand.ExpFloat64() * float64(mean))):
			c.kill(rand.IntN(len(c.workers)))
		}
	}
}

func (c *crew) kill(i int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.workers[i]; w != nil && w.waiting != nil {
		c.kills++
		_ = w.cmd.Process.Kill()
	}
}

// end kills all workers, and waits until they are dead.
func (c *crew) end() {
	c.mu.Lock()
	c.over = true
	c.mu.Unlock()
	for i := range c.workers {
		c.kill(i)
	}
	c.running.Wait()
}
