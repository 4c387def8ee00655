package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// lookups is a proxy of DynamoDB. It counts the lookups of overrides by rule and
// key, and can fail those of one key.
type lookups struct {
	proxy http.Handler
	down  string // the rule and the key that fail

	mu    sync.Mutex
	found map[string]int
	calls map[string]int // by operation
}

// tap sends the commands of a test through a lookups.
func tap(t *testing.T) *lookups {
	t.Helper()
	dynamotest.Connect(t)
	address := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB")
	if address == "" {
		address = os.Getenv("AWS_ENDPOINT_URL")
	}
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	l := &lookups{proxy: httputil.NewSingleHostReverseProxy(to), found: map[string]int{}, calls: map[string]int{}}
	server := httptest.NewServer(l)
	t.Cleanup(server.Close)
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", server.URL)
	return l
}

func (l *lookups) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	r.Body = io.NopCloser(bytes.NewReader(body))
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	if l.count(operation, body) {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type":"com.amazonaws.dynamodb.v20120810#ProvisionedThroughputExceededException"}`)
		return
	}
	l.proxy.ServeHTTP(w, r)
}

func (l *lookups) count(operation string, body []byte) (fails bool) {
	var item struct {
		Key struct{ P, S struct{ S string } }
	}
	_ = json.Unmarshal(body, &item)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls[operation]++
	rule, ok := strings.CutPrefix(item.Key.P.S, "override#")
	name := rule + " " + item.Key.S.S
	if operation != "GetItem" || !ok {
		return false
	}
	l.found[name]++
	return name == l.down
}

// want checks that this number of keys were looked up, each once.
func (l *lookups) want(t *testing.T, keys int) {
	t.Helper()
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.found) != keys {
		t.Errorf("%d keys were looked up, want %d", len(l.found), keys)
	}
	for name, n := range l.found {
		if n != 1 {
			t.Errorf("%s was looked up %d times", name, n)
		}
	}
	if n := l.calls["Scan"]; n > 0 {
		t.Errorf("a table was scanned %d times", n)
	}
}
