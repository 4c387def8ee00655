// Package session opens what commands work on: rules, rules tables and counters.
package session

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/slidegate/slidegate/internal/assemble/app"
	"github.com/slidegate/slidegate/internal/decide/engine"
	"github.com/slidegate/slidegate/internal/kit/clock"
	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/observe/oplog"
	"github.com/slidegate/slidegate/internal/observe/telemetry"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/lint"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/breaker"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/store/dynamo/awsconfig"
	"github.com/slidegate/slidegate/internal/store/memory"
	"github.com/slidegate/slidegate/internal/store/redis"
)

const (
	// startTime bounds a command's calls to DynamoDB or Redis before its work
	// begins: a wrong address or a missing table must show within seconds.
	startTime = 4 * time.Second
	// LookTime bounds what a command that changes nothing reads once the tables
	// have answered.
	LookTime = 15 * time.Second
	// ChangeTime bounds what a command reads before a change of a table, and the
	// change: a document may be large and a line slow.
	ChangeTime = 30 * time.Second
	// RecordedKeys bounds the keys of recorded requests in memory at once: about
	// 1 GB with one limit of a few slots in use.
	RecordedKeys = 4_000_000
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
	MaxKeys       int            // of counters in this process; 0 for the default
}

// InMemory reports whether the counters are in this process.
func (l *Locations) InMemory() bool { return l.CountersTable == "" && l.Redis == nil }

// Remote reports whether rules or counters are outside this machine's files.
func (l *Locations) Remote() bool { return l.RulesTable != "" || !l.InMemory() }

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

// RulesName says where the rules are.
func (l *Locations) RulesName() string {
	if l.RulesTable != "" {
		return DynamoScheme + l.RulesTable
	}
	return l.RulesFile
}

// Session is a command's access to valid rules and to counters that answer.
type Session struct {
	Locations
	Rules     *rules.Set            // at the start
	File      *rulefile.File        // with these rules; nil if they are in a table
	Source    engine.RuleSource     // the rules as they change
	Overrides engine.OverrideSource // set by command; nil unless the rules are in a table
	client    *dynamo.Client        // nil without DynamoDB; guarded by neither breaker
	lookups   *dynamo.Client        // client for the rules table; nil without one
	redis     redis.Connection      // nil without Redis
	process   *clock.Process
	// breaker guards the calls to the counters, and rulesBreaker those to the
	// rules table; nil for none. If they were one, failed lookups would switch off
	// counters that answer, and failed charges newer rules.
	breaker, rulesBreaker *breaker.Breaker
}

// Open reads the rules and makes sure that the counters answer. It writes
// nothing. The caller closes the session.
func Open(ctx context.Context, where Locations, prepare app.Prepare) (*Session, error) {
	return open(ctx, where, prepare, nil)
}

