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

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/limit"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamomodel"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// TestTranslate is a table of the SDK's errors. What becomes of one is still itself.
func TestTranslate(t *testing.T) {
	code := func(code string) error { return &smithy.GenericAPIError{Code: code, Message: "AWS's own message"} }
	canceled := func(code string) error { // for one reason among others
		reasons := []types.CancellationReason{{Code: aws.String("None")}, {}, {Code: aws.String(code)}}
		return &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	unsent := func(err error) error { return &smithy.OperationError{Err: err} }
	const expired = "failed to refresh cached credentials, the SSO session has expired or is invalid"
	hot := []types.ThrottlingReason{{}, {Reason: aws.String("TableWriteKeyRangeThroughputExceeded")}}
	busy := []types.ThrottlingReason{{Reason: aws.String("TableWriteMaxOnDemandThroughputExceeded")}}
	for _, test := range []struct{ cause, want, not error }{
		{code("ResourceNotFoundException"), dynamo.ErrNoTable, nil},
		{code("ProvisionedThroughputExceededException"), dynamo.ErrThrottled, nil},
		{code("ThrottlingException"), dynamo.ErrThrottled, nil},
		{code("AccessDeniedException"), dynamo.ErrNotPermitted, nil},
		{code("ExpiredTokenException"), dynamo.ErrExpired, nil},
		{code("SomethingNewException"), nil, nil},
		{canceled("ThrottlingError"), dynamo.ErrThrottled, nil},
		{canceled("ValidationError"), dynamo.ErrForeign, nil},
		{canceled("AccessDeniedException"), dynamo.ErrNotPermitted, nil},
		{&types.ThrottlingException{ThrottlingReasons: hot}, dynamo.ErrHotKey, nil},
		{&types.ProvisionedThroughputExceededException{ThrottlingReasons: hot}, dynamo.ErrHotKey, nil},
		{&types.ThrottlingException{ThrottlingReasons: busy}, dynamo.ErrThrottled, dynamo.ErrHotKey},
		{&types.ProvisionedThroughputExceededException{}, dynamo.ErrThrottled, dynamo.ErrHotKey},
		{context.DeadlineExceeded, dynamo.ErrTimeout, nil},
		{&net.DNSError{IsTimeout: true}, dynamo.ErrTimeout, nil},
		{unsent(errors.New("get identity: get credentials: none")), dynamo.ErrNoCredentials, nil},
		{unsent(errors.New("get identity: get credentials: " + expired)), dynamo.ErrExpired, nil},
		{unsent(errors.New("failed to resolve service endpoint, Invalid Configuration: Missing Region")), dynamo.ErrNoRegion, nil},
		{unsent(errors.New("something else")), nil, dynamo.ErrNoCredentials},
		{unsent(fmt.Errorf("get identity: %w", context.DeadlineExceeded)), dynamo.ErrCredentialsTimeout, dynamo.ErrNoCredentials},
		{unsent(fmt.Errorf("get identity: %w", context.Canceled)), context.Canceled, dynamo.ErrNoCredentials},
		{&smithyhttp.RequestSendError{Err: context.Canceled}, context.Canceled, dynamo.ErrUnreachable},
	} {
		got := dynamo.Translate(test.cause, "counters")
		if !errors.Is(got, test.cause) || test.want != nil && !errors.Is(got, test.want) || test.not != nil && errors.Is(got, test.not) {
			t.Errorf("%v: %v, want %v", test.cause, got, test.want)
		}
		if text := got.Error(); !strings.HasPrefix(text, "table counters: ") || strings.Contains(text, "%!") {
			t.Errorf("%v: %s", test.cause, text)
		}
	}
	if dynamo.Translate(nil, "t") != nil {
		t.Error("nil becomes an error")
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
		client := endpoint.Client()
		err := dynamo.New(client, "counters", dynamo.Options{Wall: time.Now}).Reset(t.Context(), "k")
		if !errors.Is(err, test.want) || !strings.Contains(err.Error(), test.text) {
			t.Errorf("%s: %v, want %q", test.code, err, test.text)
		}
		if client.Clock.Confirmed() != (test.date == 0) { // failures carry a Date too
			t.Errorf("%s: by an answer %v old the clock is confirmed: %v", test.code, test.date, client.Clock.Confirmed())
		}
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
