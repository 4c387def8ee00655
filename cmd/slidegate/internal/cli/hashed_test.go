package cli

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Commands take the keys of a rule that hashes them as people write them, and the
// tables contain none of these.
func TestHashedKeys(t *testing.T) {
	t.Setenv("KEY_SECRET", "correct horse battery staple")
	table := newTable(t, "testdata/hashed.yaml")
	table.transcript(t, "hashed")
	t.Setenv("KEY_SECRET", "another secret, of another stage")
	table.transcript(t, "hashed-other-secret")
	os.Unsetenv("KEY_SECRET")
	table.transcript(t, "hashed-no-secret")
	for _, name := range []string{table.name, table.counters} {
		page, err := table.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &name})
		if err != nil || len(page.Items) == 0 {
			t.Fatalf("%d items of %s, error %v", len(page.Items), name, err)
		}
		for _, item := range page.Items {
			if text := fmt.Sprintf("%q", itemTexts(item)); strings.Contains(text, "@example") || strings.Contains(text, "acme") {
				t.Errorf("table %s contains %s", name, text)
			}
		}
	}
}

func itemTexts(item map[string]types.AttributeValue) (texts []string) {
	for name, value := range item {
		if s, ok := value.(*types.AttributeValueMemberS); ok {
			texts = append(texts, name+"="+s.Value)
		}
	}
	return texts
}

// A counter is reset first. If the history cannot be written, reset says so.
func TestResetThatTheHistoryLacks(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	table.names(t)
	mustRun(t, "replay "+recent(t, `"path": "/v1/search", "method": "GET"`, 3)+" --store dynamodb://"+table.counters+table.at+" --missing group")
	l := tap(t)
	l.proxy = refusing{l.proxy, "TransactWriteItems"}
	table.transcriptOfWaits(t, "reset-unkept")
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
