package redis

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/maintnotifications"
)

const (
	dialTimeout = 2 * time.Second // a command must answer within seconds even if nothing listens
	callTimeout = 3 * time.Second // for callers without a deadline of their own
	defaultPort = "6379"
)

// PasswordVariable names the environment variable from which commands take the
// password of an address without one.
const PasswordVariable = "SLIDEGATE_REDIS_PASSWORD"

// Address holds where a Redis is and how to sign in.
type Address struct{ options goredis.UniversalOptions }

// ParseAddress parses redis://[USER[:PASSWORD]@]HOST[:PORT][/DB], or rediss://
// for TLS. Special characters in user and password are escaped as %XX. The
// second password is for an address without one; "" is none. An error names the
// wrong part and quotes none: a part may hold the password, or some of it.
func ParseAddress(address, password string) (*Address, error) {
	u, err := url.Parse(address)
	if err != nil {
		return nil, unquoted(err)
	}
	user, host, port := u.User.Username(), u.Hostname(), cmp.Or(u.Port(), defaultPort)
	if stated, _ := u.User.Password(); stated != "" {
		password = stated
	}
	number, err := strconv.ParseUint(port, 10, 16)
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return nil, errors.New("the scheme is another: want redis:// or rediss://")
	case host == "":
		return nil, errors.New("the host is missing: want redis://HOST:PORT")
	case err != nil || number == 0:
		return nil, errors.New("the port is no number from 1 to 65535: want redis://HOST:PORT, with / in a password as %2F")
	case user != "" && password == "":
		return nil, errors.New("a user without a password: want redis://USER:PASSWORD@HOST, redis://:PASSWORD@HOST if there is no user, " +
			"or the password in " + PasswordVariable)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("there is something after the database: options are not supported, and ? and # in a password are %3F and %23")
	}
	db, err := strconv.ParseUint(cmp.Or(strings.TrimPrefix(u.Path, "/"), "0"), 10, 16)
	if err != nil {
		return nil, errors.New("the database is no number: want one as in redis://HOST:PORT/0, with / in a password as %2F")
	}
	a := &Address{goredis.UniversalOptions{
		Addrs: []string{net.JoinHostPort(host, port)}, Username: user, Password: password, DB: int(db),
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: dialTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout,
		// A user without other permissions may not name the client or subscribe
		// to the server's maintenance.
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}}
	if u.Scheme == "rediss" {
		a.options.TLSConfig = &tls.Config{ServerName: host, MinVersion: tls.VersionTLS12}
	}
	return a, nil
}

// unquoted returns the reason of a URL's error without the URL, which may
// contain a password.
func unquoted(err error) error {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok {
		return errors.New("it is no URL")
	}
	reason, _, _ := strings.Cut(failed.Err.Error(), `"`) // what follows quotes a part of it
	return fmt.Errorf("it is no URL (%s): special characters of a password are escaped as %%XX", strings.TrimSpace(reason))
}

// String returns the address without user and password.
func (a *Address) String() string {
	scheme := "redis"
	if a.options.TLSConfig != nil {
		scheme = "rediss"
	}
	return fmt.Sprintf("%s://%s/%d", scheme, a.options.Addrs[0], a.options.DB)
}

// Connection is a client of a Redis or a Redis Cluster. It is no struct around
// one: Go would compile some 1,200 methods of it.
type Connection = goredis.UniversalClient

// Open connects and signs in. It detects a Cluster, whose other nodes the
// client then finds itself. The client never sends a charge twice. It trusts
// the system's root certificates or, on Linux, those in the file that
// SSL_CERT_FILE names.
func Open(ctx context.Context, a *Address) (Connection, error) {
	client := goredis.NewClient(a.options.Simple())
	mode, err := modeOf(ctx, client)
	if mode == "standalone" {
		return client, nil
	}
	_ = client.Close()
	switch {
	case errors.Is(err, ErrTimeout) && a.options.TLSConfig != nil:
		return nil, fmt.Errorf("%v: %w; does it speak TLS? redis:// is without", a, err)
	case err != nil:
		return nil, fmt.Errorf("%v: %w", a, err)
	case mode == "cluster":
		return goredis.NewClusterClient(a.clusterOptions()), nil
	}
	return nil, fmt.Errorf("%v: this is a Redis %s, which keeps no counters: name the server that it watches", a, mode)
}

// Clustered reports whether a connection is to a Redis Cluster.
func Clustered(c Connection) bool {
	_, ok := c.(*goredis.ClusterClient)
	return ok
}

// modeOf returns a server's mode: standalone, cluster or sentinel. The mode is
// empty if there is an error.
func modeOf(ctx context.Context, client *goredis.Client) (string, error) {
	answer, err := client.Do(ctx, "hello").Result()
	if err != nil {
		return "", translate(err)
	}
	fields, _ := answer.(map[any]any)
	mode, ok := fields["mode"].(string)
	if !ok {
		return "", ErrTooOld
	}
	return mode, nil
}

func (a *Address) clusterOptions() *goredis.ClusterOptions {
	o := a.options.Cluster()
	o.DisableRoutingPolicies = true // this package routes by keys alone
	return o
}
