package redis

import (
	"context"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/store/breaker"
)

// noScript is the error of a server that has not cached the script, for example
// after a restart. Such a server has changed nothing.
const noScript = "NOSCRIPT"

// run runs the script on some keys: in one round trip if the server has cached
// the script, else in two.
func (s *script) run(ctx context.Context, client Client, words []any) (answer string, err error) {
	words[0], words[1] = "evalsha", s.hash
	answer, err = call(ctx, client, words)
	if goredis.HasErrorPrefix(err, noScript) {
		words[0], words[1] = "eval", s.source
		answer, err = call(ctx, client, words)
	}
	return answer, err
}

// call sends a command, once, and returns its answer. An open breaker keeps it
// from being sent.
func call(ctx context.Context, client Client, words []any) (answer string, err error) {
	g, ok := client.(guarded)
	if !ok {
		return process(ctx, client, words)
	}
	err = g.breaker.Do(ctx, func() error {
		answer, err = process(ctx, g.Client, words)
		return err
	}, answered)
	return answer, err
}

// answered reports whether an error is the server's answer to a command.
func answered(err error) bool {
	var server goredis.Error
	return errors.As(err, &server)
}

func process(ctx context.Context, client Client, words []any) (answer string, err error) {
	if p, ok := client.(*pipelined); ok {
		return p.call(ctx, words)
	}
	if _, ok := client.(unbounded); !ok || ctx.Done() == nil {
		cmd := once{goredis.NewStringCmd(ctx, words...)}
		_ = client.Process(ctx, cmd) // its error is the command's too
		return cmd.Result()
	}
	cmd := once{goredis.NewStringCmd(ctx, append([]any(nil), words...)...)} // may outlast this call
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_ = client.Process(ctx, cmd)
	}()
	select {
	case <-answered:
		return cmd.Result()
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// unbounded is a client whose calls may outlast their context. The store leaves
// such a call behind: its caller waits no longer. The call occupies a connection
// until the client's ReadTimeout, and may still charge.
type unbounded struct{ Client }

// guarded is a client whose calls go through a circuit breaker.
type guarded struct {
	Client
	breaker *breaker.Breaker
}

// once is a command that go-redis must not repeat when its answer is lost, as
// it otherwise does in a Cluster: the command may have charged. go-redis still
// follows a redirection to another node.
type once struct{ *goredis.StringCmd }

// NoRetry reports that the command must not be sent twice.
func (once) NoRetry() bool { return true }
