package redis_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/redis"
	"github.com/slidegate/slidegate/internal/test/servers"
	"github.com/slidegate/slidegate/internal/test/storetest"
)

// rights are those that ErrNotPermitted names.
const rights = "~slidegate:* +eval +evalsha +hgetall +hmget +hset +pexpire +time +del"

// everything makes every call of a store that needs rights.
func everything(t testing.TB, store *redis.Store) error {
	c, other := request(fresh(), all(), 1, 1, 1, 1, 1, 1), request(fresh(), all(), 1, 1, 1, 1, 1, 1)
	var v, w limit.Verdict
	return errors.Join(
		store.Charge(t.Context(), time.Now(), c, &v),
		store.Settle(t.Context(), time.Now(), c, &v.Receipt, []int64{1, -1, 0, 0, 0, 0}),
		store.Peek(t.Context(), time.Now(), c, &v),
		store.ChargeAll(t.Context(), time.Now(), []*limit.Charge{c, other}, []*limit.Verdict{&v, &w}),
		store.Reset(t.Context(), c.Key),
	)
}

// TestRights checks that the rights in ErrNotPermitted are sufficient, and that
// each is necessary.
func TestRights(t *testing.T) {
	t.Parallel()
	if !strings.Contains(redis.ErrNotPermitted.Error(), rights) {
		t.Fatalf("the error names other rights than %s", rights)
	}
	server := servers.StartRedis(t, "user counter on >secret resetkeys "+rights, "user elsewhere on >secret +select "+rights)
	signedIn := func(user, db string) string { return "redis://" + user + ":secret@" + server.Address + "/" + db }
	before := info(t, server, "stats", "total_error_replies")
	if err := everything(t, redis.New(connect(t, signedIn("counter", "0")), redis.Options{})); err != nil {
		t.Error(err)
	}
	if n := info(t, server, "stats", "total_error_replies") - before; n != 1 {
		t.Errorf("the server refused %d calls, want one: EVALSHA of the script that it did not have", n)
	}
	if err := everything(t, redis.New(connect(t, signedIn("elsewhere", "7")), redis.Options{})); err != nil {
		t.Error(err)
	}
	if _, err := dial(t, signedIn("counter", "7")); !errors.Is(err, redis.ErrNotPermitted) {
		t.Errorf("another database without +select: %v", err)
	}
	for i := range strings.Fields(rights) {
		fewer := strings.Fields(rights)
		missing := fewer[i]
		rules := append([]string{"reset", "on", ">secret"}, append(fewer[:i:i], fewer[i+1:]...)...)
		if err := server.Client.ACLSetUser(t.Context(), "fewer", rules...).Err(); err != nil {
			t.Fatal(err)
		}
		if err := server.Client.ScriptFlush(t.Context()).Err(); err != nil { // so that +eval is needed
			t.Fatal(err)
		}
		err := everything(t, redis.New(connect(t, signedIn("fewer", "0")), redis.Options{}))
		if !errors.Is(err, redis.ErrNotPermitted) || !strings.Contains(err.Error(), missing) {
			t.Errorf("without %s: %v", missing, err)
		}
	}
}

// TestRightToExpire: without +pexpire, a charge that opens a slot fails after it
// was written. Others in that slot count from there.
func TestRightToExpire(t *testing.T) {
	t.Parallel()
	server := servers.StartRedis(t, "user fewer on >secret resetkeys "+strings.Replace(rights, "+pexpire ", "", 1))
	store := redis.New(connect(t, "redis://fewer:secret@"+server.Address), redis.Options{CallerClock: true})
	limits, key := []limit.Limit{storetest.Sliding(3, time.Hour, time.Hour)}, fresh()
	var v limit.Verdict
	for i, want := range []struct {
		allowed bool
		err     error
	}{{false, redis.ErrNotPermitted}, {true, nil}, {true, nil}, {false, nil}} {
		if err := store.Charge(t.Context(), epoch, request(key, limits, 1), &v); !errors.Is(err, want.err) || err == nil && v.Allowed != want.allowed {
			t.Errorf("charge %d: allowed %v, error %v", i, v.Allowed, err)
		}
	}
	if left := server.Client.TTL(t.Context(), prefix+key).Val(); left != -1 {
		t.Errorf("the key expires in %v", left)
	}
}

