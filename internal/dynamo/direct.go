package dynamo

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/smithy-go/metrics"
	"github.com/aws/smithy-go/tracing"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/slidegate/slidegate/internal/dynamo/itemjson"
)

// direct makes UpdateItem calls without the SDK's middleware, which takes most
// of the time that a call costs this process.
//
// The SDK makes the first call under each set of credentials, and so decides the
// address and the header fields; direct copies them. It only writes the body,
// signs by the SDK's signer, and reads an answer that is a plain success. Every
// other outcome goes through the SDK, which makes its errors of it.
type direct struct {
	sdk     *dynamodb.Client
	options dynamodb.Options
	clock   *Clock
	model   atomic.Pointer[model]
}

// model is a request of the SDK that was answered.
type model struct {
	accessKey       string // of its credentials
	region, service string // that it was signed for
	url             *url.URL
	host            string
	header          http.Header
}

// newDirect returns nil for options that direct does not follow: those that
// change or observe the SDK's middleware, or choose the address of each call.
func newDirect(o dynamodb.Options, clock *Clock) *direct {
	_, untraced := o.TracerProvider.(*tracing.NopTracerProvider)
	_, unmeasured := o.MeterProvider.(metrics.NopMeterProvider)
	if !untraced || !unmeasured || len(o.APIOptions) > 0 || intercepted(o.Interceptors) || resolved(o) || o.ClientLogMode != 0 ||
		o.EnableAcceptEncodingGzip || o.DisableClockSkewCorrection || o.HTTPSignerV4 == nil || o.Credentials == nil ||
		o.EndpointDiscovery.EnableEndpointDiscovery == aws.EndpointDiscoveryEnabled {
		return nil
	}
	return &direct{options: o, clock: clock}
}

// intercepted reports whether there is an interceptor of any kind.
func intercepted(all smithyhttp.InterceptorRegistry) bool {
	for _, kind := range reflect.ValueOf(all).Fields() {
		if kind.Len() > 0 {
			return true
		}
	}
	return false
}

// resolved reports whether the caller's own code finds the addresses of calls.
func resolved(o dynamodb.Options) bool {
	old := reflect.ValueOf(o).FieldByName("EndpointResolver") // deprecated, so linters refuse its name
	return !old.IsNil() || reflect.TypeOf(o.EndpointResolverV2) != reflect.TypeOf(dynamodb.NewDefaultEndpointResolverV2())
}

const (
	signed    = "AWS4-HMAC-SHA256 Credential="
	operation = "DynamoDB_20120810.UpdateItem"
	jsonType  = "application/x-amz-json-1.0"
)

// learn keeps a request of the SDK as the model of others.
func (d *direct) learn(r *http.Request) {
	credential, _, _ := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), signed), ",")
	scope := strings.Split(credential, "/")
	if len(scope) != 5 || r.Header.Get("X-Amz-Target") != operation || r.Header.Get("Content-Type") != jsonType {
		return
	}
	header := r.Header.Clone()
	for _, own := range []string{
		"Authorization", "X-Amz-Date", "X-Amz-Security-Token", "Amz-Sdk-Invocation-Id", "X-Amzn-Trace-Id", "Content-Length",
	} {
		header.Del(own)
	}
	attempt, _, _ := strings.Cut(header.Get("Amz-Sdk-Request"), "; ttl=") // the deadline of that call
	header.Set("Amz-Sdk-Request", attempt)
	d.model.Store(&model{scope[0], scope[2], scope[3], r.URL, r.Host, header})
}

// update makes a call.
func (d *direct) update(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	body, ok := itemjson.Update(in)
	credentials, err := d.options.Credentials.Retrieve(ctx)
	m := d.model.Load()
	if !ok || err != nil || m == nil || m.accessKey != credentials.AccessKeyID {
		return d.sdk.UpdateItem(ctx, in)
	}
	request := m.request(ctx, body)
	hash := sha256.Sum256(body)
	sent := d.clock.machine()
	if err := d.options.HTTPSignerV4.SignHTTP(
		ctx, credentials, request, hex.EncodeToString(hash[:]), m.service, m.region, d.clock.Now(),
	); err != nil {
		return d.sdk.UpdateItem(ctx, in)
	}
	answer, failed := d.options.HTTPClient.Do(request)
	if failed != nil {
		return d.replay(ctx, in, answer, failed)
	}
	d.clock.hear(sent, answer.Header)
	content, err := readAll(answer)
	if err == nil && !d.intact(answer.Header, content) {
		err = errChecksum
	}
	answer.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content), failing{err}))
	if err == nil && answer.StatusCode == http.StatusOK {
		if item, ok := itemjson.Attributes(content); ok {
			return &dynamodb.UpdateItemOutput{Attributes: item}, nil
		}
	}
	return d.replay(ctx, in, answer, nil)
}

// request returns a request like the model, which is not signed yet.
func (m *model) request(ctx context.Context, body []byte) *http.Request {
	address := *m.url // the signer writes to it
	r := &http.Request{
		Method: http.MethodPost, URL: &address, Host: m.host, Header: m.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	return r.WithContext(ctx)
}

// readAll reads the body of an answer and closes it.
func readAll(answer *http.Response) (content []byte, err error) {
	defer answer.Body.Close()
	const most = 1 << 20 // an item has 400 KB; a length above it may be false
	if answer.ContentLength < 0 || answer.ContentLength > most {
		return io.ReadAll(answer.Body)
	}
	content = make([]byte, answer.ContentLength)
	n, err := io.ReadFull(answer.Body, content)
	return content[:n], err
}

var errChecksum = errors.New("the answer is damaged: it does not have the checksum in X-Amz-Crc32")

// intact reports whether an answer has the checksum that it names.
func (d *direct) intact(header http.Header, content []byte) bool {
	sum := header.Get("X-Amz-Crc32")
	if sum == "" || d.options.DisableValidateResponseChecksum {
		return true
	}
	want, err := strconv.ParseUint(sum, 10, 32)
	return err == nil && crc32.ChecksumIEEE(content) == uint32(want)
}

// replay has the SDK return what it makes of an answer or of an error. It sends
// nothing.
func (d *direct) replay(ctx context.Context, in *dynamodb.UpdateItemInput, answer *http.Response, err error) (*dynamodb.UpdateItemOutput, error) {
	return d.sdk.UpdateItem(ctx, in, func(o *dynamodb.Options) {
		o.APIOptions = nil // the clock has heard it
		o.HTTPClient = recorded{answer, err}
	})
}

// recorded is an HTTP client that answers what another was answered.
type recorded struct {
	answer *http.Response
	err    error
}

// Do returns the answer.
func (r recorded) Do(*http.Request) (*http.Response, error) { return r.answer, r.err }

// failing is a reader that has only an error.
type failing struct{ err error }

// Read returns the error, or the end.
func (f failing) Read([]byte) (int, error) {
	if f.err == nil {
		return 0, io.EOF
	}
	return 0, f.err
}
