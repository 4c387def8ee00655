package cli

import (
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// maxWait is how long a command may take to report that DynamoDB does not answer.
const maxWait = 5 * time.Second

// needsDynamoDB has a command of each kind that calls DynamoDB. OUT is a file that
// must not appear.
var needsDynamoDB = []string{
	"serve --listen 127.0.0.1:0 --rules testdata/rules.yaml --store dynamodb://TABLE",
	"serve --listen 127.0.0.1:0 --rules dynamodb://TABLE",
	"replay testdata/day.log --rules testdata/rules.yaml --store dynamodb://TABLE --decisions OUT",
	"replay testdata/day.log --rules dynamodb://TABLE --decisions OUT",
	"rules apply testdata/rules.yaml --rules dynamodb://TABLE",
	"rules list --rules dynamodb://TABLE",
	"rules get --rules dynamodb://TABLE --output OUT",
	"rules rollback 1 --why x --rules dynamodb://TABLE",
	"rules history --rules dynamodb://TABLE",
	"overrides get api k --rules dynamodb://TABLE",
	"overrides set api k --deny --why x --rules dynamodb://TABLE",
	"overrides delete api k --why x --rules dynamodb://TABLE",
	"overrides list api --rules dynamodb://TABLE",
	"overrides import api testdata/usage-plans.json --why x --rules dynamodb://TABLE",
	"grant api k +5 --for 1h --why x --rules dynamodb://TABLE",
	"explain GET / --rules dynamodb://TABLE",
	"explain GET / --rules testdata/rules.yaml --store dynamodb://TABLE",
	"inspect ip:203.0.113.9 --rules testdata/rules.yaml --store dynamodb://TABLE",
	"reset per-ip ip:203.0.113.9 --rules testdata/rules.yaml --store dynamodb://TABLE",
}

// wantRefusal runs all commands at once. Each must fail in time with one message
// that contains a part, and change nothing.
func wantRefusal(t *testing.T, part string, commands ...string) {
	t.Helper()
	dir := t.TempDir()
	var wg sync.WaitGroup
	for _, command := range commands {
		wg.Go(func() {
			words := strings.NewReplacer("TABLE", "slidegate-test-missing", "OUT", filepath.Join(dir, "out.tsv"))
			started := time.Now()
			wantFailure(t, words.Replace(command), part)
			if took := time.Since(started); took > maxWait {
				t.Errorf("%s: took %v", command, took)
			}
		})
	}
	wg.Wait()
	wantEmpty(t, dir)
}

func TestMissingTable(t *testing.T) {
	dynamotest.Connect(t)
	wantRefusal(t, "table slidegate-test-missing: table does not exist in region us-east-1 at ", needsDynamoDB...)
}

// signedOut sets an environment without credentials, region and address of AWS.
func signedOut(t *testing.T) {
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_PROFILE", "AWS_REGION", "AWS_DEFAULT_REGION",
		"AWS_ENDPOINT_URL", "AWS_ENDPOINT_URL_DYNAMODB", "AWS_WEB_IDENTITY_TOKEN_FILE",
		"AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "AWS_CONTAINER_CREDENTIALS_FULL_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CONFIG_FILE", os.DevNull)
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", os.DevNull)
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
}

// signedIn sets an environment with fake credentials and an address.
func signedIn(t *testing.T, address string) {
	signedOut(t)
	t.Setenv("AWS_REGION", "us-east-1")
	t.Setenv("AWS_ACCESS_KEY_ID", "test")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "test")
	t.Setenv("AWS_ENDPOINT_URL", address)
}

func TestDynamoDBIsOutOfReach(t *testing.T) {
	gone, silent := outOfReach(t)
	for part, environment := range map[string]func(*testing.T){
		"no AWS region; set AWS_REGION": signedOut,
		"no AWS credentials; set AWS_PROFILE or AWS_ACCESS_KEY_ID": func(t *testing.T) {
			signedOut(t)
			t.Setenv("AWS_REGION", "us-east-1")
		},
		"DynamoDB cannot be reached":      func(t *testing.T) { signedIn(t, "http://"+gone) },
		"DynamoDB did not answer in time": func(t *testing.T) { signedIn(t, "http://"+silent) },
	} {
		t.Run(part, func(t *testing.T) {
			environment(t)
			wantRefusal(t, part, append(needsDynamoDB, "tables create --counters TABLE-c --rules TABLE-r")...)
		})
	}
}

// outOfReach returns an address at which nothing listens, and one that takes
// connections and never answers.
func outOfReach(t *testing.T) (gone, silent string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return freeAddress(t), l.Addr().String()
}

// counted is a counter that has one unit of 10:05:00.
var counted = `{"Attributes":{"k":{"S":"k"},"e":{"S":"life"},"ttl":{"N":"1"},"aC":{"N":"1"},"aH":{"N":"1431857100"},` +
	`"aF":{"N":"1"},"aN":{"N":"2"},"a` + strconv.FormatInt(1431857100, 36) + `":{"N":"1"}}}`

// A replay in which on_error decided is a failure, and says so.
func TestReplayWithAStoreThatFails(t *testing.T) {
	for _, tc := range []struct {
		requests          int
		from              int64 // the first write that fails
		degraded, problem string
	}{
		{3, 3, "1", "slidegate: 1 of 3 requests were decided by on_error, because the store failed; first: rule per-ip, key ip:203.0.113.9: on_error: local: "},
		{30, 2, "10", "slidegate: gave up: the store failed 10 times running; the store failed first with: rule per-ip, key ip:203.0.113.9: on_error: local: "},
	} {
		var writes atomic.Int64
		server := dynamotest.NewEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case !strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".UpdateItem"):
				dynamotest.Fail(http.StatusOK, "{}")(w, r)
			case writes.Add(1) >= tc.from:
				dynamotest.Fail(http.StatusBadRequest, throttled)(w, r)
			default:
				dynamotest.Fail(http.StatusOK, counted)(w, r)
			}
		})
		signedIn(t, server.URL)
		dir := t.TempDir()
		r := slidegate(t.Context(), "time,ip,method,path\n"+strings.Repeat("1431857100,203.0.113.9,GET,/\n", tc.requests),
			"replay - --format csv --rules testdata/rules.yaml --store dynamodb://counters --json --decisions "+filepath.Join(dir, "out.tsv"))
		if r.code != 1 || !strings.HasPrefix(r.stderr, tc.problem) || !strings.Contains(r.stderr, "DynamoDB throttles the table") || !strings.Contains(r.stdout, `"degraded": `+tc.degraded+`,`) {
			t.Errorf("exit %d, stderr %q, want %q…; printed %q, want %s degraded", r.code, r.stderr, tc.problem, r.stdout, tc.degraded)
		}
		wantEmpty(t, dir)
	}
}
