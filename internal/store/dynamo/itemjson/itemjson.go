// Package itemjson writes and reads the JSON of DynamoDB's UpdateItem, for the
// inputs and answers that counters have. Everything else it leaves to the SDK.
package itemjson

import (
	"encoding/base64"
	"encoding/json"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Update returns the body of a request; ok is false for an input that the
// package cannot write.
func Update(in *dynamodb.UpdateItemInput) (body []byte, ok bool) {
	if in.TableName == nil || in.AttributeUpdates != nil || in.ConditionalOperator != "" || in.Expected != nil ||
		in.ReturnConsumedCapacity != "" || in.ReturnItemCollectionMetrics != "" {
		return nil, false
	}
	w := writer{b: make([]byte, 0, 1024)}
	w.field(`{"TableName":`)
	w.text(*in.TableName)
	w.field(`,"Key":`)
	object(&w, in.Key, w.value)
	w.optional(`,"ConditionExpression":`, in.ConditionExpression)
	w.optional(`,"UpdateExpression":`, in.UpdateExpression)
	if in.ExpressionAttributeNames != nil {
		w.field(`,"ExpressionAttributeNames":`)
		object(&w, in.ExpressionAttributeNames, w.text)
	}
	if in.ExpressionAttributeValues != nil {
		w.field(`,"ExpressionAttributeValues":`)
		object(&w, in.ExpressionAttributeValues, w.value)
	}
	if in.ReturnValues != "" {
		w.field(`,"ReturnValues":`)
		w.text(string(in.ReturnValues))
	}
	if in.ReturnValuesOnConditionCheckFailure != "" {
		w.field(`,"ReturnValuesOnConditionCheckFailure":`)
		w.text(string(in.ReturnValuesOnConditionCheckFailure))
	}
	w.field("}")
	return w.b, !w.failed
}

type writer struct {
	b      []byte
	failed bool
}

func (w *writer) field(text string) { w.b = append(w.b, text...) }

func (w *writer) optional(field string, text *string) {
	if text != nil {
		w.field(field)
		w.text(*text)
	}
}

// text writes a string. Most are plain ASCII.
func (w *writer) text(s string) {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			encoded, _ := json.Marshal(s) // no string fails
			w.b = append(w.b, encoded...)
			return
		}
	}
	w.b = append(append(append(w.b, '"'), s...), '"')
}

// object writes an object, which may be empty.
func object[V any](w *writer, fields map[string]V, value func(V)) {
	separator := byte('{')
	for name, v := range fields {
		w.b = append(w.b, separator)
		w.text(name)
		w.b = append(w.b, ':')
		value(v)
		separator = ','
	}
	if len(fields) == 0 {
		w.b = append(w.b, '{')
	}
	w.b = append(w.b, '}')
}

func (w *writer) value(value types.AttributeValue) {
	switch v := value.(type) {
	case *types.AttributeValueMemberN:
		w.field(`{"N":`)
		w.text(v.Value)
	case *types.AttributeValueMemberS:
		w.field(`{"S":`)
		w.text(v.Value)
	case *types.AttributeValueMemberB:
		w.field(`{"B":"`)
		w.b = base64.StdEncoding.AppendEncode(w.b, v.Value)
		w.field(`"`)
	default:
		w.failed = true
		return
	}
	w.b = append(w.b, '}')
}

// Attributes returns the item of an answer; ok is false for a body that the
// package cannot read.
func Attributes(body []byte) (item map[string]types.AttributeValue, ok bool) {
	r := reader{rest: string(body)}
	r.need('{')
	if !r.take('}') {
		r.failed = r.text() != "Attributes" || r.failed
		r.need(':')
		item = r.item()
		r.need('}')
	}
	r.space()
	return item, !r.failed && r.rest == ""
}

type reader struct {
	rest   string
	failed bool
}

func (r *reader) space() { r.rest = strings.TrimLeft(r.rest, " \t\r\n") }

// take reads a character if it is the next.
func (r *reader) take(c byte) bool {
	if r.rest == "" || r.rest[0] != c {
		if r.space(); r.rest == "" || r.rest[0] != c {
			return false
		}
	}
	r.rest = r.rest[1:]
	return true
}

// need reads a character that has to be there.
func (r *reader) need(c byte) { r.failed = !r.take(c) || r.failed }

// text reads a string without escapes.
func (r *reader) text() string {
	r.need('"')
	for i := range len(r.rest) {
		switch c := r.rest[i]; {
		case c == '"':
			s := r.rest[:i]
			r.rest = r.rest[i+1:]
			return s
		case c == '\\' || c < ' ':
			r.failed = true // an escape: the SDK reads it
			return ""
		}
	}
	r.failed = true
	return ""
}

func (r *reader) item() map[string]types.AttributeValue {
	r.need('{')
	if r.take('}') {
		return map[string]types.AttributeValue{}
	}
	n := strings.Count(r.rest, ":") / 2
	item, numbers := make(map[string]types.AttributeValue, n), make([]types.AttributeValueMemberN, 0, n)
	for more := true; more && !r.failed; more = r.take(',') {
		name := r.text()
		r.need(':')
		r.need('{')
		kind := r.text()
		r.need(':')
		switch value := r.text(); kind {
		case "N":
			numbers = append(numbers, types.AttributeValueMemberN{Value: value})
			item[name] = &numbers[len(numbers)-1]
		case "S":
			item[name] = &types.AttributeValueMemberS{Value: value}
		case "B":
			b, err := base64.StdEncoding.DecodeString(value)
			r.failed = r.failed || err != nil
			item[name] = &types.AttributeValueMemberB{Value: b}
		default:
			r.failed = true
		}
		r.need('}')
	}
	r.need('}')
	return item
}
