package ruletable_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// large has rules that gzip cannot make small.
func large() ruletable.Version {
	d := &ruledoc.Document{}
	for i := range 1500 {
		name := fmt.Sprintf("r%x", uint64(i+1)*0x9e3779b97f4a7c15)
		d.Rules = append(d.Rules, ruledoc.Rule{Name: name, Key: name, Limits: []ruledoc.Limit{{Capacity: 7, Window: "60s"}}})
	}
	return ruletable.Version{Text: []byte("rules"), Document: d}
}

// TestOneReadAtTheStart: the pointer holds the JSON of a small version, also
// after a rollback. A limiter reads nothing else.
func TestOneReadAtTheStart(t *testing.T) {
	client, name := newTable(t)
	api, publisher := &counting{API: client}, ruletable.New(client, name)
	start := func(want int64, reads int) {
		t.Helper()
		before := api.count("GetItem")
		source, reports := newSource(api, name, nil)
		capacity(t, source, epoch, want)
		capacity(t, source, epoch.Add(10*time.Second), want)
		if n := api.count("GetItem") - before; n != reads {
			t.Errorf("%d reads at a start and after ten seconds, want %d", n, reads)
		}
		if errs := reports.take(); errs != nil {
			t.Errorf("reported %v", errs)
		}
	}
	publish(t, publisher, version(1))
	start(1, 2)
	publish(t, publisher, large())
	start(7, 3)
	must(t, publisher.Rollback(t.Context(), 2, 1, note(0, "")))
	start(1, 2)
	must(t, publisher.Rollback(t.Context(), 1, 2, note(0, "")))
	start(7, 3)
}

// TestPointerTakesOneUnit: reading the pointer costs one read unit of 4 KB,
// however large the rules are.
func TestPointerTakesOneUnit(t *testing.T) {
	client, name := newTable(t)
	table := ruletable.New(client, name)
	for rules := 1; rules < 1000; rules += 150 {
		v := large()
		v.Document.Rules = v.Document.Rules[:rules]
		publish(t, table, v)
		found, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: &name, Key: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "set"}, "s": &types.AttributeValueMemberS{Value: "current"},
		}})
		must(t, err)
		json, ok := found.Item["json"].(*types.AttributeValueMemberB)
		if size := 200; ok && size+len(json.Value) > 4096 || !ok && rules == 1 {
			t.Errorf("%d rules: the pointer holds JSON: %v", rules, ok)
		}
	}
}

// TestUnreadablePointer: the pointer holds a field of a newer Slidegate, or
// damaged data. A limiter keeps the rules that it has, and says of which version
// it cannot read the rules.
func TestUnreadablePointer(t *testing.T) {
	client, name := newTable(t)
	publish(t, ruletable.New(client, name), version(1))
	source, reports := newSource(client, name, nil)
	capacity(t, source, epoch, 1)
	for i, json := range []types.AttributeValue{
		zipped(`{"rules": [], "of a newer Slidegate": 1}`), &types.AttributeValueMemberB{Value: []byte("damaged")},
	} {
		_, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &name, Item: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "set"}, "s": &types.AttributeValueMemberS{Value: "current"},
			"version": &types.AttributeValueMemberN{Value: "2"}, "json": json,
		}})
		must(t, err)
		var errs []error
		for now := epoch.Add(time.Duration(i+1) * 10 * time.Second); errs == nil; errs = reports.take() {
			capacity(t, source, now, 1) // a slow reload goes on beside the request
		}
		if err := errs[0]; !strings.Contains(err.Error(), "version 2") || !strings.Contains(err.Error(), "keeping version 1") {
			t.Errorf("reported %v", err)
		}
	}
}
