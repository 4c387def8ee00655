package cli

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/slidegate/slidegate/internal/dynamotest"
)

// Who has reset what is in the history of the rules, by the key that tables have.
func TestResetIsKept(t *testing.T) {
	client := dynamotest.Connect(t)
	table, _ := published(t, client, "testdata/business.yaml")
	counters := dynamotest.Counters(t, client)
	const at = " --rules dynamodb://TABLE"
	text := tableSession(t, table,
		"reset chat 'user:auth0|7' --who jo --why 'ticket 86' --store dynamodb://"+counters+at,
		"reset search partner:acme --who ann --json --store dynamodb://"+counters+at,
		"reset chat tenant:7 --who jo --store dynamodb://"+counters+at,
		"reset chat user:7 --who jo --rules testdata/business.yaml --store dynamodb://"+counters,
		"reset chat user:7 --why x --rules testdata/business.yaml --store dynamodb://"+counters,
		"rules history --limit 3"+at,
		"rules history --limit 2 --json"+at,
	)
	golden(t, "reset-kept", strings.ReplaceAll(text, counters, "COUNTERS"))
}

// A counter is reset first. If the history cannot be written, that is told.
func TestResetThatTheHistoryLacks(t *testing.T) {
	client := dynamotest.Connect(t)
	table, place := published(t, client, "testdata/business.yaml")
	counters := dynamotest.Counters(t, client)
	log := recent(t, `"path": "/v1/search", "method": "GET"`, 3)
	mustRun(t, "replay", log, "--rules", place, "--store", "dynamodb://"+counters)
	l := tap(t)
	l.proxy = refusing{l.proxy, "TransactWriteItems"}
	const at = " --rules dynamodb://TABLE --store dynamodb://"
	text := tableSession(t, table,
		"inspect partner:-"+at+counters,
		"reset search partner:- --who jo"+at+counters,
		"inspect partner:-"+at+counters,
		"rules history --limit 1 --rules dynamodb://TABLE",
	)
	text = strings.ReplaceAll(text, counters, "COUNTERS")
	golden(t, "reset-unkept", gaps.ReplaceAllString(waits.ReplaceAllString(text, "60s"), "  "))
}

// refusing lets nobody do one operation.
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
