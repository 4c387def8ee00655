package dynamo_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

func TestTranslate(t *testing.T) {
	for code, want := range map[string]error{
		"ResourceNotFoundException":              dynamo.ErrNoTable,
		"ProvisionedThroughputExceededException": dynamo.ErrThrottled,
		"ThrottlingException":                    dynamo.ErrThrottled,
		"AccessDeniedException":                  dynamo.ErrNotPermitted,
		"ExpiredTokenException":                  dynamo.ErrExpired,
	} {
		cause := &smithy.GenericAPIError{Code: code, Message: "AWS's own message"}
		got := dynamo.Translate(cause, "counters")
		if !errors.Is(got, want) || !errors.Is(got, cause) || !strings.HasPrefix(got.Error(), "table counters: ") {
			t.Errorf("%s: %v", code, got)
		}
	}
	for name, cause := range map[string]error{
		"a deadline": context.DeadlineExceeded, "a network's": &net.DNSError{IsTimeout: true},
	} {
		if got := dynamo.Translate(cause, "t"); !errors.Is(got, dynamo.ErrTimeout) || !errors.Is(got, cause) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for text, want := range map[string]error{
		"get identity: get credentials: none": dynamo.ErrNoCredentials,
		"get identity: get credentials: failed to refresh cached credentials, the SSO session has expired or is invalid": dynamo.ErrExpired,
		"failed to resolve service endpoint, endpoint rule error, Invalid Configuration: Missing Region":                 dynamo.ErrNoRegion,
		"something else": nil,
	} {
		unsent := &smithy.OperationError{Err: errors.New(text)}
		got := dynamo.Translate(unsent, "t")
		if !errors.Is(got, unsent) || want != nil && !errors.Is(got, want) || want == nil && strings.Contains(got.Error(), "no AWS") {
			t.Errorf("%s: %v, want %v", text, got, want)
		}
	}
	for cause, want := range map[error]error{context.DeadlineExceeded: dynamo.ErrCredentialsTimeout, context.Canceled: context.Canceled} {
		unsent := &smithy.OperationError{Err: fmt.Errorf("get identity: %w", cause)}
		if got := dynamo.Translate(unsent, "t"); !errors.Is(got, want) || errors.Is(got, dynamo.ErrNoCredentials) {
			t.Errorf("no credentials because of %v: %v, want %v", cause, got, want)
		}
	}
	gone := &smithyhttp.RequestSendError{Err: context.Canceled}
	if got := dynamo.Translate(gone, "t"); !errors.Is(got, context.Canceled) || errors.Is(got, dynamo.ErrUnreachable) {
		t.Errorf("a canceled call: %v", got)
	}
	unknown := &smithy.GenericAPIError{Code: "SomethingNewException"}
	if got := dynamo.Translate(unknown, "t"); !errors.Is(got, unknown) || strings.Contains(got.Error(), "%!") {
		t.Errorf("an unknown error: %v", got)
	}
	if dynamo.Translate(nil, "t") != nil {
		t.Error("nil becomes an error")
	}
}

func TestNoTable(t *testing.T) {
	store := dynamo.New(dynamotest.Connect(t), "no-such-table", dynamo.Options{Wall: time.Now})
	c := &limit.Charge{Key: "k", Limits: []limit.Limit{{Capacity: 1, Window: time.Minute, Granularity: time.Second}}, Costs: []int64{1}}
	var v limit.Verdict
	for name, err := range map[string]error{
		"charge": store.Charge(context.Background(), epoch, c, &v),
		"peek":   store.Peek(context.Background(), epoch, c, &v),
		"reset":  store.Reset(context.Background(), "k"),
	} {
		if !errors.Is(err, dynamo.ErrNoTable) {
			t.Errorf("%s: %v, want ErrNoTable", name, err)
		}
	}
}

// TestAdvice: an answer's region, endpoint and clock say what to do.
func TestAdvice(t *testing.T) {
	for _, test := range []struct {
		code string
		date time.Duration // of the answer, before the machine's time
		want error
		text string
	}{
		{"ResourceNotFoundException", 0, dynamo.ErrNoTable, "table counters: table does not exist in region eu-north-1 at 127.0.0.1:"},
		{"ResourceNotFoundException", 0, dynamo.ErrNoTable, "; check AWS_REGION, AWS_PROFILE and AWS_ENDPOINT_URL first: only if the table belongs there, make it by `slidegate tables create`"},
		{"InvalidSignatureException", 12 * time.Minute, dynamo.ErrClock, "clock is wrong: it is 12 minutes ahead; set it"},
		{"InvalidSignatureException", -90 * time.Minute, dynamo.ErrClock, "clock is wrong: it is 90 minutes behind; set it"},
		{"InvalidSignatureException", time.Minute, dynamo.ErrNotPermitted, "check the role's policy and the credentials"},
		{"ExpiredTokenException", 12 * time.Minute, dynamo.ErrExpired, "table counters: the AWS credentials have expired; "},
	} {
		endpoint := dynamotest.NewEndpoint(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Date", time.Now().Add(-test.date).UTC().Format(http.TimeFormat))
			dynamotest.Fail(400, dynamotest.Error(test.code, ""))(w, r)
		})
		err := dynamo.New(endpoint.Client(), "counters", dynamo.Options{Wall: time.Now}).Reset(t.Context(), "k")
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %q", test.code, err, test.text)
		}
	}
}

