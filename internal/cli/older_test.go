package cli

import (
	"bytes"
	"compress/gzip"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamotest"
)

// TestVersionOfAnOlderSlidegate: a version without JSON can be read and published
// again. It cannot be compared, and cannot come into force again.
func TestVersionOfAnOlderSlidegate(t *testing.T) {
	client := dynamotest.Connect(t)
	table := rulesTable(t, client)
	const text = "rules: [{name: r, key: all, limits: [{capacity: 1, window: 60s}]}] # from before\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(text)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	for sort, attributes := range map[string]map[string]types.AttributeValue{
		"0000000001": {"document": &types.AttributeValueMemberB{Value: packed.Bytes()}},
		"current":    {"version": &types.AttributeValueMemberN{Value: "1"}},
	} {
		attributes["p"], attributes["s"] = &types.AttributeValueMemberS{Value: "set"}, &types.AttributeValueMemberS{Value: sort}
		if _, err := client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table, Item: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	rules := " --rules dynamodb://" + table
	const older = "version 1: an older Slidegate published this version"
	wantFailure(t, "rules diff testdata/rules.yaml"+rules, older, "slidegate rules apply")
	wantFailure(t, "replay testdata/day.log"+rules, older)
	if got := mustRun(t, strings.Fields("rules get 1"+rules)...); got != text {
		t.Errorf("rules get prints %q", got)
	}
	mustRun(t, strings.Fields("rules apply "+file(t, "again.yaml", text)+rules)...)
	mustRun(t, strings.Fields("rules diff testdata/rules.yaml"+rules)...)
	wantFailure(t, "rules rollback 1 --why x"+rules, older)
}
