// Package operator does what Slidegate's commands do: it publishes and compares
// rules, changes overrides, and looks into counters. Its functions take options
// and return reports, whose JSON is what --json prints. They print nothing.
package operator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/app"
	"github.com/slidegate/slidegate/internal/dynamo"
	"github.com/slidegate/slidegate/internal/engine"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/memory"
	"github.com/slidegate/slidegate/internal/redis"
	"github.com/slidegate/slidegate/internal/rules"
)

const (
	// startTime bounds what a command asks of DynamoDB or Redis before its work
	// begins: a wrong address or a missing table must show within seconds.
	startTime = 4 * time.Second
	// lookTime bounds what a command reads once the tables have answered.
	lookTime = 15 * time.Second
	// publishTime bounds a change of a table: a document may be large and a line
	// slow.
	publishTime = 30 * time.Second
)

// DynamoScheme begins the address of a table: dynamodb://TABLE.
const DynamoScheme = "dynamodb://"

// Locations say where rules and counters are. Counters are in this process if
// neither CountersTable nor Redis is set.
type Locations struct {
	RulesFile     string         // empty if the rules are in a table
	RulesTable    string         // empty if the rules are in a file
	CountersTable string         // empty if the counters are elsewhere
	Redis         *redis.Address // of counters; nil if they are elsewhere
}

// InMemory reports whether the counters are in this process.
func (l *Locations) InMemory() bool { return l.CountersTable == "" && l.Redis == nil }

// StoreName says where the counters are, without a password.
func (l *Locations) StoreName() string {
	switch {
	case l.Redis != nil:
		return l.Redis.String()
	case l.CountersTable != "":
		return DynamoScheme + l.CountersTable
	}
	return "memory"
}

// Listener receives messages and progress while a command runs.
type Listener interface {
	Note(format string, args ...any)
	Warn(format string, args ...any)
	Progress() Progress
}

// Progress shows how much of a long task is done. A size or total of 0 is not
// known.
type Progress interface {
	Log(requests, read, size int64, at time.Time)
	Count(done, total int, things string)
	Clear()
}

// Session is a command's access to valid rules and to counters that answer.
type Session struct {
	Locations
	Rules     *rules.Set            // at the start
	source    engine.RuleSource     // the rules as they change
	overrides engine.OverrideSource // set by command; nil unless the rules are in a table
	client    *dynamo.Client        // nil without DynamoDB
	redis     *redis.Connection     // nil without Redis
}

