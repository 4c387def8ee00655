package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"sync"
	"testing"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// lookups counts the lookups of overrides by rule and key, and can fail those of
// one key.
type lookups struct {
	down string // the rule and the key that fail

	mu    sync.Mutex
	found map[string]int
	calls map[string]int // by operation
}

// between stands between DynamoDB and the commands of a test.
func between(t *testing.T, see func(w http.ResponseWriter, operation string, body []byte) (answered bool)) {
	t.Helper()
	dynamotest.Connect(t)
	if address := os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"); address != "" {
		t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "")
		t.Setenv("AWS_ENDPOINT_URL", address)
	}
	dynamotest.Between(t, func(w http.ResponseWriter, r *http.Request, body []byte) bool {
		_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
		return see(w, operation, body)
	})
}

// tap counts the lookups of the commands of a test.
func tap(t *testing.T) *lookups {
	t.Helper()
	l := &lookups{found: map[string]int{}, calls: map[string]int{}}
	between(t, func(w http.ResponseWriter, operation string, body []byte) bool {
		fails := l.count(operation, body)
		if fails {
			dynamotest.Fail(http.StatusBadRequest, throttled)(w, nil)
		}
		return fails
	})
	return l
}

var throttled = dynamotest.Error("ProvisionedThroughputExceededException", "")

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
