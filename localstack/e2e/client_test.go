//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
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

// httpAPI uses up a limit. The backend gets the context of payload version 2.0,
// and answers the denial that the authorizer passes on.
func (d *deployment) httpAPI(t *testing.T, user string) {
	for i := range 3 {
		got := send(t, http.MethodGet, d.http+"/v1/items/1", user)
		if got.status != http.StatusOK {
			t.Fatalf("request %d is answered %d, want 200", i, got.status)
		}
		context, _ := got.echo.Authorizer["lambda"].(map[string]any)
		if context["allowed"] != "true" || context["rule"] != "per-user" || context["remaining"] != fmt.Sprint(2-i) {
			t.Errorf("request %d has the context %v", i, got.echo.Authorizer)
		}
	}
	got := send(t, http.MethodGet, d.http+"/v1/items/2", user)
	if got.status != http.StatusPaymentRequired || got.header.Get("Content-Type") != "application/problem+json" || got.header.Get("Retry-After") == "" {
		t.Errorf("the request over the limit is answered %d, with %v; want 402, as the rule says", got.status, got.header)
	}
	d.counted(t, user, 3)
}

// settles sends requests of at most 40 units to a backend that settles and
// refunds, until 100 are used up.
func (d *deployment) settles(t *testing.T, api, user string) {
	for i, step := range []struct {
		query        string
		status, used int
	}{
		{"limit=chat&cost=5", 200, 5},
		{"status=503", 503, 5}, // refunded
		{"", 200, 45},
		{"limit=chat&cost=60", 200, 105}, // more than the request paid, and than is left
		{"limit=chat&cost=1", 429, 105},
	} {
		if got := send(t, http.MethodGet, api+"/chat?"+step.query, user); got.status != step.status {
			t.Fatalf("request %d is answered %d, want %d", i, got.status, step.status)
		}
		if c := d.counter(t, "chat|user:"+user+"|"); c == nil || c.inSlots != int64(step.used) {
			t.Fatalf("after request %d the counter is %+v, want %d units", i, c, step.used)
		}
	}
}

// tokenAPI uses up a limit. The event has no route, so the key ends in the
// pattern that the path matches.
func (d *deployment) tokenAPI(t *testing.T, user string) {
	for i, want := range []int{200, 200, 200, 429} {
		got := send(t, http.MethodGet, fmt.Sprint(d.token, "/v1/items/", i), user)
		if got.status != want {
			t.Fatalf("request %d is answered %d, want %d", i, got.status, want)
		}
		if want == 200 && got.echo.Authorizer["rule"] != "per-user" {
			t.Errorf("request %d has the context %v", i, got.echo.Authorizer)
		}
	}
	if got := send(t, http.MethodGet, d.token+"/v1/items/1", ""); got.status != http.StatusUnauthorized {
		t.Errorf("without a token the gateway answers %d, want 401", got.status)
	}
	d.counted(t, user, 3)
}

// specAPI uses up a limit. AWS answers the denial by the definition's gateway
// response, which MiniStack does not read.
func (d *deployment) specAPI(t *testing.T, user string) {
	for i, want := range [][]int{{200}, {200}, {200}, {429, 403}} {
		if got := send(t, http.MethodGet, d.spec+"/v1/items/1", user); !slices.Contains(want, got.status) {
			t.Fatalf("request %d is answered %d, want one of %d", i, got.status, want)
		}
	}
	d.counted(t, user, 3)
}

// webSocketAPI connects until a limit is used up.
func (d *deployment) webSocketAPI(t *testing.T, user string) {
	for i, want := range []int{101, 101, 403} {
		if got := d.connect(t, field{"Authorization", user}); got != want {
			t.Fatalf("handshake %d is answered %d, want %d", i, got, want)
		}
	}
}

// connect returns the status of a WebSocket handshake, and hangs up.
func (d *deployment) connect(t *testing.T, c field) (status int) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, d.socket, nil)
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]string{
		c.name: c.value, "Connection": "Upgrade", "Upgrade": "websocket",
		"Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
	} {
		request.Header.Set(name, value)
	}
	client := http.Client{Timeout: 30 * time.Second}
	response, err := client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	response.Body.Close()
	return response.StatusCode
}
