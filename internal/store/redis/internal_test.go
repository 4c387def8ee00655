package redis

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"github.com/slidegate/slidegate/internal/limit"
)

// lossy is a connection that loses the answers to the script: the server gets
// the call, and then the connection ends.
type lossy struct {
	net.Conn
	calls *atomic.Int64
	lost  atomic.Bool
}

func (c *lossy) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("evalsha")) {
		c.calls.Add(1)
		c.lost.Store(true)
	}
	return c.Conn.Write(b)
}

func (c *lossy) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	if c.lost.Load() {
		c.Conn.Close()
		return 0, io.EOF
	}
	return n, err
}

// serverError is an error that a server sends.
type serverError string

func (e serverError) Error() string { return string(e) }
func (serverError) RedisError()     {}

// failing is a client whose every call fails.
type failing struct{ error }

func (f failing) Process(_ context.Context, cmd goredis.Cmder) error {
	cmd.SetErr(f.error)
	return f.error
}

// TestTranslate translates the errors of different servers, of a call or within
// a script, to this package's errors. An unknown error stays wrapped.
func TestTranslate(t *testing.T) {
	for text, want := range map[string]error{
		"WRONGTYPE Operation against a key holding the wrong kind of value script: 5f, on @user_script:160.":                                 ErrForeign,
		"ERR Error running script (call to f_5f): @user_script:160: WRONGTYPE Operation against a key holding the wrong kind of value":       ErrForeign,
		"FOREIGN field a of slidegate:2:{}rule|OOM NOPERM CROSSSLOT|s is not readable":                                                       ErrForeign,
		"OOM command not allowed when used memory > 'maxmemory'. script: 5f, on @user_script:1.":                                             ErrFull,
		"ERR Error running script (call to f_5f): @user_script:1: @user_script: 1: -OOM command not allowed when used memory > 'maxmemory'.": ErrFull,
		"NOPERM this user has no permissions to run the 'evalsha' command or its subcommand":                                                 ErrNotPermitted,
		"ERR Error running script (call to f_5f): @user_script: 1: The user executing the script can't run this command or subcommand":       ErrNotPermitted,
		"NOPERM ACL failure in script: User x has no permissions to run the 'hset' command":                                                  ErrNotPermitted,
		"READONLY You can't write against a read only replica.":                                                                              ErrReplica,
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.":                                   ErrNotWritable,
		"NOREPLICAS Not enough good replicas to write.":                                                                                      ErrNotWritable,
		"CLUSTERDOWN The cluster is down":                                                        ErrClusterDown,
		"CROSSSLOT Keys in request don't hash to the same slot":                                  ErrApart,
		"LOADING Redis is loading the dataset in memory":                                         ErrBusy,
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.":       ErrBusy,
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.": ErrBusy,
		"TRYAGAIN Multiple keys request during rehashing of slot":                                ErrBusy,
		"ERR max number of clients reached":                                                      ErrBusy,
		"ERR Protocol error: unauthenticated multibulk length":                                   ErrSignIn,
		"NOAUTH Authentication required.":                                                        ErrSignIn,
		"WRONGPASS invalid username-password pair or user is disabled.":                          ErrSignIn,
		"ERR invalid password":                                                                   ErrSignIn,
		"ERR unknown command `EVALSHA`, with args beginning with: `5f`":                          ErrTooOld,
		"ERR AUTH <password> called without any password configured for the default user.":       ErrSignIn,
		"ERR SELECT is not allowed in cluster mode":                                              ErrDatabase,
		"ERR DB index is out of range":                                                           ErrDatabase,
		"CLOCK":                                                                                  ErrClock,
		"AHEAD":                                                                                  ErrAhead,
	} {
		store := New(failing{serverError(text)}, Options{})
		c := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{{Capacity: 9, Window: time.Hour, Granularity: time.Hour}}, Costs: []int64{1}}
		var v limit.Verdict
		for call, err := range map[string]error{
			"Charge": store.Charge(t.Context(), time.Now(), c, &v),
			"Settle": store.Settle(t.Context(), time.Now(), c, &limit.Receipt{}, []int64{1}),
			"Reset":  store.Reset(t.Context(), c.Key),
		} {
			if !errors.Is(err, want) || !strings.Contains(err.Error(), text) {
				t.Errorf("%s: %q is translated to %v, want %v", call, text, err, want)
			}
		}
	}
	for err, want := range map[error]error{
		context.DeadlineExceeded:                                  ErrTimeout,
		goredis.ErrPoolTimeout:                                    ErrTimeout,
		&net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}:     ErrTimeout,
		&net.OpError{Op: "remote error", Err: tls.AlertError(42)}: ErrTLS,
		&tls.CertificateVerificationError{Err: io.EOF}:            ErrTLS,
		tls.RecordHeaderError{Msg: "no record"}:                   ErrTLS,
		&net.OpError{Op: "dial", Err: errors.New("refused")}:      ErrUnreachable,
		io.EOF:              ErrUnreachable,
		io.ErrUnexpectedEOF: ErrUnreachable,
	} {
		if got := translate(err); !errors.Is(got, want) || !errors.Is(got, err) {
			t.Errorf("%T (%v) is translated to %v, want %v", err, err, got, want)
		}
	}
	for _, err := range []error{serverError("ERR something new"), errors.New("something else")} {
		if got := translate(err); !errors.Is(got, err) || !strings.HasPrefix(got.Error(), "redis: ") {
			t.Errorf("%v is translated to %v", err, got)
		}
	}
	if translate(nil) != nil || any(translate(context.Canceled)) != any(context.Canceled) {
		t.Error("no error, or the caller's own, is translated")
	}
}

