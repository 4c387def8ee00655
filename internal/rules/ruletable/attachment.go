package ruletable

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

const partitionAttached = "attached"

// Attachment is what `slidegate aws attach` keeps of a stage of an API.
type Attachment struct {
	// State is the JSON of package attach. It is empty if the item cannot be read.
	State    string `dynamodbav:"state"`
	Revision int64  `dynamodbav:"revision"` // counts the writes, from 1
}

func attachmentKey(api, stage string) item { return key(partitionAttached, api+"/"+stage) }

// Attachment returns what the table holds of a stage, nil for nothing. It reads
// what the last change wrote.
func (t *Table) Attachment(ctx context.Context, api, stage string) (*Attachment, error) {
	found, err := t.get(ctx, attachmentKey(api, stage), true)
	if err != nil || found == nil {
		return nil, err
	}
	a := new(Attachment)
	if unmarshalReadable(found, a); a.Revision < 1 {
		a.State = ""
	}
	return a, nil
}

// Attached returns the stages of which the table holds something, as API-ID/STAGE.
func (t *Table) Attached(ctx context.Context) (stages []string, err error) {
	for stage, err := range query(ctx, t, within(partitionAttached, ""), func(found item) (string, error) { return sortKey(found), nil }) {
		if err != nil {
			return nil, err
		}
		stages = append(stages, stage)
	}
	return stages, nil
}

// PutAttachment writes what the table holds of a stage, if its revision is the one
// before a's. It fails with ErrConflict if another command has written since.
//
// It is a transaction of one write, because the SDK repeats a call whose answer
// is lost: DynamoDB recognizes a repeated transaction. A repeated put would fail
// by its own condition.
func (t *Table) PutAttachment(ctx context.Context, api, stage string, a Attachment) error {
	i, err := marshal(a, attachmentKey(api, stage))
	if err != nil {
		return err
	}
	return t.write(ctx, []types.TransactWriteItem{t.put(i, unchanged(attrRevision, a.Revision-1))})
}

// DeleteAttachment deletes what the table holds of a stage, if it has this
// revision; 0 stands for any. It fails with ErrConflict otherwise.
func (t *Table) DeleteAttachment(ctx context.Context, api, stage string, revision int64) error {
	c := present
	if revision > 0 {
		c = unchanged(attrRevision, revision)
	}
	return t.write(ctx, []types.TransactWriteItem{t.remove(attachmentKey(api, stage), c)})
}
