package main

import (
	"bytes"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

func TestUnknownHandler(t *testing.T) {
	_, err := build(t.Context(), "bootstrap", slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), `the function's handler is "bootstrap": set it to one of decide, publish, settle`) {
		t.Errorf("error %v", err)
	}
}

// TestFaultOfDynamoDB: a call that fails once fails no deployment.
func TestFaultOfDynamoDB(t *testing.T) {
	calls := 0
	dynamoDB := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		if calls++; calls == 1 {
			w.WriteHeader(http.StatusInternalServerError)
		}
		_, _ = w.Write([]byte("{}")) // no such item
	}))
	defer dynamoDB.Close()
	for name, value := range map[string]string{
		"AWS_ENDPOINT_URL": dynamoDB.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test",
	} {
		t.Setenv(name, value)
	}
	p, err := newPublisher(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.table("rules").Current(t.Context()); !errors.Is(err, ruletable.ErrNone) || calls != 2 {
		t.Errorf("after %d calls: %v", calls, err)
	}
}

// TestOldHash: what another table has says nothing about this one, so a stack
// that moves to a table with other rules does not take them for its own.
func TestOldHash(t *testing.T) {
	for table, want := range map[string]string{"rules": "aa", "earlier": ""} {
		d, err := readDeployment(cfn.Event{
			StackID:               "arn:aws:cloudformation:eu-west-1:1:stack/shop/51af3dc0",
			ResourceProperties:    map[string]any{"Table": "rules", "Bucket": "assets", "Key": "a.yaml", "Hash": "aa"},
			OldResourceProperties: map[string]any{"Table": table, "Hash": "aa"},
		})
		if err != nil || d.oldHash != want {
			t.Errorf("from table %s: %q, %v; want %q", table, d.oldHash, err, want)
		}
	}
}

// callOf names a call as policies do, where a service sends its name. A
// transaction is what its parts are.
func callOf(r *http.Request, body []byte) string {
	if target := r.Header.Get("X-Amz-Target"); target != "" {
		_, operation, _ := strings.Cut(target, ".")
		for _, part := range []string{"Put", "Update", "Delete", "ConditionCheck"} {
			if operation == "TransactWriteItems" && bytes.Contains(body, []byte(`"`+part+`":`)) {
				operation += " " + part
			}
		}
		return "dynamodb:" + operation
	}
	if form, err := url.ParseQuery(string(body)); err == nil && form.Get("Action") != "" {
		return "cloudformation:" + form.Get("Action")
	}
	return "s3: " + r.Method + " " + r.URL.Path
}

// TestCalls records the calls of a deployment that publishes, of one that finds
// rules changed by hand, and of one that replaces them. The construct's policy
// grants these: a put in a transaction needs PutItem.
func TestCalls(t *testing.T) {
	w := newWorld(t)
	cfg, err := config.LoadDefaultConfig(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	bucket, stackID := uploadRules(t, cfg, w), createStack(t, cfg)
	var mu sync.Mutex
	seen := map[string]bool{}
	dynamotest.Between(t, func(_ http.ResponseWriter, r *http.Request, body []byte) bool {
		mu.Lock()
		defer mu.Unlock()
		seen[callOf(r, body)] = true
		return false
	})
	p, err := newPublisher(t.Context(), slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	for i, onChanged := range []string{"", "fail", "overwrite"} {
		e := w.event("shop", []string{"", "A", "A"}[i], "AB"[min(i, 1):min(i, 1)+1], onChanged)
		e.StackID, e.RequestID, e.ResourceProperties["Bucket"] = stackID, onChanged, bucket
		if _, _, err := p.handle(t.Context(), e); (err != nil) != (onChanged == "fail") {
			t.Fatal(err)
		}
		if i == 0 {
			w.hand("H")
		}
	}
	want := []string{
		"cloudformation:DescribeStacks", "dynamodb:GetItem", "dynamodb:Query", "dynamodb:TransactWriteItems Put",
		"s3: GET /" + bucket + "/A", "s3: GET /" + bucket + "/B",
	}
	if diff := cmp.Diff(want, slices.Sorted(maps.Keys(seen))); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
	if got := w.state(); got != "3 B" {
		t.Errorf("%s is in force", got)
	}
}

// uploadRules uploads the files of a world to a new bucket.
func uploadRules(t *testing.T, cfg aws.Config, w *world) (bucket string) {
	t.Helper()
	objects := s3.NewFromConfig(cfg, func(o *s3.Options) { o.UsePathStyle = true })
	bucket = w.name
	if _, err := objects.CreateBucket(t.Context(), &s3.CreateBucketInput{Bucket: &bucket}); err != nil {
		t.Fatal(err)
	}
	for key, text := range w.objects {
		if _, err := objects.PutObject(t.Context(), &s3.PutObjectInput{Bucket: &bucket, Key: &key, Body: bytes.NewReader(text)}); err != nil {
			t.Fatal(err)
		}
	}
	return bucket
}

// createStack makes a stack that CloudFormation can describe.
func createStack(t *testing.T, cfg aws.Config) (id string) {
	t.Helper()
	stacks := cloudformation.NewFromConfig(cfg)
	out, err := stacks.CreateStack(t.Context(), &cloudformation.CreateStackInput{
		StackName:    aws.String("slidegate-calls"),
		TemplateBody: aws.String(`{"Resources": {"Handle": {"Type": "AWS::CloudFormation::WaitConditionHandle"}}}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_, _ = stacks.DeleteStack(t.Context(), &cloudformation.DeleteStackInput{StackName: out.StackId})
	})
	return *out.StackId
}
