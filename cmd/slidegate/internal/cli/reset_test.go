package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// The history of the rules records who reset what, by the key that tables have.
func TestResetIsKept(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	table.transcript(t, "reset-kept", "COUNTERS", dynamotest.Counters(t, table.client))
}

// A counter is reset first. If the history cannot be written, reset says so.
func TestResetThatTheHistoryLacks(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	counters := dynamotest.Counters(t, table.client)
	mustRun(t, "replay "+recent(t, `"path": "/v1/search", "method": "GET"`, 3)+" --store dynamodb://"+counters+table.at+" --missing group")
	l := tap(t)
	l.proxy = refusing{l.proxy, "TransactWriteItems"}
	table.scrub = scrubMoments
	table.transcript(t, "reset-unkept", "COUNTERS", counters)
}

// refusing refuses one operation.
type refusing struct {
	http.Handler
	operation string
}

func (f refusing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.Header.Get("X-Amz-Target"), "."+f.operation) {
		f.Handler.ServeHTTP(w, r)
		return
	}
	w.WriteHeader(http.StatusBadRequest)
	_, _ = io.WriteString(w, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"not authorized"}`)
}
