package redis

import (
	"context"
	"encoding/binary"
	"math"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/breaker"
)

// fixed is a client that answers each command with the same text.
type fixed string

func (f fixed) Process(_ context.Context, cmd goredis.Cmder) error {
	cmd.(once).SetVal(string(f))
	return nil
}

// TestGuardedAnswer: a breaker passes answers on.
func TestGuardedAnswer(t *testing.T) {
	client := guarded{fixed("answer"), breaker.New(time.Now, func(breaker.Change) {})}
	if got, err := call(t.Context(), client, []any{"GET", "k"}); got != "answer" || err != nil {
		t.Errorf("%q, error %v", got, err)
	}
}

// TestPipelines: only a client that can send several commands at once does, and
// calls do not wait for a lane without end.
func TestPipelines(t *testing.T) {
	options := Options{OneServer: true}
	if _, ok := New(fixed(""), options).client.(*pipelined); ok {
		t.Error("a client without pipelines has them")
	}
	client := goredis.NewClient(&goredis.Options{Addr: "127.0.0.1:1"})
	defer client.Close()
	if p, ok := New(client, options).client.(*pipelined); !ok || p.patience != patience {
		t.Errorf("the client is %+v", p)
	}
}

// TestNumber reads integers of 53 bits and no others.
func TestNumber(t *testing.T) {
	for f, want := range map[float64]bool{
		0: true, -1: true, mostUnits: true, -mostUnits: true, mostUnits + 1: false, -mostUnits - 1: false, 0.5: false, math.Inf(1): false,
	} {
		n, whole := number(string(binary.BigEndian.AppendUint64(nil, math.Float64bits(f))))
		if whole != want || whole && float64(n) != f {
			t.Errorf("%v is read as %d, %t", f, n, whole)
		}
	}
}
