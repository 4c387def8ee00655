//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// answer is one response through API Gateway. It has an echo if the backend
// answered.
type answer struct {
	status int
	header http.Header
	echo   struct {
		Method, Path string
		Authorizer   map[string]any
	}
}

func (d *deployment) request(t *testing.T, method, path, user string) answer {
	t.Helper()
	return send(t, method, d.url+path, user)
}

// send sends a request with the user as its token.
func send(t *testing.T, method, url, user string) answer {
	t.Helper()
	return sendWith(t, method, url, field{"Authorization", user})
}

// field is a header of a request with credentials.
type field struct{ name, value string }

func sendWith(t *testing.T, method, url string, c field) answer {
	t.Helper()
	got, err := ask(t.Context(), method, url, c)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// ask is sendWith for other goroutines than the test's.
func ask(ctx context.Context, method, url string, c field) (got answer, err error) {
	request, err := http.NewRequestWithContext(ctx, method, url, nil)
	if err != nil {
		return got, err
	}
	request.Header.Set(c.name, c.value)
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		return got, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	got.status, got.header = response.StatusCode, response.Header
	if err == nil && got.status == http.StatusOK {
		if err = json.Unmarshal(body, &got.echo); err != nil {
			err = fmt.Errorf("%s %s: the backend's answer %q: %w", method, url, body, err)
		}
	}
	return got, err
}

// counter is an item of the counters table with one limit.
type counter struct {
	charged int64 // aC: units ever charged
	inSlots int64 // of these, in slots that the item still holds
	ttl     int64 // Unix seconds
}

// counter returns the only item whose key starts with prefix, or nil.
func (d *deployment) counter(t *testing.T, prefix string) *counter {
	t.Helper()
	page, err := d.db.Scan(t.Context(), &dynamodb.ScanInput{
		TableName:                 &d.counters,
		ConsistentRead:            aws.Bool(true),
		FilterExpression:          aws.String("begins_with(k, :prefix)"),
		ExpressionAttributeValues: map[string]types.AttributeValue{":prefix": &types.AttributeValueMemberS{Value: prefix}},
	})
	if err != nil {
		t.Fatal(err)
	}
	switch len(page.Items) {
	case 0:
		return nil
	case 1:
		return decodeCounter(t, page.Items[0])
	}
	t.Fatalf("%d counters start with %s, want 1", len(page.Items), prefix)
	return nil
}

// decodeCounter reads the attributes of limit a: aC aH aF aN, and its slots,
// which are a and a number in base 36.
func decodeCounter(t *testing.T, item map[string]types.AttributeValue) *counter {
	t.Helper()
	c := counter{charged: number(t, item, "aC"), ttl: number(t, item, "ttl")}
	highest := number(t, item, "aH")
	for name := range item {
		digits, found := strings.CutPrefix(name, "a")
		if !found || strings.ToLower(name) != name {
			continue
		}
		slot, err := strconv.ParseInt(digits, 36, 64)
		if err != nil || slot > highest {
			t.Errorf("attribute %s is no slot up to aH %d (%v)", name, highest, err)
		}
		c.inSlots += number(t, item, name)
	}
	return &c
}

func number(t *testing.T, item map[string]types.AttributeValue, name string) int64 {
	t.Helper()
	value, ok := item[name].(*types.AttributeValueMemberN)
	if !ok {
		t.Fatalf("attribute %s is %T, want a number; the item: %v", name, item[name], item)
	}
	n, err := strconv.ParseInt(value.Value, 10, 64)
	if err != nil {
		t.Fatalf("attribute %s: %v", name, err)
	}
	return n
}
