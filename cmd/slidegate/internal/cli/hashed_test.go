package cli

import (
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
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
		if text := contents(t, table.client, name); text == "" || strings.Contains(text, "@example") || strings.Contains(text, "acme") {
			t.Errorf("table %s contains %s", name, text)
		}
	}
}

// contents returns all texts of a table, with the names of their attributes.
func contents(t *testing.T, client *dynamo.Client, table string) (text string) {
	t.Helper()
	page, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
	if err != nil {
		t.Fatal(err)
	}
	for _, item := range page.Items {
		for name, value := range item {
			if s, ok := value.(*types.AttributeValueMemberS); ok {
				text += fmt.Sprintf("%q\n", name+"="+s.Value)
			}
		}
	}
	return text
}

// A counter is reset first. If the history cannot be written, reset says so.
func TestResetThatTheHistoryLacks(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	table.names(t)
	mustRun(t, "replay "+recent(t, `"path": "/v1/search", "method": "GET"`, 3)+" --store dynamodb://"+table.counters+table.at+" --missing group")
	between(t, func(w http.ResponseWriter, operation string, _ []byte) bool {
		refuses := operation == "TransactWriteItems"
		if refuses {
			dynamotest.Fail(http.StatusBadRequest, dynamotest.Error("AccessDeniedException", `"message":"not authorized"`))(w, nil)
		}
		return refuses
	})
	table.transcriptOfWaits(t, "reset-unkept")
}
