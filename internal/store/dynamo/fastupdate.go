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

	"github.com/slidegate/slidegate/internal/store/dynamo/itemjson"
)

// fastUpdate makes UpdateItem calls without the SDK's middleware, which takes
// most of the time that a call costs this process.
//
// Trade-off: a charge costs this process less than half of the CPU, for a second
// way to send a request. docs/decisions/direct-calls.md has the figures.
//
// The SDK makes the first call under each set of credentials, and so decides the
// address and the header fields; fastUpdate copies them. It only writes the body,
// signs by the SDK's signer, and reads a response that is a plain success. The
// SDK decodes every other response.
type fastUpdate struct {
	sdk      *dynamodb.Client
	options  dynamodb.Options
	clock    *Clock
	template atomic.Pointer[template] // nil until the SDK has made a call
}

// template is a request of the SDK that succeeded. fastUpdate copies it.
type template struct {
	accessKey       string // of its credentials
	region, service string // that it was signed for
	url             *url.URL
	host            string
	header          http.Header
}

// newFastUpdate returns nil for options that fastUpdate does not support: those
// that change or observe the SDK's middleware, or choose the address of each
// call.
func newFastUpdate(o dynamodb.Options, clock *Clock) *fastUpdate {
	_, untraced := o.TracerProvider.(*tracing.NopTracerProvider)
	_, unmeasured := o.MeterProvider.(metrics.NopMeterProvider)
	if !untraced || !unmeasured || len(o.APIOptions) > 0 || intercepted(o.Interceptors) || resolved(o) || o.ClientLogMode != 0 ||
		o.EnableAcceptEncodingGzip || o.DisableClockSkewCorrection || o.HTTPSignerV4 == nil || o.Credentials == nil ||
		o.EndpointDiscovery.EnableEndpointDiscovery == aws.EndpointDiscoveryEnabled {
		return nil
	}
	return &fastUpdate{options: o, clock: clock}
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

// resolved reports whether the caller's own code finds the addresses of calls,
// which may then differ from call to call.
func resolved(o dynamodb.Options) bool {
	old := reflect.ValueOf(o).FieldByName("EndpointResolver") // deprecated, so linters refuse its name
	return !old.IsNil() || reflect.TypeOf(o.EndpointResolverV2) != reflect.TypeOf(dynamodb.NewDefaultEndpointResolverV2())
}

const (
	signed    = "AWS4-HMAC-SHA256 Credential="
	operation = "DynamoDB_20120810.UpdateItem"
	jsonType  = "application/x-amz-json-1.0"
)

// capture keeps a successful request of the SDK as the template of others.
func (f *fastUpdate) capture(r *http.Request) {
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
	f.template.Store(&template{scope[0], scope[2], scope[3], r.URL, r.Host, header})
}

// update makes a call, through the SDK if there is no template for the
// credentials.
func (f *fastUpdate) update(ctx context.Context, in *dynamodb.UpdateItemInput) (*dynamodb.UpdateItemOutput, error) {
	body, ok := itemjson.Update(in)
	credentials, err := f.options.Credentials.Retrieve(ctx)
	t := f.template.Load()
	if !ok || err != nil || t == nil || t.accessKey != credentials.AccessKeyID {
		return f.sdk.UpdateItem(ctx, in)
	}
	request := t.request(ctx, body)
	hash := sha256.Sum256(body)
	sent := f.clock.machine()
	if err := f.options.HTTPSignerV4.SignHTTP(
		ctx, credentials, request, hex.EncodeToString(hash[:]), t.service, t.region, f.clock.Now(),
	); err != nil {
		return f.sdk.UpdateItem(ctx, in)
	}
	response, err := f.options.HTTPClient.Do(request)
	if err != nil {
		return f.decode(ctx, in, response, err)
	}
	f.clock.observe(sent, response.Header)
	return f.read(ctx, in, response)
}

// request returns a request like the template, which is not signed yet.
func (t *template) request(ctx context.Context, body []byte) *http.Request {
	address := *t.url // the signer writes to it
	r := &http.Request{
		Method: http.MethodPost, URL: &address, Host: t.host, Header: t.header.Clone(),
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Body: io.NopCloser(bytes.NewReader(body)), ContentLength: int64(len(body)),
	}
	return r.WithContext(ctx)
}

// read returns the item of a plain success. The SDK decodes every other
// response.
func (f *fastUpdate) read(
	ctx context.Context, in *dynamodb.UpdateItemInput, response *http.Response,
) (*dynamodb.UpdateItemOutput, error) {
	content, err := readAll(response)
	if err == nil && !f.intact(response.Header, content) {
		err = errChecksum
	}
	if err == nil && response.StatusCode == http.StatusOK {
		if item, ok := itemjson.Attributes(content); ok {
			return &dynamodb.UpdateItemOutput{Attributes: item}, nil
		}
	}
	rest, end := io.Pipe()
	_ = end.CloseWithError(err) // nil is the end of the body
	response.Body = io.NopCloser(io.MultiReader(bytes.NewReader(content), rest))
	return f.decode(ctx, in, response, nil)
}

// readAll reads the body of a response and closes it. It allocates the length
// that the header states, unless no item is that long.
func readAll(response *http.Response) (content []byte, err error) {
	defer response.Body.Close()
	const most = 1 << 20 // an item has 400 KB; a length above it may be false
	if response.ContentLength < 0 || response.ContentLength > most {
		return io.ReadAll(response.Body)
	}
	content = make([]byte, response.ContentLength)
	n, err := io.ReadFull(response.Body, content)
	return content[:n], err
}

var errChecksum = errors.New("the answer is damaged: it does not have the checksum in X-Amz-Crc32")

// intact reports whether a response has the checksum that it names.
func (f *fastUpdate) intact(header http.Header, content []byte) bool {
	sum := header.Get("X-Amz-Crc32")
	if sum == "" || f.options.DisableValidateResponseChecksum {
		return true
	}
	want, err := strconv.ParseUint(sum, 10, 32)
	return err == nil && crc32.ChecksumIEEE(content) == uint32(want)
}

// decode decodes a response through the SDK, so that errors have the SDK's
// types. It sends nothing.
func (f *fastUpdate) decode(
	ctx context.Context, in *dynamodb.UpdateItemInput, response *http.Response, err error,
) (*dynamodb.UpdateItemOutput, error) {
	return f.sdk.UpdateItem(ctx, in, func(o *dynamodb.Options) {
		o.APIOptions = nil // the clock has observed the response
		o.HTTPClient = received{response, err}
	})
}

// received is an HTTP client that returns a response already received.
type received struct {
	response *http.Response
	err      error
}

// Do returns the response.
func (r received) Do(*http.Request) (*http.Response, error) { return r.response, r.err }
