package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// Commands take the keys of a rule that hashes them as people write them, and the
// tables contain none of these.
func TestHashedKeys(t *testing.T) {
	t.Setenv("KEY_SECRET", "correct horse battery staple")
	table := newTable(t, "testdata/hashed.yaml")
	counters := dynamotest.Counters(t, table.client)
	table.transcript(t, "hashed", "COUNTERS", counters)
	t.Setenv("KEY_SECRET", "another secret, of another stage")
	table.transcript(t, "hashed-other-secret", "COUNTERS", counters)
	os.Unsetenv("KEY_SECRET")
	table.transcript(t, "hashed-no-secret", "COUNTERS", counters)
	for _, name := range []string{table.name, counters} {
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

// Inspect and reset say which override they cannot look up, because its key needs
// more than the counter's key.
func TestUnknownOverride(t *testing.T) {
	table := newTable(t, "testdata/finer.yaml")
	table.transcript(t, "unknown-override", "COUNTERS", dynamotest.Counters(t, table.client))
}
