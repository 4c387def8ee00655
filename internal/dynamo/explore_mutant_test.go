package dynamo

import (
	"context"
	"maps"
	"regexp"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/dynamomodel"
	"github.com/slidegate/slidegate/internal/limit"
)

// mutant breaks a term of the protocol: in the real writes on their way to the table, or where they are planned.
type mutant struct {
	of     kind
	tamper func(*parts)
	plan   func(w *write, v *view, c *limit.Charge, now time.Time)
	unseen func(*view) // that a transaction leaves
	resend bool        // a settlement is sent again after its answer was lost

	aimed  *sent // the write that is sent next
	struck bool  // whether any write was changed
}

// parts are the texts of a write.
type parts struct {
	condition, update string
	names             map[string]string
	values            item
	sent              *sent
}

// aim says what write is sent next.
func (m *mutant) aim(w *sent) {
	if m != nil {
		m.aimed = w
	}
}

// misplan breaks a charge where it is planned.
func (m *mutant) misplan(w *write, v *view, c *limit.Charge, now time.Time) {
	if m != nil && m.plan != nil {
		m.plan(w, v, c, now)
		m.struck = true
	}
}

// misremember breaks the view that a transaction leaves.
func (m *mutant) misremember(v *view) {
	if m != nil && m.unseen != nil {
		m.unseen(v)
		m.struck = true
	}
}

// tampering is the table behind a mutant.
type tampering struct {
	*dynamomodel.Table
	mutant *mutant
}

func (t *tampering) UpdateItem(
	ctx context.Context, in *dynamodb.UpdateItemInput, opts ...func(*dynamodb.Options),
) (*dynamodb.UpdateItemOutput, error) {
	t.mutant.strike(in.ConditionExpression, in.UpdateExpression, in.ExpressionAttributeNames, &in.ExpressionAttributeValues)
	return t.Table.UpdateItem(ctx, in, opts...)
}

func (t *tampering) TransactWriteItems(
	ctx context.Context, in *dynamodb.TransactWriteItemsInput, opts ...func(*dynamodb.Options),
) (*dynamodb.TransactWriteItemsOutput, error) {
	for _, w := range in.TransactItems {
		u := w.Update
		t.mutant.strike(u.ConditionExpression, u.UpdateExpression, u.ExpressionAttributeNames, &u.ExpressionAttributeValues)
	}
	return t.Table.TransactWriteItems(ctx, in, opts...)
}

var placeholder = regexp.MustCompile(`[#:]\w+`)

// strike changes a write of its kind in place, and drops the placeholders that the write does not name any more.
func (m *mutant) strike(condition, update *string, names map[string]string, values *item) {
	if m == nil || m.tamper == nil || m.of != m.aimed.kind {
		return
	}
	p := parts{*condition, *update, names, *values, m.aimed}
	was := textOf(p.values)
	m.tamper(&p)
	if p.condition == *condition && p.update == *update && textOf(p.values) == was {
		return
	}
	m.struck = true
	*condition, *update = p.condition, p.update
	used := map[string]bool{}
	for _, name := range placeholder.FindAllString(p.condition+" "+p.update, -1) {
		used[name] = true
	}
	maps.DeleteFunc(p.names, func(name, _ string) bool { return !used[name] })
	maps.DeleteFunc(p.values, func(name string, _ types.AttributeValue) bool { return !used[name] })
	if len(p.values) == 0 { // DynamoDB takes no empty one
		*values = nil
	}
}

// condition and update make mutants that replace text, by pairs: what was and what is instead.
func condition(pairs ...string) mutant {
	return mutant{tamper: func(p *parts) { p.condition = strings.NewReplacer(pairs...).Replace(p.condition) }}
}

func update(pairs ...string) mutant {
	return mutant{tamper: func(p *parts) { p.update = strings.NewReplacer(pairs...).Replace(p.update) }}
}

// on makes a mutant of another kind of writes than charges.
func (m mutant) on(k kind) mutant {
	m.of = k
	return m
}

// gives and takes make mutants of settlements: of those that give back, and of those that charge more.
func (m mutant) gives() mutant { return m.settling(true) }
func (m mutant) takes() mutant { return m.settling(false) }

func (m mutant) settling(gives bool) mutant {
	tamper := m.tamper
	m.of = settling
	m.tamper = func(p *parts) {
		if p.sent.gives == gives {
			tamper(p)
		}
	}
	return m
}
