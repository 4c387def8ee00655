package ruletable_test

import (
	"context"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// counting counts the calls of a table, and can make them fail.
type counting struct {
	ruletable.API
	mu    sync.Mutex
	calls map[string]int
	err   error
}

func (c *counting) called(name string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls == nil {
		c.calls = map[string]int{}
	}
	c.calls[name]++
	return c.err
}

// count returns the number of calls with this name.
func (c *counting) count(name string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.calls[name]
}

// fail makes every later call fail; nil ends that.
func (c *counting) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.err = err
}

func (c *counting) GetItem(ctx context.Context, in *dynamodb.GetItemInput, opts ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	if err := c.called("GetItem"); err != nil {
		return nil, err
	}
	return c.API.GetItem(ctx, in, opts...)
}

func (c *counting) Query(ctx context.Context, in *dynamodb.QueryInput, opts ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	if err := c.called("Query"); err != nil {
		return nil, err
	}
	return c.API.Query(ctx, in, opts...)
}
