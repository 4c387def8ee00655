//go:build e2e

package e2e

import (
	"context"
	"flag"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
)

// onAccount is for `make e2e-aws`, which asks first.
var onAccount = flag.Bool("account", false, "run TestAccount on the AWS account of your credentials")

// TestAccount deploys the limiter by the command, puts a REST API behind it, and
// checks what emulators cannot show. On an emulator, as by -wide, it reports what
// that does not show. It removes everything again, also after a failure or an
// interrupt.
func TestAccount(t *testing.T) {
	if !*wide && !*onAccount {
		return
	}
	if !*onAccount {
		localEndpoint(t) // or fail: no test reaches an account by itself
	}
	a := newLive(t)
	a.deployLimiter()
	a.deployAPI()
	a.answersAllowed()
	a.answersDenied()
	a.answersUnauthorized()
	a.countsExactly()
	a.measures()
	a.isHealthy()
	a.hasMetrics()
	a.reportsThrottled()
}

// accountRules have a limit for a header, because a client of an account may change
// its address.
const accountRules = `authentication: {api_key: {}}
rules:
  - {name: per-client, when: {path: /limited}, key: "client:{header.x-client}", limit: 5/minute}
  - {name: free, when: {path: /free}, key: "client:{header.x-client}", limit: 100000/hour}
`

// live is an AWS account, or an emulator, with a limiter and an API for this
// test.
type live struct {
	t        *testing.T
	ctx      context.Context // ends with an interrupt
	emulator string          // its address; "" for AWS
	cfg      aws.Config
	dir      string // of the built command
	code     []string
	stack    string
	outputs  map[string]string
	api      string // the address of its stage
	checks   []check
}

// check is a line of the report.
type check struct{ what, seen, verdict string }

func newLive(t *testing.T) *live {
	ctx, stop := signal.NotifyContext(t.Context(), os.Interrupt)
	t.Cleanup(stop)
	a := &live{t: t, ctx: ctx, dir: t.TempDir(), stack: "sg-e2e-" + strconv.FormatInt(time.Now().Unix()%1e8, 36), emulator: strings.TrimSuffix(os.Getenv("AWS_ENDPOINT_URL"), "/")}
	goarch := "arm64"
	if a.emulator != "" {
		goarch = runtime.GOARCH
	}
	a.code = append(build(t, a.dir, goarch), "--architecture", map[string]string{"arm64": "arm64", "amd64": "x86_64"}[goarch])
	if err := os.WriteFile(filepath.Join(a.dir, "rules.yaml"), []byte(accountRules), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(a.report) // after all other cleanups
	var err error
	if a.cfg, err = config.LoadDefaultConfig(ctx); err != nil {
		t.Fatal(err)
	}
	return a
}

// seen adds a check to the report. What an emulator does not show is no failure
// there.
func (a *live) seen(ok, shownByEmulators bool, what, format string, args ...any) {
	verdict := "ok"
	switch {
	case ok:
	case a.emulator != "" && !shownByEmulators:
		verdict = "not shown by this emulator"
	default:
		verdict = "FAILED"
		a.t.Errorf("%s: "+format, append([]any{what}, args...)...)
	}
	a.checks = append(a.checks, check{what, fmt.Sprintf(format, args...), verdict})
}

func (a *live) report() {
	place := "region " + a.cfg.Region
	if a.emulator != "" {
		place = "the emulator at " + a.emulator
	}
	fmt.Printf("\nSlidegate on %s, %s\n", place, time.Now().UTC().Format(time.DateTime))
	for _, c := range a.checks {
		fmt.Printf("%-26s  %-44s  %s\n", c.verdict, c.what, c.seen)
	}
}

// run runs the command until it ends, in a process group of its own: Ctrl-C must
// not end it in the middle of a deployment, which could not be removed then.
func (a *live) run(args ...string) (stdout []byte, err error) {
	cmd := exec.Command("./slidegate", args...)
	cmd.Dir, cmd.SysProcAttr = a.dir, &syscall.SysProcAttr{Setpgid: true}
	var stderr strings.Builder
	cmd.Stderr = &stderr
	if stdout, err = cmd.Output(); err != nil {
		err = fmt.Errorf("slidegate %s: %w\n%s%s", strings.Join(args, " "), err, stdout, stderr.String())
	}
	return stdout, err
}

func (a *live) deployLimiter() {
	began := time.Now()
	bucket := a.newBucket()
	a.t.Cleanup(a.removeLimiter)
	out, err := a.run(append([]string{"aws", "deploy", "--stack", a.stack, "--bucket", bucket, "--rules", "rules.yaml", "--yes", "--json"}, a.code...)...)
	if err != nil {
		a.t.Fatal(err)
	}
	a.outputs = map[string]string{}
	for _, name := range []string{"AuthorizerUri", "RateLimitCountersTable", "RateLimitFunction"} {
		a.outputs[name] = outputOf(a.t, string(out), name)
	}
	a.seen(true, true, "aws deploy creates the limiter", "stack %s in %.0f s", a.stack, time.Since(began).Seconds())
}

// raw is an answer of the API.
type raw struct {
	status int
	header http.Header
	body   string
	took   time.Duration
}

func (a *live) ask(path, client string, more http.Header) (got raw, err error) {
	request, err := http.NewRequestWithContext(a.ctx, http.MethodGet, a.api+path, nil)
	if err != nil {
		return got, err
	}
	request.Header = more.Clone()
	if request.Header == nil {
		request.Header = http.Header{}
	}
	request.Header.Set("X-Client", client)
	began := time.Now()
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return raw{response.StatusCode, response.Header, string(body), time.Since(began)}, err
}

func (a *live) mustAsk(path, client string, more http.Header) raw {
	a.t.Helper()
	got, err := a.ask(path, client, more)
	if err != nil {
		a.t.Fatal(err)
	}
	return got
}
