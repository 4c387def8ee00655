package ruletable_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

var epoch = time.Unix(1_700_000_040, 0).UTC()

// note is a note by ada, so many seconds after the epoch.
func note(seconds int, why string) ruletable.Note {
	return ruletable.Note{Who: "ada", Why: why, When: epoch.Add(time.Duration(seconds) * time.Second)}
}

func newTable(t *testing.T) (*dynamo.Client, string) {
	t.Helper()
	client := dynamotest.Connect(t)
	return client, dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
}

// opened returns a new table.
func opened(t *testing.T) *ruletable.Table {
	t.Helper()
	return ruletable.New(newTable(t))
}

// racing runs race before each transaction, so that another change comes
// between its read and its write.
type racing struct {
	ruletable.API
	race func()
}

func (r *racing) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	r.race()
	return r.API.TransactWriteItems(ctx, in, opts...)
}

// collected returns all items of a list, which must not fail.
func collected[T any](t *testing.T, all iter.Seq2[T, error]) (list []T) {
	t.Helper()
	for each, err := range all {
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, each)
	}
	return list
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// inLine returns an event in one line.
func inLine(e ruletable.Event) string {
	line := fmt.Sprintf("%s %s: %s", e.When.Format("15:04:05"), e.Who, e.Kind)
	if e.To > 0 {
		line += fmt.Sprintf(" %d>%d", e.From, e.To)
	}
	if e.Rule != "" {
		line += fmt.Sprintf(" %s %q %q>%q", e.Rule, e.Key, e.Before, e.After)
	}
	if e.Counter != "" {
		line += fmt.Sprintf(" (%s)", e.Counter)
	}
	if e.Grant != nil {
		line += fmt.Sprintf(" %s%+d until %s", e.Grant.Limit, e.Grant.Add, e.Grant.Until.Format("15:04:05"))
	}
	for _, g := range e.Grants {
		line += fmt.Sprintf(" with %s%+d until %s", g.Limit, g.Add, g.Until.Format("15:04:05"))
	}
	if e.Total > 0 {
		line += fmt.Sprintf(" %d of %d", e.Written, e.Total)
	}
	if e.Failure != "" {
		line += " (" + e.Failure + ")"
	}
	return line + " " + e.Why
}

// second returns the error of a call.
func second[T any](_ T, err error) error { return err }

// first returns the first error of a list.
func first[T any](all iter.Seq2[T, error]) error {
	for _, err := range all {
		return err
	}
	return nil
}

func capacityOf(n int64) *rules.Override { return &rules.Override{Capacity: map[string]int64{"": n}} }

// shelf is a table with GetItem alone. It counts the calls of each key, may
// fail, and may make them wait.
type shelf struct {
	ruletable.API // nil

	mu    sync.Mutex
	items map[string]map[string]types.AttributeValue // by key, after the rule and a slash for other rules than api
	reads map[string]int
	err   error
	gate  chan struct{} // if not nil, calls wait until it is closed
}

func (s *shelf) GetItem(ctx context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	key := in.Key["s"].(*types.AttributeValueMemberS).Value
	if rule := strings.TrimPrefix(in.Key["p"].(*types.AttributeValueMemberS).Value, "override#"); rule != "api" {
		key = rule + "/" + key
	}
	s.mu.Lock()
	if s.reads == nil {
		s.reads = map[string]int{}
	}
	s.reads[key]++
	gate := s.gate
	s.mu.Unlock()
	if gate != nil {
		select {
		case <-gate:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if aws.ToBool(in.ConsistentRead) {
		return nil, errors.New("a consistent read costs twice as much")
	}
	return &dynamodb.GetItemOutput{Item: s.items[key]}, s.err
}

// put stores a document and grants.
func (s *shelf) put(key, document string, grants ...types.AttributeValue) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.items == nil {
		s.items = map[string]map[string]types.AttributeValue{}
	}
	s.items[key] = map[string]types.AttributeValue{
		"s": &types.AttributeValueMemberS{Value: key}, "document": &types.AttributeValueMemberS{Value: document},
		"revision": &types.AttributeValueMemberN{Value: "1"}, "grants": &types.AttributeValueMemberL{Value: grants},
	}
}

func (s *shelf) remove(key string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.items, key)
}

// set makes calls fail, nil for not, and wait for a gate, nil for none.
func (s *shelf) set(err error, gate chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.err, s.gate = err, gate
}

func (s *shelf) read(key string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reads[key]
}

func (s *shelf) readInAll() (n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, reads := range s.reads {
		n += reads
	}
	return n
}

// reported collects what a cache reports.
type reported struct {
	mu   sync.Mutex
	errs []error
}

func (r *reported) add(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.errs = append(r.errs, err)
}

func (r *reported) take() []error {
	r.mu.Lock()
	defer r.mu.Unlock()
	errs := r.errs
	r.errs = nil
	return errs
}

func newCache(api ruletable.API, size int) (*ruletable.OverrideCache, *reported) {
	var r reported
	return ruletable.NewOverrideCache(ruletable.New(api, "rules"), size, r.add), &r
}

func sameOverride(a, b *rules.Override) bool {
	return cmp.Equal(a, b, cmpopts.IgnoreUnexported(rules.Override{}))
}
