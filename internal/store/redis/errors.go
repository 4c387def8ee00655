package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"strings"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
)

// The errors of Redis. Each is wrapped together with the server's or the
// driver's own error.
var (
	ErrUnreachable = errors.New("redis cannot be reached; check the address (rediss:// where it wants TLS), the network, and that it runs")
	ErrTimeout     = errors.New("redis did not answer in time")
	ErrTLS         = errors.New("the encrypted connection to redis failed; use redis:// if it speaks no TLS, and if an authority of your own " +
		"signed its certificate, name that authority's file in SSL_CERT_FILE")
	ErrSignIn       = errors.New("redis does not know this user or password; check them in redis://USER:PASSWORD@HOST:PORT")
	ErrNotPermitted = errors.New("redis does not permit the call; the user needs ~slidegate:* +eval +evalsha +hgetall +hmget +hset +pexpire +time +del, " +
		"+select for a database other than 0, and +cluster|slots +asking in a Cluster")
	ErrForeign     = errors.New("the stored counter is not readable; `slidegate reset RULE KEY` or Limiter.Reset deletes it")
	ErrFull        = fmt.Errorf("redis is out of memory; raise its maxmemory: %w", limit.ErrUndecided)
	ErrReplica     = errors.New("redis is a replica here, which takes no writes; name the primary's address")
	ErrNotWritable = errors.New("redis refuses writes until it can save or replicate them; see its log")
	ErrClusterDown = errors.New("the Redis Cluster does not serve this key; see CLUSTER INFO")
	ErrBusy        = errors.New("redis is starting, or busy with something that takes long; try again")
	ErrApart       = fmt.Errorf("counters to charge together (atomic: true) are in different hash slots of the Redis Cluster; "+
		"make them limits of one rule, or use a Redis without Cluster: %w", limit.ErrUndecided)
	ErrAhead    = errors.New("counter is far ahead of redis's clock, which was wrong once; `slidegate reset RULE KEY` or Limiter.Reset deletes it")
	ErrDatabase = errors.New("there is no such database; a Redis Cluster has none but 0, a server 0 to 15 unless it is configured otherwise")
	ErrClock    = errors.New("redis's clock is more than a window away from this one; set them right")
	ErrTooOld   = errors.New("this server is no Redis 6.2 or later, and no Valkey")
)

// codes maps parts of errors of Redis to this package's errors. A script's
// error has its code in the middle of the message. The first match counts, so an
// error that quotes another comes first.
var codes = []struct {
	err   error
	parts []string
}{
	{ErrForeign, []string{"FOREIGN"}},
	{ErrClock, []string{"CLOCK"}},
	{ErrAhead, []string{"AHEAD"}},
	{ErrForeign, []string{"WRONGTYPE"}},
	{ErrSignIn, []string{"WRONGPASS", "NOAUTH", "unauthenticated", "invalid password", "AUTH <password> called without any password configured"}},
	{ErrNotPermitted, []string{"NOPERM", "user executing the script can't"}},
	{ErrFull, []string{"OOM"}},
	{ErrReplica, []string{"READONLY"}},
	{ErrNotWritable, []string{"MISCONF", "NOREPLICAS"}},
	{ErrClusterDown, []string{"CLUSTERDOWN"}},
	{ErrApart, []string{"CROSSSLOT"}},
	{ErrDatabase, []string{"SELECT is not allowed in cluster mode", "DB index is out of range"}},
	{ErrBusy, []string{"LOADING", "MASTERDOWN", "TRYAGAIN", "BUSY", "max number of clients"}},
	{ErrTooOld, []string{"unknown command"}},
}

// translate returns this package's error for an error of the server or the
// driver. Errors are translated nowhere else. It returns nil for nil.
func translate(err error) error {
	var server goredis.Error
	var network net.Error
	var ours error
	switch {
	case err == nil, errors.Is(err, context.Canceled):
		return err
	case errors.As(err, &server):
		ours = ofCode(err.Error())
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, goredis.ErrPoolTimeout), errors.As(err, &network) && network.Timeout():
		ours = ErrTimeout
	case isTLS(err):
		ours = ErrTLS
	case network != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		ours = ErrUnreachable
	}
	if ours == nil {
		return fmt.Errorf("redis: %w", err)
	}
	if ours = fmt.Errorf("%w (%w)", ours, err); errors.Is(ours, ErrForeign) || errors.Is(ours, ErrAhead) || errors.Is(ours, ErrClock) || errors.Is(ours, ErrApart) {
		return unwritten{ours}
	}
	return ours
}

// unwritten is an error of one counter, or of several keys at once. Nothing was
// written.
type unwritten struct{ error }

// Unwrap returns the error.
func (e unwritten) Unwrap() error { return e.error }

// Is reports whether the target is limit.ErrGroup.
func (unwritten) Is(target error) bool { return target == limit.ErrGroup }

func ofCode(message string) error {
	for _, code := range codes {
		if slices.ContainsFunc(code.parts, func(part string) bool { return strings.Contains(message, part) }) {
			return code.err
		}
	}
	return nil
}

func isTLS(err error) bool {
	var record tls.RecordHeaderError
	var certificate *tls.CertificateVerificationError
	var alert tls.AlertError
	return errors.As(err, &record) || errors.As(err, &certificate) || errors.As(err, &alert)
}
