package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-lambda-go/cfn"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// Values of the property OnChangedRules: what a deployment does with rules that
// were changed by hand since the last one.
const (
	fail      = "fail"
	overwrite = "overwrite"
	keep      = "keep"
)

// deployment is what an event of the custom resource asks for.
type deployment struct {
	stackID, stack string // the ARN and the name
	request        string // the same in repetitions of the event

	// Of the properties. The hashes are SHA-256 of a rules file, in hex; oldHash
	// is that of the last deployment to this table, "" for none.
	table, bucket, key, hash, oldHash string
	file                              string // as its author calls it
	onChanged, why                    string
}

// who is the author of what the deployments of a stack publish.
func (d deployment) who() string { return "cloudformation " + d.stack }

func readDeployment(event cfn.Event) (deployment, error) {
	property := func(name string) string {
		text, _ := event.ResourceProperties[name].(string)
		return text
	}
	d := deployment{
		stackID: event.StackID, request: event.RequestID,
		table: property("Table"), bucket: property("Bucket"), key: property("Key"), hash: property("Hash"),
		onChanged: cmp.Or(property("OnChangedRules"), fail), why: cmp.Or(property("Why"), "deployment"),
	}
	d.file = cmp.Or(property("File"), d.key)
	if event.OldResourceProperties["Table"] == d.table {
		d.oldHash, _ = event.OldResourceProperties["Hash"].(string)
	}
	for _, name := range []string{"Table", "Bucket", "Key", "Hash"} {
		if property(name) == "" {
			return d, fmt.Errorf("property %s of %s is missing", name, event.LogicalResourceID)
		}
	}
	switch d.onChanged {
	case fail, overwrite, keep:
	default:
		return d, fmt.Errorf("property OnChangedRules of %s is %q: use %s, %s or %s", event.LogicalResourceID, d.onChanged, fail, overwrite, keep)
	}
	// arn:aws:cloudformation:REGION:ACCOUNT:stack/NAME/ID
	parts := strings.Split(event.StackID, "/")
	if len(parts) != 3 {
		return d, fmt.Errorf("%q is not the ARN of a stack", event.StackID)
	}
	d.stack = parts[1]
	return d, nil
}

// current is what a table has in force.
type current struct {
	number   int64              // 0 for none
	version  *ruletable.Version // nil if it cannot be read
	hash     string             // of its text
	damaged  bool               // limiters cannot read it, so the next deployment replaces it
	previous int64              // what Publish takes for it
}

func readCurrent(ctx context.Context, table *ruletable.Table) (c current, err error) {
	c.number, err = table.Current(ctx)
	c.previous = c.number
	switch {
	case errors.Is(err, ruletable.ErrNone):
		return c, nil
	case errors.Is(err, ruletable.ErrDamaged):
		c.damaged, c.previous = true, ruletable.Damaged
		return c, nil
	case err != nil:
		return c, err
	}
	if err = table.CheckPointer(ctx); err == nil {
		c.version, err = table.Get(ctx, c.number)
	}
	switch {
	case err == nil:
		c.hash = predeploy.Hash(c.version.Text)
	case errors.Is(err, ruletable.ErrDamaged), errors.Is(err, ruletable.ErrNoVersion):
		c.damaged, err = true, nil
	}
	return c, err
}

// recentVersions is how many changes of the version in force may follow a
// deployment before a repetition of its event counts as a new one. Grants, API
// keys and the like are in the history too, and do not count.
const recentVersions = 200

// readPast returns the newest version that deployments of this stack published,
// 0 for none among the recent ones, and whether this very event has published one.
func readPast(ctx context.Context, table *ruletable.Table, d deployment) (published int64, repeated bool, err error) {
	n := 0
	for e, err := range table.History(ctx) {
		if err != nil {
			return 0, false, err
		}
		if e.Kind != ruletable.Published && e.Kind != ruletable.RolledBack {
			continue
		}
		if e.Kind == ruletable.Published && e.Who == d.who() {
			published = cmp.Or(published, e.To)
			repeated = repeated || e.Request == d.request
		}
		if n++; repeated || n >= recentVersions {
			break
		}
	}
	return published, repeated, nil
}
