package main

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/cfn"

	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

func TestUnknownHandler(t *testing.T) {
	_, err := build(t.Context(), "bootstrap", slog.New(slog.DiscardHandler))
	if err == nil || !strings.Contains(err.Error(), `the function's handler is "bootstrap": set it to one of publish`) {
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
