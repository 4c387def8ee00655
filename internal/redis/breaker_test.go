package redis_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/breaker"
	"github.com/slidegate/slidegate/internal/redis"
)

// refusing is a client whose commands all end with one error.
type refusing struct {
	err   error
	calls int
}

func (c *refusing) Process(_ context.Context, cmd goredis.Cmder) error {
	c.calls++
	cmd.SetErr(c.err)
	return c.err
}

// serverError is an error that the server answered with.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// TestBreaker: lost connections open the breaker, and then no command is sent.
// Errors of the server do not open it.
func TestBreaker(t *testing.T) {
	for _, test := range []struct {
		cause, want error
		opens       bool
	}{
		{io.EOF, redis.ErrUnreachable, true},
		{context.DeadlineExceeded, redis.ErrTimeout, true},
		{serverError("OOM command not allowed"), redis.ErrFull, false},
	} {
		client := &refusing{err: test.cause}
		store := redis.New(client, redis.Options{Breaker: breaker.New(time.Now, func(breaker.Change) {})})
		for range 5 {
			if err := store.Reset(context.Background(), "k"); !errors.Is(err, test.want) {
				t.Errorf("error %v, want %v", err, test.want)
			}
		}
		err := store.Reset(context.Background(), "k")
		if errors.Is(err, breaker.ErrOpen) != test.opens || (client.calls == 5) != test.opens {
			t.Errorf("%v: then error %v after %d calls", test.cause, err, client.calls)
		}
	}
}
