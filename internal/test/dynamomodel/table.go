// Package dynamomodel is one DynamoDB table in memory. It executes the real
// expressions of internal/store/dynamo/protocol millions of times, for simulations
// and explorations.
//
// The model is as strict as DynamoDB: it refuses every request that DynamoDB
// refuses with a ValidationException, in the same words. The rules are those of
// "Expression reference" and "Service, account, and table quotas" in the Amazon
// DynamoDB Developer Guide. So an expression that the model accepts can be sent
// to AWS.
//
// The model has the part of the language that a counter needs: numbers, strings
// and binary values; comparisons, AND, OR, NOT, parentheses, attribute_exists
// and attribute_not_exists in conditions; SET with +, - and if_not_exists, and
// REMOVE in updates; transactions of updates. It refuses everything else,
// including request fields that it does not model.
//
// It also breaks writes on purpose; see Mutation.
//
// Calls run one after another, each completely, and there is no clock. The
// caller adds latency, lost answers, throttles and expiry.
package dynamomodel

import (
	"maps"
	"slices"
	"sync"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Table is a table whose only key is a partition key, a string. It has no
// indexes and no streams. It is safe for concurrent use. It copies the items
// that it takes and returns, but shares their values, which must not change.
type Table struct {
	name, partitionKey string

	mu    sync.Mutex
	items map[string]attributes // by key; a write replaces an item, and never changes it in place
}

// attributes are an item's attributes, including its key.
type attributes = map[string]types.AttributeValue

// New returns an empty table. The partition key is the name of the string
// attribute that identifies an item.
func New(name, partitionKey string) *Table {
	return &Table{name: name, partitionKey: partitionKey, items: map[string]attributes{}}
}

// Item returns a copy of an item, nil if there is none.
func (t *Table) Item(key string) map[string]types.AttributeValue {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.items[key])
}

// Put stores an item in place of any earlier one. The key attribute may be
// missing. Put fails for an item that DynamoDB would refuse, and changes
// nothing then.
func (t *Table) Put(key string, item map[string]types.AttributeValue) error {
	if err := t.checkKey(key); err != nil {
		return err
	}
	made := make(attributes, len(item)+1)
	for name, v := range item {
		var err error
		if made[name], err = intake(v); err != nil {
			return err
		}
	}
	made[t.partitionKey] = &types.AttributeValueMemberS{Value: key}
	if Size(made) > maxItem {
		return invalid("Item size has exceeded the maximum allowed size")
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.items[key] = made
	return nil
}

// Delete removes an item if it exists, as the table's expiry does.
func (t *Table) Delete(key string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.items, key)
}

// Keys returns the keys of all items, ascending.
func (t *Table) Keys() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Sorted(maps.Keys(t.items))
}

func (t *Table) checkKey(key string) error {
	switch {
	case key == "":
		return invalid("One or more parameter values are not valid. The AttributeValue for a key attribute cannot contain an "+
			"empty string value. Key: %s", t.partitionKey)
	case len(key) > maxKey:
		return invalid("One or more parameter values were invalid: Size of hashkey has exceeded the maximum size limit of %d bytes", maxKey)
	}
	return nil
}