func TestParseAddress(t *testing.T) {
	for text, want := range map[string]string{
		"redis://localhost":                         "redis://localhost:6379/0",
		"redis://127.0.0.1:7000/3":                  "redis://127.0.0.1:7000/3",
		"rediss://user:secret@redis.example:6380/0": "rediss://redis.example:6380/0",
		"redis://:secret@[::1]:6379":                "redis://[::1]:6379/0",
		"redis://user:s%3Fcret@h:1":                 "redis://h:1/0",
		"redis://h:65535/65535":                     "redis://h:65535/65535",
	} {
		a, err := ParseAddress(text, "")
		if err != nil || a.String() != want {
			t.Errorf("%s is %v, %v; want %s", text, a, err, want)
		}
	}
	for text, want := range map[string]string{
		"":                                "scheme",
		"localhost:6379":                  "scheme",
		"http://localhost":                "scheme",
		"redis://":                        "host",
		"redis://:secret@":                "host",
		"redis://h:x":                     "port",
		"redis://h:0":                     "port",
		"redis://h:65536":                 "port",
		"redis://user:secret@h:sec:ret":   "port",
		"redis://user@h":                  "a user without a password: want redis://USER:PASSWORD@HOST",
		"redis://h/x":                     "database",
		"redis://h/1/2":                   "database",
		"redis://h/65536":                 "database",
		"redis://h?db=1":                  "options are not supported",
		"redis://h?":                      "options are not supported",
		"redis://h#0":                     "options are not supported",
		"redis://user:secret?secret@h":    "special characters",
		"redis://user:secret%zz@h":        "it is no URL (invalid URL escape): special characters",
		"redis://user:secret secret@h":    "special characters",
		"redis://user:secret#secret@h":    "special characters",
		"redis://user:secret/secret@h:1":  "special characters",
		"redis://user:secret\x7fsecret@h": "special characters",
		"redis://secret@h":                "a user without a password",
		"redis://user:1/secret@h":         "database",
		"redis://user:99999999/1@h":       "port",
		"secret://h":                      "scheme",
	} {
		a, err := ParseAddress(text, "")
		if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "sec:") ||
			strings.Contains(err.Error(), "99999999") {
			t.Errorf("%q is %v, %v; want an error about %s", text, a, err, want)
		}
	}
}

// A password of the environment is for an address without one.
func TestPasswordOfTheEnvironment(t *testing.T) {
	for text, want := range map[string]string{
		"redis://h":             ":given",
		"redis://user@h":        "user:given",
		"redis://user:@h":       "user:given",
		"redis://user:stated@h": "user:stated",
		"redis://:stated@h":     ":stated",
	} {
		a, err := ParseAddress(text, "given")
		if err != nil {
			t.Errorf("%s: %v", text, err)
		} else if got := a.options.Username + ":" + a.options.Password; got != want {
			t.Errorf("%s signs in as %s, want %s", text, got, want)
		}
	}
}

// recording is a client that keeps the words of the latest command.
type recording struct{ words []any }

func (r *recording) Process(_ context.Context, cmd goredis.Cmder) error {
	r.words = cmd.Args()
	return io.EOF
}

// TestPlainCharge checks that a charge that opens no hold sends nothing of holds,
// and gets a script without them.
func TestPlainCharge(t *testing.T) {
	r := &recording{}
	store := New(r, Options{NewGeneration: func() string { return "life" }})
	c := &limit.Charge{Key: "rule|a|s", Limits: []limit.Limit{perMinute, tokens}, Costs: []int64{2, 3}}
	head := "\x04life\x02"
	window := "s" + PackDouble(9) + PackDouble(2) + PackDouble(60) + PackDouble(1_000_000)
	turn := "b" + PackDouble(60) + PackDouble(3) + PackDouble(9) + PackDouble(0) + PackDouble(3) + PackDouble(0)
	plain := scriptOf(1<<slots | 1<<bucket)
	check := func(want ...string) {
		t.Helper()
		for i, word := range r.words[2:] {
			if got := fmt.Sprintf("%s", word); i > 0 && got != want[i-1] {
				t.Errorf("word %d is %q, want %q", i+2, got, want[i-1])
			}
		}
		if len(r.words) != 3+len(want) {
			t.Errorf("%d words, want %d", len(r.words), 3+len(want))
		}
	}
	_ = store.Charge(t.Context(), time.Now(), c, &limit.Verdict{})
	if check(prefix+c.Key, head+window+turn); r.words[1] != plain.hash || strings.Contains(plain.source, "Places in flight") {
		t.Error("a plain charge has the script of another")
	}
	c.Hold = limit.Opening{ID: 1<<63 + 7, For: 1500 * time.Millisecond, Most: 5}
	_ = store.Charge(t.Context(), time.Now(), c, &limit.Verdict{})
	if check(prefix+c.Key, head+"h\x80\x00\x00\x00\x00\x00\x00\x07"+PackDouble(1)+PackDouble(5e8)+PackDouble(5)+window+turn); r.words[1] == plain.hash {
		t.Error("a charge that opens a hold has the script of one that opens none")
	}
}