// open opens a session. A session without a log is of a command, which reports errors
// itself.
func open(ctx context.Context, where Locations, prepare app.Prepare, log *slog.Logger) (_ *Session, err error) {
	serves := log != nil
	if !serves {
		log = slog.New(slog.DiscardHandler)
	}
	s := &Session{Locations: where, process: clock.NewProcess(clock.Machine(time.Now), oplog.LogClockSteps(log))}
	if serves {
		s.breaker = breaker.New(time.Now, breaker.LogChanges(log, where.StoreName()))
		s.rulesBreaker = breaker.New(time.Now, breaker.LogChanges(log, where.RulesName()))
	}
	if where.RulesFile != "" {
		if s.File, err = rulefile.Open(ctx, where.RulesFile, log); err != nil {
			return nil, err
		}
		if s.Rules, err = ParsePrepared(where.RulesFile, s.File.Text, prepare); err != nil {
			return nil, err
		}
		s.Source = engine.Fixed{Set: s.Rules}
	}
	if where.Redis != nil {
		if s.redis, err = connectRedis(ctx, where.Redis); err != nil {
			return nil, err
		}
	}
	if where.RulesTable != "" || where.CountersTable != "" {
		if err := s.openTables(ctx, prepare, log); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// OpenToCharge opens a session for a command that decides requests. It refuses
// rules that CheckCharges refuses. If the rules in a table become so later, the
// store refuses the requests. With a log it is for a command that serves: requests
// do not wait for a store that does not answer.
func OpenToCharge(ctx context.Context, where Locations, prepare app.Prepare, log *slog.Logger) (*Session, error) {
	s, err := open(ctx, where, prepare, log)
	if err != nil {
		return nil, err
	}
	if err := s.CheckCharges(s.Rules); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

// CheckCharges refuses several atomic rules on a Redis Cluster: every request
// that two of them cover would fail.
func (s *Session) CheckCharges(set *rules.Set) error {
	var atomic []string
	for _, r := range set.Rules {
		if r.Atomic {
			atomic = append(atomic, r.Name)
		}
	}
	if len(atomic) < 2 || s.redis == nil || !redis.Clustered(s.redis) {
		return nil
	}
	return fmt.Errorf("rules %s say atomic: true, and %s is a Redis Cluster, which cannot charge several keys at once: "+
		"make them limits of one rule, remove atomic, or use a Redis without Cluster", strings.Join(atomic, ", "), s.StoreName())
}

func (s *Session) openTables(ctx context.Context, prepare app.Prepare, log *slog.Logger) (err error) {
	s.client, err = connect(ctx, func(ctx context.Context, client *dynamo.Client) (err error) {
		client.Clock.OnStep(oplog.LogClockSteps(log))
		if s.RulesTable != "" {
			s.lookups = client.Guarded(s.rulesBreaker, dynamo.MaxLookups)
			s.Source, s.Overrides = app.NewTable(s.lookups, s.RulesTable, ruletable.SourceOptions{Prepare: withWarnings(prepare)}, log)
			if s.Rules, err = s.Source.Rules(ctx, client.Clock.Now()); err != nil {
				return err
			}
		}
		if s.CountersTable == "" {
			return nil
		}
		return probeCounters(ctx, client, s.CountersTable)
	})
	return err
}

// Warnings returns what the rules in force are warned of, and which of their
// fields have no effect on the counters of this session.
func (s *Session) Warnings() []string {
	all := slices.Clone(s.Rules.Warnings)
	if s.CountersTable != "" {
		return all
	}
	for _, r := range s.Rules.Rules {
		if r.Lease > 0 && r.Mode != rules.Off {
			all = append(all, fmt.Sprintf("lease of rule %s has no effect: only counters in DynamoDB are charged ahead", r.Name))
		}
	}
	return all
}

// withWarnings adds warnings to rules of a table, which stores none.
func withWarnings(prepare app.Prepare) app.Prepare {
	return func(name string, set *rules.Set) error {
		for _, p := range lint.Check(set.Document(), set) {
			set.Warnings = append(set.Warnings, name+": "+p.String())
		}
		return prepare(name, set)
	}
}

// Close closes the connection to Redis, if there is one.
func (s *Session) Close() {
	if s.redis != nil {
		_ = s.redis.Close()
	}
}

// Table returns the table of the rules; nil if they are in a file.
func (s *Session) Table() *ruletable.Table {
	if s.RulesTable == "" {
		return nil
	}
	return ruletable.New(s.lookups, s.RulesTable)
}

// connectRedis returns a connection to a Redis that answers within startTime.
func connectRedis(ctx context.Context, address *redis.Address) (redis.Connection, error) {
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

// connect returns a client of a DynamoDB that passes a probe within startTime.
func connect(ctx context.Context, probe func(context.Context, *dynamo.Client) error) (*dynamo.Client, error) {
	ctx, cancel := context.WithTimeout(ctx, startTime)
	defer cancel()
	client, err := awsconfig.Connect(ctx, time.Now)
	if err != nil {
		return nil, err
	}
	return client, probe(ctx, client)
}

// LoadHashSecret prepares rules for commands that do not limit. It ignores
// errors: if the secret for hashed keys is missing, only reading a typed key
// fails.
func LoadHashSecret(_ string, set *rules.Set) error {
	_ = set.LoadHashSecret(os.LookupEnv)
	return nil
}

// ReadRules reads a rules file, and returns its text with it.
func ReadRules(file string) (*rules.Set, []byte, error) {
	text, err := rulefile.ReadFile(file)
	if err != nil {
		return nil, nil, err
	}
	set, err := ParsePrepared(file, text, LoadHashSecret)
	return set, text, err
}

// ParsePrepared parses the text of a rules file. prepare completes the rules, or
// refuses them.
func ParsePrepared(file string, text []byte, prepare app.Prepare) (*rules.Set, error) {
	set, err := rulefile.Parse(file, text)
	if err == nil {
		err = prepare(file, set)
	}
	return set, err
}

// Now returns the time of decisions. For counters in this process it goes on
// evenly, whatever happens to the machine's clock. For a table's it is
// DynamoDB's. Redis decides by its own clock; the machine's is good enough for
// the rest.
func (s *Session) Now() time.Time {
	switch {
	case s.InMemory():
		return s.process.Now()
	case s.client != nil:
		return s.client.Clock.Now()
	}
	return time.Now()
}

// LocalNow returns the time of counters in this process, also if the session's
// counters are elsewhere.
func (s *Session) LocalNow() time.Time { return s.process.Now() }

// Counters returns the store for requests of this moment; a new one for counters
// in memory.
func (s *Session) Counters() limit.Store {
	switch {
	case s.redis != nil:
		return redis.New(s.redis, redis.Options{ // decides by its own clock
			Breaker: s.breaker, Clock: clock.Machine(time.Now), OneServer: !redis.Clustered(s.redis),
		})
	case s.InMemory():
		return memory.New(s.MaxKeys)
	}
	return app.NewDynamoStore(s.client.Guarded(s.breaker, 0), s.CountersTable, s.client.Clock.Now)
}

// NewRecorder returns what counts the decisions by Counters and the requests to
// all stores. next also sees them. Call it once, before the first decision.
func (s *Session) NewRecorder(next engine.Observer, localKeys func() int) *telemetry.Recorder {
	o := telemetry.Options{Next: next, BreakerOpen: s.breaker.Open, RulesBreakerOpen: s.rulesBreaker.Open, LocalKeys: localKeys}
	if s.CountersTable == "" { // else the client counts requests
		o.Now = time.Now
	}
	if source, ok := s.Source.(interface{ Confirmed() time.Time }); ok { // a table, or a file that is followed
		o.RulesConfirmed = source.Confirmed
	}
	r := telemetry.NewRecorder(o)
	if s.client != nil {
		s.client.OnSent(r.Sent)
	}
	return r
}

// Recorded returns the store for requests with times of their own; a new one
// for counters in memory. The table still expires items by real time. calls is
// nil unless DynamoDB counts them.
func (s *Session) Recorded() (store limit.Store, calls func() (reads, writes int64)) {
	switch {
	case s.redis != nil:
		return redis.New(s.redis, redis.Options{CallerClock: true, OneServer: !redis.Clustered(s.redis)}), nil
	case s.InMemory():
		return memory.NewSequential(RecordedKeys), nil
	}
	counters := dynamo.New(s.client, s.CountersTable, dynamo.Options{Wall: time.Now})
	return counters, func() (reads, writes int64) { return dynamo.Calls(counters) }
}

// probeCounters fails unless the table is one of counters, and answers. It asks
// twice, because the client's clock believes no single answer: a process whose
// clock is an hour ahead would write its first charges an hour ahead.
func probeCounters(ctx context.Context, client *dynamo.Client, table string) error {
	store := dynamo.New(client, table, dynamo.Options{Wall: time.Now})
	if err := probe(ctx, store); err != nil {
		return err
	}
	return probe(ctx, store)
}

// probe reads a counter that does not exist.
func probe(ctx context.Context, store limit.Store) error {
	var v limit.Verdict
	anything := limit.Limit{Capacity: 1, Window: time.Second, Granularity: time.Second}
	return store.Peek(ctx, time.Now(), &limit.Charge{Key: "|probe|", Limits: []limit.Limit{anything}, Costs: []int64{1}}, &v)
}
