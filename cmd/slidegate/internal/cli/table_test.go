package cli

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/rules/yamlfile"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

// table is a rules table. Transcripts name it TABLE.
type table struct {
	*ruletable.Table
	client      *dynamo.Client
	name, place string
	at          string // the flag that names it, with spaces around it
	counters    string // transcripts name it COUNTERS
}

// newTable creates a table and publishes rules files, one after the other.
func newTable(t *testing.T, files ...string) *table {
	t.Helper()
	client := dynamotest.Connect(t)
	name := dynamotest.Create(t, client, ruletable.Description(dynamotest.Name()))
	x := &table{Table: ruletable.New(client, name), client: client, name: name, place: "dynamodb://" + name, at: " --rules dynamodb://" + name + " "}
	x.apply(t, files...)
	return x
}

func (x *table) apply(t *testing.T, files ...string) {
	t.Helper()
	for _, file := range files {
		mustRun(t, "rules apply "+file+x.at+"--who jo --why 'first rules'")
	}
}

// transcript runs a golden file in which TABLE is this table.
func (x *table) transcript(t *testing.T, name string, names ...string) (dir string) {
	t.Helper()
	return transcript(t, name, func(text string) string { return scrubTable(scrubElapsed(text)) }, append(names, x.names(t)...)...)
}

// transcriptOfWaits is transcript without times to wait.
func (x *table) transcriptOfWaits(t *testing.T, name string, names ...string) {
	t.Helper()
	transcript(t, name, func(text string) string { return scrubWaits(scrubTable(scrubElapsed(text))) }, append(names, x.names(t)...)...)
}

// names are those of transcripts for this table and its counters.
func (x *table) names(t *testing.T) []string {
	t.Helper()
	if x.counters == "" {
		x.counters = dynamotest.Counters(t, x.client)
	}
	return []string{"COUNTERS", x.counters, "TABLE", x.name}
}

// set stores an override without checks. The document is JSON, which may be no
// valid override, or YAML.
func (x *table) set(t *testing.T, rule, key, document string) {
	t.Helper()
	if !json.Valid([]byte(document)) {
		o := &ruledoc.Override{}
		_, err := yamlfile.Decode("", []byte(document), o)
		data, marshalErr := ruledoc.Marshal(o)
		if err := errors.Join(err, marshalErr); err != nil {
			t.Fatal(err)
		}
		document = string(data)
	}
	note := ruletable.Note{Who: "jo", When: time.Now()}
	if err := x.SetOverride(t.Context(), ruletable.Override{Rule: rule, Key: key, Document: document, Note: note}); err != nil {
		t.Fatal(err)
	}
}

func (x *table) grant(t *testing.T, key string, add int64, from, until time.Time) {
	t.Helper()
	if err := x.Grant(t.Context(), "api", key, ruletable.Grant{Add: add, Until: until, Note: ruletable.Note{Who: "jo", When: from}}); err != nil {
		t.Fatal(err)
	}
}

// wantInForce checks which version is in force, and how many changes the history
// has; -1 for any number.
func (x *table) wantInForce(t *testing.T, version int64, changes int) {
	t.Helper()
	if got, err := x.Current(t.Context()); err != nil || got != version {
		t.Errorf("version %d is in force, %v; want %d", got, err, version)
	}
	got := 0
	for _, err := range x.History(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got++
	}
	if changes >= 0 && got != changes {
		t.Errorf("the history has %d changes, want %d", got, changes)
	}
}