// TestClusterRights adds the right to find the nodes of a Cluster.
func TestClusterRights(t *testing.T) {
	t.Parallel()
	server := servers.StartCluster(t)
	for name, more := range map[string][]string{"enough": {"+cluster|slots"}, "fewer": nil} {
		rules := append([]string{"reset", "on", ">secret"}, append(strings.Fields(rights), more...)...)
		if err := server.Client.ACLSetUser(t.Context(), name, rules...).Err(); err != nil {
			t.Fatal(err)
		}
		before := info(t, server, "stats", "total_error_replies")
		store := redis.New(connect(t, "redis://"+name+":secret@"+server.Address), redis.Options{})
		var v limit.Verdict
		err := store.Charge(t.Context(), time.Now(), request(fresh(), all(), 1, 1, 1, 1, 1, 1), &v)
		if name == "enough" && err != nil || name == "fewer" && !errors.Is(err, redis.ErrNotPermitted) {
			t.Errorf("%s: %v", name, err)
		}
		if n := info(t, server, "stats", "total_error_replies") - before; n != 1 {
			t.Errorf("%s: the server refused %d calls, want one", name, n)
		}
	}
}

// TestSignIn signs in with the address's user and password, which may be
// escaped. An error never quotes them.
func TestSignIn(t *testing.T) {
	t.Parallel()
	const password = "p@ss:/w?r#d%"
	server := servers.StartRedis(t, "requirepass "+password, "user jo on >"+password+" allkeys allcommands")
	for _, tc := range []struct {
		who string
		ok  bool
	}{
		{"", false}, {"jo:wrong@", false}, {":wrong@", false}, {"unknown:p%40ss%3A%2Fw%3Fr%23d%25@", false},
		{"jo:p%40ss%3A%2Fw%3Fr%23d%25@", true}, {":p%40ss%3A%2Fw%3Fr%23d%25@", true}, {"default:p%40ss%3A%2Fw%3Fr%23d%25@", true},
	} {
		for _, db := range []string{"", "/3"} {
			c, err := dial(t, "redis://"+tc.who+server.Address+db)
			switch {
			case !tc.ok:
				if !errors.Is(err, redis.ErrSignIn) || strings.Contains(err.Error(), "wrong") {
					t.Errorf("%s%s: %v", tc.who, db, err)
				}
			case err != nil:
				t.Errorf("%s%s: %v", tc.who, db, err)
			default:
				if err := everything(t, redis.New(c, redis.Options{})); err != nil {
					t.Errorf("%s%s: %v", tc.who, db, err)
				}
			}
		}
	}
}

// TestTLS connects by rediss://, which trusts only the authorities of the
// system or of SSL_CERT_FILE.
func TestTLS(t *testing.T) {
	server := servers.StartRedis(t)
	encrypted, certificate := server.Encrypt(t)
	file := filepath.Join(t.TempDir(), "authority.pem")
	if err := os.WriteFile(file, certificate, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("SSL_CERT_FILE", file) // crypto/x509 reads it once: no other test may use TLS before
	if err := everything(t, redis.New(connect(t, "rediss://"+encrypted), redis.Options{})); err != nil {
		t.Error(err)
	}
	elsewhere := strings.Replace(encrypted, "127.0.0.1", "localhost", 1)
	if _, err := dial(t, "rediss://"+elsewhere); !errors.Is(err, redis.ErrTLS) || strings.Contains(err.Error(), "does it speak TLS?") {
		t.Errorf("a certificate of another host: %v", err)
	}
	_, err := dial(t, "rediss://"+server.Address)
	if !errors.Is(err, redis.ErrTimeout) || !strings.Contains(err.Error(), "does it speak TLS?") {
		t.Errorf("a server without TLS: %v", err)
	}
	if _, err := dial(t, "redis://"+encrypted); !errors.Is(err, redis.ErrUnreachable) || !strings.Contains(err.Error(), "rediss://") {
		t.Errorf("a server with TLS: %v", err)
	}
}
