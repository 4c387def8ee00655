package ruletable

import (
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const (
	attrPartition = "p"
	attrSort      = "s"
	attrVersion   = "version"
	attrDocument  = "document" // of an override; of a version, its text
	attrJSON      = "json"     // of a version
	attrWho       = "who"
	attrWhen      = "when"
	attrWhy       = "why"
	attrRevision  = "revision"
	attrGrants    = "grants"
	attrLimit     = "limit"
	attrAdd       = "add"
	attrUntil     = "until"

	// maxSort is the maximum length of a sort key in bytes. DynamoDB allows
	// twice as much for a partition key.
	maxSort = 1024
)

// item is an item, a part of an item, or its key.
type item = map[string]types.AttributeValue

func key(partition, sort string) item {
	return item{attrPartition: textValue(partition), attrSort: textValue(sort)}
}

func textValue(s string) types.AttributeValue { return &types.AttributeValueMemberS{Value: s} }

func numberValue(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func timeValue(t time.Time) types.AttributeValue { return textValue(t.UTC().Format(time.RFC3339Nano)) }

// text returns a text attribute, "" if there is none.
func text(i item, name string) string {
	if s, ok := i[name].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// binary returns a binary attribute; ok is false if there is none.
func binary(i item, name string) (data []byte, ok bool) {
	b, ok := i[name].(*types.AttributeValueMemberB)
	if !ok {
		return nil, false
	}
	return b.Value, true
}

// number returns a number attribute, which must exist and be above 0.
func number(i item, name string) (int64, error) {
	value, ok := i[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0, fmt.Errorf("no number %s", name)
	}
	n, err := strconv.ParseInt(value.Value, 10, 64)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%s is %q, not a whole number above 0", name, value.Value)
	}
	return n, nil
}

// write puts a note into an item.
func (n Note) write(i item) {
	i[attrWho], i[attrWhy], i[attrWhen] = textValue(n.Who), textValue(n.Why), timeValue(n.When)
}

// noteOf returns the note of an item. It treats unreadable parts as missing.
func noteOf(i item) Note {
	when, _ := time.Parse(time.RFC3339, text(i, attrWhen))
	return Note{Who: text(i, attrWho), Why: text(i, attrWhy), When: when}
}