// Open reads the rules and makes sure that the counters answer. It writes
// nothing. The caller closes the session.
func Open(ctx context.Context, where Locations, parse app.Parser, log *slog.Logger) (*Session, error) {
	s := &Session{Locations: where}
	if where.RulesFile != "" {
		document, err := os.ReadFile(where.RulesFile)
		if err != nil {
			return nil, err
		}
		set, err := parse(where.RulesFile, document)
		if err != nil {
			return nil, err
		}
		s.Rules, s.source = set, engine.Fixed{Set: set}
	}
	var err error
	if where.Redis != nil {
		if s.redis, err = connectRedis(ctx, where.Redis); err != nil {
			return nil, err
		}
	}
	if where.RulesTable == "" && where.CountersTable == "" {
		return s, nil
	}
	s.client, err = connect(ctx, func(ctx context.Context, client *dynamo.Client) error {
		if where.RulesTable != "" {
			table := app.NewTable(client, where.RulesTable, parse, nil, log)
			set, err := table.Rules.Rules(ctx, client.Clock.Now())
			if err != nil {
				return err
			}
			s.Rules, s.source, s.overrides = set, table.Rules, table.Overrides
		}
		if where.CountersTable == "" {
			return nil
		}
		return probeCounters(ctx, client, where.CountersTable)
	})
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// openQuietly opens a session for a command that shows what limiters see.
func openQuietly(ctx context.Context, where Locations, parse app.Parser) (*Session, error) {
	return Open(ctx, where, parse, slog.New(slog.DiscardHandler))
}

// Close closes the connection to Redis, if there is one.
func (s *Session) Close() {
	if s.redis != nil {
		_ = s.redis.Close()
	}
}

// connectRedis returns a connection once Redis has answered, within startTime.
func connectRedis(ctx context.Context, address *redis.Address) (*redis.Connection, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	connection, err := redis.Open(ctx, address)
	if err != nil {
		return nil, err
	}
	if err := probe(ctx, redis.New(connection, redis.Options{})); err != nil {
		_ = connection.Close()
		return nil, fmt.Errorf("%v: %w", address, err)
	}
	return connection, nil
}

// connect returns a client once DynamoDB has answered the first questions,
// within startTime.
func connect(ctx context.Context, ask func(context.Context, *dynamo.Client) error) (*dynamo.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	client, err := dynamo.Connect(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	return client, ask(ctx, client)
}

// checkAtomic refuses atomic rules whose counters are on different nodes: every
// request that several of them cover would fail. If the rules in a table become
// so later, the store refuses the requests.
func (s *Session) checkAtomic() error {
	if s.redis == nil || !s.redis.Clustered() {
		return nil
	}
	var atomic []string
	for _, r := range s.Rules.Rules {
		if r.Atomic {
			atomic = append(atomic, r.Name)
		}
	}
	if len(atomic) < 2 {
		return nil
	}
	return fmt.Errorf("rules %s say atomic: true, and %s is a Redis Cluster, which cannot charge several keys at once: "+
		"make them limits of one rule, remove atomic, or use a Redis without Cluster", strings.Join(atomic, ", "), s.StoreName())
}

// parseRules reads a rules document for a command that is no limiter. If keys
// are hashed and the environment lacks the secret, looking up a key fails.
func parseRules(file string, document []byte) (*rules.Set, error) {
	set, err := rules.Parse(file, document)
	if err == nil {
		_ = set.UnlockKeys(os.LookupEnv)
	}
	return set, err
}

// ReadRules reads a rules file, and returns its text with it.
func ReadRules(file string) (*rules.Set, []byte, error) {
	document, err := os.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	set, err := parseRules(file, document)
	return set, document, err
}

// peeker says what a charge would get.
type peeker interface {
	Peek(ctx context.Context, now time.Time, c *limit.Charge, v *limit.Verdict) error
}

// sharedStore is a store whose counters other processes share.
type sharedStore interface {
	engine.Store
	peeker
	Reset(ctx context.Context, key string) error
}

// shared returns the shared store and the clock to ask it by. The session must
// not have its counters in memory.
func (s *Session) shared() (store sharedStore, now func() time.Time) {
	if s.redis != nil {
		return redis.New(s.redis, redis.Options{}), time.Now // Redis decides by its own clock
	}
	now = s.client.Clock.Now
	return app.NewDynamoStore(s.client, s.CountersTable, now), now
}

// countersAt returns the counters to look at, empty ones without a shared
// store, and the moment to look at them: at, or now by the store's clock.
func (s *Session) countersAt(at time.Time) (store peeker, now time.Time) {
	clock := time.Now
	if s.client != nil {
		clock = s.client.Clock.Now
	}
	if now = at; at.IsZero() {
		now = clock()
	}
	switch {
	case s.InMemory():
		return memory.New(0), now
	case at.IsZero():
		shared, _ := s.shared()
		return shared, now
	}
	store, _ = s.recorded()
	return store, now
}

// recorded returns the store for requests with times of their own. The table
// still expires items by real time. calls is nil unless DynamoDB counts them.
func (s *Session) recorded() (store sharedStore, calls func() (reads, writes int64)) {
	if s.redis != nil {
		return redis.New(s.redis, redis.Options{CallerClock: true}), nil
	}
	counters := dynamo.New(s.client, s.CountersTable, dynamo.Options{Wall: time.Now})
	return counters, counters.Calls
}

// probeCounters fails unless the table is one of counters, and answers.
func probeCounters(ctx context.Context, client *dynamo.Client, table string) error {
	return probe(ctx, dynamo.New(client, table, dynamo.Options{Wall: time.Now}))
}

// probe reads a counter that does not exist.
func probe(ctx context.Context, store peeker) error {
	var v limit.Verdict
	anything := limit.Limit{Capacity: 1, Window: time.Second, Granularity: time.Second}
	return store.Peek(ctx, time.Now(), &limit.Charge{Key: "|probe|", Limits: []limit.Limit{anything}, Costs: []int64{1}}, &v)
}

// Errors are several things that are wrong, each to be printed on a line.
type Errors []error

func (e Errors) Error() string { return errors.Join(e...).Error() }

// withPrefix puts a prefix before an error, or before each of several that were
// joined.
func withPrefix(prefix string, err error) error {
	joined, ok := err.(interface{ Unwrap() []error })
	switch {
	case err == nil:
		return nil
	case !ok:
		return fmt.Errorf("%s%w", prefix, err)
	}
	var several Errors
	for _, e := range joined.Unwrap() {
		several = append(several, fmt.Errorf("%s%w", prefix, e))
	}
	return several
}
