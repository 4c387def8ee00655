package ruletable

import (
	"encoding/json"
	"maps"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Names of attributes. The tags of Note, Grant, Override, Event and packed have
// the others.
const (
	attrPartition = "p"
	attrSort      = "s"
	attrVersion   = "version" // of the pointer
	attrDocument  = "document"
	attrJSON      = "json"
	attrRevision  = "revision"
	attrGrants    = "grants"

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

// sortKey returns an item's sort key, "" if there is none.
func sortKey(i item) string {
	if s, ok := i[attrSort].(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// marshal returns a struct as the item with a key. Times become text of RFC
// 3339, in UTC; the tag omitempty leaves out a zero time.
func marshal(v any, key item) (item, error) {
	i, err := attributevalue.MarshalMapWithOptions(v, func(o *attributevalue.EncoderOptions) {
		o.OmitEmptyTime = true
		o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
			return textValue(t.UTC().Format(time.RFC3339Nano)), nil
		}
	})
	maps.Copy(i, key)
	return i, err
}

// unmarshal reads an item into a struct. Missing attributes, times that are not
// RFC 3339 and notes that are not text leave zero values. Other attributes of a
// wrong type are errors.
func unmarshal(i item, v any) error {
	return attributevalue.UnmarshalMapWithOptions(known(i), v, func(o *attributevalue.DecoderOptions) {
		o.DecodeTime.N = func(string) (time.Time, error) { return time.Time{}, nil }
		o.DecodeTime.S = func(s string) (time.Time, error) {
			t, _ := time.Parse(time.RFC3339, s)
			return t, nil
		}
	})
}

// known returns the attributes to read: names in small letters, because the
// library would take Document for document too, and notes that are text, because
// they are for people only.
func known(i item) item {
	all := item{}
	for name, value := range i {
		_, isText := value.(*types.AttributeValueMemberS)
		isNote := name == "who" || name == "when" || name == "why" || name == "request"
		if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz") == "" && (isText || !isNote) {
			all[name] = knownWithin(value)
		}
	}
	return all
}

// knownWithin is known for the maps within a value.
func knownWithin(value types.AttributeValue) types.AttributeValue {
	switch v := value.(type) {
	case *types.AttributeValueMemberM:
		return &types.AttributeValueMemberM{Value: known(v.Value)}
	case *types.AttributeValueMemberL:
		all := make([]types.AttributeValue, len(v.Value))
		for n, each := range v.Value {
			all[n] = knownWithin(each)
		}
		return &types.AttributeValueMemberL{Value: all}
	}
	return value
}

// unmarshalReadable reads attributes that only people use: it treats an
// unreadable one as missing.
func unmarshalReadable(i item, v any) {
	for name, value := range i {
		_ = unmarshal(item{name: value}, v)
	}
}

// JSONText is a JSON value as the table has it, such as the document of an
// override or the claims of an API key; "" for none. Reports have the value
// itself, and a text only for one that is no JSON.
type JSONText string

// MarshalJSON writes the value itself.
func (o JSONText) MarshalJSON() ([]byte, error) {
	if json.Valid([]byte(o)) {
		return []byte(o), nil
	}
	return json.Marshal(string(o))
}
