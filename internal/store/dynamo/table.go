package dynamo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/store/dynamo/protocol"
)

// creationTimeout bounds the wait for a new table to become active.
const creationTimeout = 2 * time.Minute

// Table describes a table to create: on demand, with string keys.
type Table struct {
	Name      string
	Partition string
	Sort      string // empty for none
	TTL       string // the attribute that expires items; empty for none
}

// CountersTable describes the table of counters.
func CountersTable(name string) Table {
	return Table{Name: name, Partition: protocol.AttributeKey, TTL: protocol.AttributeTTL}
}

// Create creates the table and waits until it can be used, at most two minutes.
// created is false for a table that exists. Create switches expiry on in either
// case, and fails if another attribute expires the items: counters would never
// expire.
func (c *Client) Create(ctx context.Context, t Table) (created bool, err error) {
	_, err = c.CreateTable(ctx, t.input())
	_, exists := errors.AsType[*types.ResourceInUseException](err)
	if created = err == nil; !created && !exists {
		return false, Translate(err, t.Name)
	}
	ready := dynamodb.NewTableExistsWaiter(c, func(o *dynamodb.TableExistsWaiterOptions) { o.MinDelay = 100 * time.Millisecond })
	if err := ready.Wait(ctx, &dynamodb.DescribeTableInput{TableName: &t.Name}, creationTimeout); err != nil {
		return created, Translate(err, t.Name)
	}
	return created, Translate(c.expire(ctx, t), t.Name)
}

// input returns the request that creates the table. DynamoDB bills it by request,
// because the load of a limiter is not known beforehand.
func (t Table) input() *dynamodb.CreateTableInput {
	in := &dynamodb.CreateTableInput{TableName: &t.Name, BillingMode: types.BillingModePayPerRequest}
	in.KeySchema = []types.KeySchemaElement{{AttributeName: &t.Partition, KeyType: types.KeyTypeHash}}
	if t.Sort != "" {
		in.KeySchema = append(in.KeySchema, types.KeySchemaElement{AttributeName: &t.Sort, KeyType: types.KeyTypeRange})
	}
	for _, key := range in.KeySchema {
		in.AttributeDefinitions = append(in.AttributeDefinitions,
			types.AttributeDefinition{AttributeName: key.AttributeName, AttributeType: types.ScalarAttributeTypeS})
	}
	return in
}

// expire switches the table's TTL on, unless it is on. Several processes may do so
// at once.
func (c *Client) expire(ctx context.Context, t Table) error {
	if t.TTL == "" {
		return nil
	}
	on, err := c.expires(ctx, t)
	if on || err != nil {
		return err
	}
	_, err = c.UpdateTimeToLive(ctx, &dynamodb.UpdateTimeToLiveInput{
		TableName:               &t.Name,
		TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: &t.TTL, Enabled: aws.Bool(true)},
	})
	if err == nil {
		return nil
	}
	// Another process may have switched it on in between, which DynamoDB reports
	// as an error.
	if on, failed := c.expires(ctx, t); on || failed != nil {
		return failed
	}
	return err
}

// expires reports whether the table's TTL is on. It is an error if another
// attribute expires items.
func (c *Client) expires(ctx context.Context, t Table) (bool, error) {
	now, err := c.DescribeTimeToLive(ctx, &dynamodb.DescribeTimeToLiveInput{TableName: &t.Name})
	if err != nil {
		return false, err
	}
	d := now.TimeToLiveDescription
	if d == nil || d.AttributeName == nil ||
		d.TimeToLiveStatus != types.TimeToLiveStatusEnabled && d.TimeToLiveStatus != types.TimeToLiveStatusEnabling {
		return false, nil
	}
	if *d.AttributeName != t.TTL {
		return false, fmt.Errorf("items expire by attribute %s: want %s", *d.AttributeName, t.TTL)
	}
	return true, nil
}