// closedPort returns an address at which nothing listens.
func closedPort(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func TestUnreachable(t *testing.T) {
	t.Setenv("AWS_ENDPOINT_URL_DYNAMODB", "http://"+closedPort(t))
	client := dynamotest.Connect(t)
	err := dynamo.New(client, "counters", dynamo.Options{Wall: time.Now}).Reset(context.Background(), "k")
	if !errors.Is(err, dynamo.ErrUnreachable) {
		t.Errorf("error %v, want ErrUnreachable", err)
	}
}

// TestDateReachesTheClock makes a real call, whose answer confirms a correct
// clock.
func TestDateReachesTheClock(t *testing.T) {
	client := dynamotest.Connect(t)
	store := dynamo.New(client, "no-such-table", dynamo.Options{Wall: time.Now})
	if client.Clock.Confirmed() {
		t.Fatal("confirmed before any answer")
	}
	_ = store.Reset(context.Background(), "k") // fails: failures carry a Date too
	if !client.Clock.Confirmed() {
		t.Error("not confirmed by an answer's Date")
	}
}

// one returns a limit of an algorithm: three units in four seconds.
func one(algorithm limit.Algorithm) limit.Limit {
	l := limit.Limit{Algorithm: algorithm, Capacity: 3, Window: 4 * time.Second}
	switch algorithm {
	case limit.SlidingWindow:
		l.Granularity = time.Second
	case limit.FixedWindow, limit.SlidingWindowCounter:
		l.Granularity = l.Window
	case limit.SlidingWindowLog:
		l.Granularity = limit.Exact
	default:
		l.Burst = 3
	}
	return l
}

// planted lists the attributes that a foreign item may have: valid names, with
// any value.
var planted = []string{"e", "ttl", "aC", "aH", "aF", "aN", "aT", "aL", "as44wfc", "as44wf8", "a71183u", "a71183t", "a+1", "aNote"}

// foreign builds an item from three bytes for each attribute: its name, its
// type and its value.
func foreign(recipe []byte) map[string]types.AttributeValue {
	item := map[string]types.AttributeValue{"k": &types.AttributeValueMemberS{Value: key}}
	numbers := []string{"0", "1", "-1", "3", "1000", "9223372036854775807", "-9223372036854775808", "1.5", "1e30",
		"1700000040", "425000010", "1700000040000000000", "1700000043000000000"}
	for ; len(recipe) >= 3; recipe = recipe[3:] {
		name, kind, value := planted[int(recipe[0])%len(planted)], recipe[1]%4, int(recipe[2])
		switch kind {
		case 0:
			item[name] = &types.AttributeValueMemberS{Value: numbers[value%len(numbers)]}
		case 1:
			item[name] = &types.AttributeValueMemberB{Value: recipe[1:3]}
		default:
			item[name] = &types.AttributeValueMemberN{Value: numbers[value%len(numbers)]}
		}
	}
	return item
}

// FuzzForeignItem charges an item that another program wrote or changed. Each
// answer must be an error or a decision, and no more may be admitted than by a
// new counter.
func FuzzForeignItem(f *testing.F) {
	f.Add(uint8(limit.SlidingWindow), []byte{0, 0, 1, 2, 2, 1, 3, 2, 9, 4, 2, 4, 5, 2, 3, 8, 2, 1}) // a huge credit
	f.Add(uint8(limit.SlidingWindow), []byte{0, 0, 1, 2, 2, 3})
	f.Add(uint8(limit.FixedWindow), []byte{4, 2, 4, 5, 2, 3, 0, 0, 0})
	f.Add(uint8(limit.SlidingWindowCounter), []byte{4, 2, 4, 5, 2, 3, 3, 2, 0, 0, 0, 0})
	f.Add(uint8(limit.SlidingWindowLog), []byte{7, 1, 2, 2, 2, 1, 0, 0, 0})
	f.Add(uint8(limit.TokenBucket), []byte{6, 2, 6, 0, 0, 0})
	f.Add(uint8(limit.LeakyBucket), []byte{6, 0, 6})
	f.Fuzz(func(t *testing.T, algorithm uint8, recipe []byte) {
		l := one(limit.Algorithm(algorithm % 6))
		table := dynamomodel.New("counters", "k")
		if err := table.Put(key, foreign(recipe)); err != nil {
			t.Skip("no item that DynamoDB could hold: ", err)
		}
		admitted := [2]int64{} // in the first two seconds of a window, and in the first two of the next
		stores := []*dynamo.Store{}
		for range 2 {
			stores = append(stores, dynamo.New(table, "counters", dynamo.Options{Wall: func() time.Time { return epoch }}))
		}
		for i := range 24 {
			window := i / 12
			now := epoch.Add(time.Duration(window)*5*time.Second + time.Duration(i%3)*time.Second)
			var v limit.Verdict
			c := &limit.Charge{Key: key, Limits: []limit.Limit{l}, Costs: []int64{1}}
			charge := func() error { return stores[i%2].Charge(context.Background(), now, c, &v) }
			if i%5 > 2 {
				charge = func() error {
					return stores[i%2].ChargeAll(context.Background(), now, []*limit.Charge{c}, []*limit.Verdict{&v})
				}
			}
			err := charge()
			if err == nil && v.Allowed {
				admitted[window]++
			}
			if err != nil && !errors.Is(err, dynamo.ErrForeign) && !errors.Is(err, dynamo.ErrContended) && !refusedByEngine(err) {
				t.Fatalf("%s: %v", l.Algorithm, err)
			}
		}
		most := l.Capacity
		if l.Bucket() {
			most = l.Burst + 2 // two seconds refill one unit and a half
		}
		for window, n := range admitted {
			if n > most {
				t.Fatalf("%s: %d units admitted in window %d of the item %v", l.Algorithm, n, window, foreign(recipe))
			}
		}
	})
}

// refusedByEngine reports whether the engine itself refused the attributes'
// values, as DynamoDB refuses arithmetic on text.
func refusedByEngine(err error) bool {
	var api interface{ ErrorCode() string }
	return errors.As(err, &api) && api.ErrorCode() == "ValidationException"
}
