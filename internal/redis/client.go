package redis

import (
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

// Address holds where a Redis is and how to sign in.
type Address struct {
	host, port     string
	user, password string
	db             int
	encrypted      bool
}

// ParseAddress parses redis://[USER:PASSWORD@]HOST[:PORT][/DB], or rediss://
// for TLS. Special characters in user and password are escaped as %XX. An error
// names the wrong part, and never the password.
func ParseAddress(text string) (*Address, error) {
	u, err := url.Parse(text)
	if err != nil {
		return nil, unquoted(err)
	}
	a := &Address{host: u.Hostname(), port: u.Port(), user: u.User.Username(), encrypted: u.Scheme == "rediss"}
	if a.port == "" {
		a.port = defaultPort
	}
	a.password, _ = u.User.Password()
	port, err := strconv.ParseUint(a.port, 10, 16)
	switch {
	case u.Scheme != "redis" && u.Scheme != "rediss":
		return nil, fmt.Errorf("scheme %q: want redis:// or rediss://", u.Scheme)
	case a.host == "":
		return nil, errors.New("the host is missing: want redis://HOST:PORT")
	case err != nil || port == 0:
		return nil, fmt.Errorf("port %q: want 1 to 65535", a.port)
	case a.user != "" && a.password == "":
		return nil, fmt.Errorf("user %q has no password: want redis://USER:PASSWORD@HOST:PORT", a.user)
	case u.RawQuery != "" || u.ForceQuery || u.Fragment != "":
		return nil, errors.New("there is something after the database: options are not supported, and ? and # in a password are %3F and %23")
	}
	a.db, err = database(u.Path)
	return a, err
}

// unquoted returns the reason of a URL's error without the URL, which may
// contain a password.
func unquoted(err error) error {
	var failed *url.Error
	if !errors.As(err, &failed) {
		return errors.New("it is no URL")
	}
	reason, _, _ := strings.Cut(failed.Err.Error(), `"`) // what follows quotes a part of it
	return fmt.Errorf("it is no URL (%s): special characters of a password are escaped as %%XX", strings.TrimSpace(reason))
}

func database(path string) (int, error) {
	number := strings.TrimPrefix(path, "/")
	if number == "" {
		return 0, nil
	}
	n, err := strconv.ParseUint(number, 10, 16)
	if err != nil {
		return 0, fmt.Errorf("database %q: want a number, as in redis://HOST:PORT/0", number)
	}
	return int(n), nil
}

// String returns the address without user and password.
func (a *Address) String() string {
	scheme := "redis"
	if a.encrypted {
		scheme = "rediss"
	}
	return fmt.Sprintf("%s://%s/%d", scheme, net.JoinHostPort(a.host, a.port), a.db)
}

// Connection is a client of a Redis or a Redis Cluster.
type Connection struct {
	goredis.UniversalClient
	Address *Address
}

// Open connects and signs in. It detects a Cluster, whose other nodes the
// client then finds itself. The client never sends a charge twice. It trusts
// the system's root certificates or, on Linux, those in the file that
// SSL_CERT_FILE names.
func Open(ctx context.Context, a *Address) (*Connection, error) {
	client := goredis.NewClient(a.options())
	mode, err := modeOf(ctx, client)
	if mode == "standalone" {
		return &Connection{client, a}, nil
	}
	_ = client.Close()
	switch {
	case errors.Is(err, ErrTimeout) && a.encrypted:
		return nil, fmt.Errorf("%v: %w; does it speak TLS? redis:// is without", a, err)
	case err != nil:
		return nil, fmt.Errorf("%v: %w", a, err)
	case mode == "cluster":
		return &Connection{goredis.NewClusterClient(a.clusterOptions()), a}, nil
	}
	return nil, fmt.Errorf("%v: this is a Redis %s, which keeps no counters: name the server that it watches", a, mode)
}

// Clustered reports whether it is a Redis Cluster.
func (c *Connection) Clustered() bool {
	_, ok := c.UniversalClient.(*goredis.ClusterClient)
	return ok
}

// modeOf asks a server for its mode: standalone, cluster or sentinel. The mode
// is empty beside an error.
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

func (a *Address) options() *goredis.Options {
	return &goredis.Options{
		Addr: net.JoinHostPort(a.host, a.port), Username: a.user, Password: a.password, DB: a.db, TLSConfig: a.tls(),
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: dialTimeout, ReadTimeout: callTimeout, WriteTimeout: callTimeout,
		// A user without other permissions may not name the client or subscribe
		// to the server's maintenance.
		DisableIdentity: true, MaintNotificationsConfig: &maintnotifications.Config{Mode: maintnotifications.ModeDisabled},
	}
}

func (a *Address) clusterOptions() *goredis.ClusterOptions {
	o := a.options()
	return &goredis.ClusterOptions{
		Addrs: []string{o.Addr}, Username: o.Username, Password: o.Password, TLSConfig: o.TLSConfig,
		MaxRetries: -1, DialerRetries: 1, ContextTimeoutEnabled: true,
		DialTimeout: o.DialTimeout, ReadTimeout: o.ReadTimeout, WriteTimeout: o.WriteTimeout,
		DisableIdentity: true, MaintNotificationsConfig: o.MaintNotificationsConfig,
		DisableRoutingPolicies: true, // this package routes by keys alone
	}
}

func (a *Address) tls() *tls.Config {
	if !a.encrypted {
		return nil
	}
	return &tls.Config{ServerName: a.host, MinVersion: tls.VersionTLS12}
}
