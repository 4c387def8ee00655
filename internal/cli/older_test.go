package cli

import (
	"bytes"
	"compress/gzip"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// TestVersionOfAnOlderSlidegate: a version without JSON can be read and published
// again. It cannot be compared, and cannot come into force again.
func TestVersionOfAnOlderSlidegate(t *testing.T) {
	table := newTable(t)
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
		if _, err := table.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table.name, Item: attributes}); err != nil {
			t.Fatal(err)
		}
	}
	const older = "version 1: an older Slidegate published this version"
	wantFailure(t, "rules diff testdata/rules.yaml"+table.at, older, "slidegate rules apply")
	wantFailure(t, "replay testdata/day.log"+table.at, older)
	if got := mustRun(t, "rules get 1"+table.at); got != text {
		t.Errorf("rules get prints %q", got)
	}
	mustRun(t, "rules apply "+file(t, "again.yaml", text)+table.at)
	mustRun(t, "rules diff testdata/rules.yaml"+table.at)
	wantFailure(t, "rules rollback 1 --why x"+table.at, older)
}
