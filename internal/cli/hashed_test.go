package cli

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamotest"
)

// TestHashedKeys gives the keys of a rule that hashes them as people do, and finds none of them in the tables.
func TestHashedKeys(t *testing.T) {
	t.Setenv("KEY_SECRET", "correct horse battery staple")
	client := dynamotest.Connect(t)
	rules, _ := published(t, client, "testdata/hashed.yaml")
	counters := dynamotest.Counters(t, client)
	const note = " --rules dynamodb://TABLE --who jo --why 'ticket 7'"
	at := " --rules dynamodb://TABLE --store dynamodb://" + counters
	text := tableSession(t, rules,
		"rules validate testdata/hashed.yaml",
		"overrides set by-mail mail:ann@example.com --capacity 20000"+note,
		"overrides set by-tenant tenant:acme --capacity 30000"+note,
		"overrides set plan mail:eve@example.com --deny"+note,
		"grant by-mail mail:ann@example.com +500 --for 1h"+note,
		"overrides list by-mail --rules dynamodb://TABLE",
		"explain GET / --claim email=ann@example.com --claim tenant=acme"+at,
		"replay testdata/hashed.jsonl --decisions -"+at,
		"inspect mail:ann@example.com"+at,
		"inspect 'tenant:acme|mail:ann@example.com'"+at,
		"inspect mail:bob@example.com"+at,
		"inspect %hmac-52d36beae3c097e2a3b4972d524e68b7 --rule by-tenant"+at,
		"inspect %hmac-52d36beae3c097e2a3b4972d524e68b7 --rule by-tenant --claim tenant=acme"+at,
		"inspect mail:eve@example.com --claim email=eve@example.com"+at,
		"inspect %hmac-9d3e7a"+at,
		"reset by-mail mail:ann@example.com"+at,
	)
	t.Setenv("KEY_SECRET", "another secret, of another stage")
	text += tableSession(t, rules,
		"rules validate testdata/hashed.yaml",
		"inspect mail:ann@example.com"+at,
		"overrides set by-mail mail:ann@example.com --capacity 1"+note,
		"replay testdata/hashed.jsonl"+at,
		"rules diff testdata/hashed.yaml --against testdata/hashed.jsonl --rules dynamodb://TABLE",
		"serve"+at,
	)
	os.Unsetenv("KEY_SECRET")
	text += tableSession(t, rules,
		"rules validate testdata/hashed.yaml",
		"inspect mail:ann@example.com"+at,
		"inspect %hmac-9d3e7a78a46f7b7b5e2a1e0d8a1d8f57"+at,
		"explain GET / --claim email=ann@example.com"+at,
		"replay testdata/hashed.jsonl --rules testdata/hashed.yaml",
		"serve"+at,
	)
	golden(t, "hashed", strings.ReplaceAll(text, counters, "COUNTERS"))
	for _, table := range []string{rules, counters} {
		page, err := client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table})
		if err != nil || len(page.Items) == 0 {
			t.Fatalf("%d items of %s, error %v", len(page.Items), table, err)
		}
		for _, item := range page.Items {
			if text := fmt.Sprintf("%q", spelled(item)); strings.Contains(text, "@example") || strings.Contains(text, "acme") {
				t.Errorf("table %s holds %s", table, text)
			}
		}
	}
}

// spelled returns the texts of an item.
func spelled(item map[string]types.AttributeValue) (texts []string) {
	for name, value := range item {
		if s, ok := value.(*types.AttributeValueMemberS); ok {
			texts = append(texts, name+"="+s.Value)
		}
	}
	return texts
}

// TestUnknownOverride looks for counters of keys whose overrides have keys of another kind: what is not known is said.
func TestUnknownOverride(t *testing.T) {
	client := dynamotest.Connect(t)
	rules, _ := published(t, client, "testdata/finer.yaml")
	counters := dynamotest.Counters(t, client)
	const note = " --rules dynamodb://TABLE --who jo --why 'ticket 7'"
	at := " --rules dynamodb://TABLE --store dynamodb://" + counters
	text := tableSession(t, rules,
		"overrides set tenant 'tenant:acme|user:7' --limits '[{\"capacity\": 5, \"window\": \"10s\"}]'"+note,
		"overrides set plan user:666 --deny"+note,
		"overrides set plan user:- --deny"+note,
		"inspect tenant:acme"+at,
		"inspect tenant:acme --claim plan=pro"+at,
		"inspect tenant:acme --json"+at,
		"inspect tenant:acme --claim sub=7"+at,
		"inspect tenant:acme --claim sub=666"+at,
		"inspect tenant:acme --claim sub=666 --json"+at,
		"reset tenant tenant:acme"+at,
		"reset tenant tenant:acme --claim sub=7 --json"+at,
		"inspect all"+at,
		"reset all all"+at,
	)
	golden(t, "unknown-override", strings.ReplaceAll(text, counters, "COUNTERS"))
}
