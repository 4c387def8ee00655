package redis

import (
	"context"
	_ "embed"
	"errors"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/breaker"
)

//go:embed counter.lua
var counterScript string

var counterHash = goredis.NewScript(counterScript).Hash()

// noScript is the error of a server that has not cached the script, for example
// after a restart. Such a server has changed nothing.
const noScript = "NOSCRIPT"

// runScript runs the script on some keys: in one round trip if the server has
// cached the script, else in two.
func runScript(ctx context.Context, client Client, keys []string, arguments []any) ([]any, error) {
	answer, err := send(ctx, client, "evalsha", counterHash, keys, arguments)
	if goredis.HasErrorPrefix(err, noScript) {
		answer, err = send(ctx, client, "eval", counterScript, keys, arguments)
	}
	return answer, err
}

func send(ctx context.Context, client Client, command, script string, keys []string, arguments []any) ([]any, error) {
	words := make([]any, 0, 3+len(keys)+len(arguments))
	words = append(words, command, script, len(keys))
	for _, key := range keys {
		words = append(words, key)
	}
	return call(ctx, client, append(words, arguments...)...).Slice()
}

// call sends a command, once, and returns it with its answer. An open breaker
// keeps it from being sent.
func call(ctx context.Context, client Client, words ...any) *goredis.Cmd {
	g, ok := client.(guarded)
	if !ok {
		return process(ctx, client, words...)
	}
	var cmd *goredis.Cmd
	err := g.breaker.Do(ctx, func() error {
		cmd = process(ctx, g.Client, words...)
		return cmd.Err()
	}, answered)
	if cmd == nil {
		cmd = goredis.NewCmd(ctx, words...)
		cmd.SetErr(err)
	}
	return cmd
}

// answered reports whether an error is the server's answer to a command.
func answered(err error) bool {
	var server goredis.Error
	return errors.As(err, &server)
}

func process(ctx context.Context, client Client, words ...any) *goredis.Cmd {
	cmd := once{goredis.NewCmd(ctx, words...)}
	if _, ok := client.(unbounded); !ok || ctx.Done() == nil {
		_ = client.Process(ctx, cmd) // its error is the command's too
		return cmd.Cmd
	}
	answered := make(chan struct{})
	go func() {
		defer close(answered)
		_ = client.Process(ctx, cmd)
	}()
	select {
	case <-answered:
		return cmd.Cmd
	case <-ctx.Done():
		late := goredis.NewCmd(ctx, words...) // the other is still in use
		late.SetErr(ctx.Err())
		return late
	}
}

// unbounded is a client whose calls may outlast their context. The store leaves
// such a call behind: its caller waits no longer.
type unbounded struct{ Client }

// guarded is a client whose calls go through a circuit breaker.
type guarded struct {
	Client
	breaker *breaker.Breaker
}

// once is a command that go-redis must not repeat when its answer is lost, as
// it otherwise does in a Cluster: the command may have charged. go-redis still
// follows a redirection to another node.
type once struct{ *goredis.Cmd }

// NoRetry reports that the command must not be sent twice.
func (once) NoRetry() bool { return true }
