package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/cfn"
	"github.com/aws/aws-sdk-go-v2/service/cloudformation"
	cloudformationtypes "github.com/aws/aws-sdk-go-v2/service/cloudformation/types"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/slidegate/slidegate/internal/lambda/predeploy"
	"github.com/slidegate/slidegate/internal/rules/rulefile"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
	"github.com/slidegate/slidegate/internal/store/dynamo"
	"github.com/slidegate/slidegate/internal/test/dynamotest"
)

var epoch = time.Date(2023, 11, 14, 22, 14, 0, 0, time.UTC)

// file is a rules file that a trace calls by a letter.
func file(letter string) []byte {
	return fmt.Appendf(nil, "rules:\n  - {name: %s, key: \"ip:{ip}\", limits: [{capacity: 1, window: 60s}]}\n", strings.ToLower(letter))
}

// world is a rules table, and the AWS around it.
type world struct {
	t      *testing.T
	client *dynamo.Client
	name   string
	*ruletable.Table
	objects map[string][]byte // by key
	status  string            // of the stack
	read    int               // how many objects were read
	hook    func()            // before the next object is read
	clock   int
	events  []cfn.Event // that were sent
}

func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, client: dynamotest.Connect(t), objects: map[string][]byte{}, status: "UPDATE_IN_PROGRESS"}
	w.name = dynamotest.Create(t, w.client, ruletable.Description(dynamotest.Name()))
	w.Table = ruletable.New(w.client, w.name)
	for _, letter := range []string{"A", "B", "C", "H"} {
		w.objects[letter] = file(letter)
	}
	return w
}

func (w *world) publisher() publisher {
	return publisher{
		table: func(name string) *ruletable.Table { return ruletable.New(w.client, name) }, objects: w, stacks: w,
		now: w.tick, log: slog.New(slog.DiscardHandler),
	}
}

// tick is a clock that moves on by a second each time.
func (w *world) tick() time.Time {
	w.clock++
	return epoch.Add(time.Duration(w.clock) * time.Second)
}

func (w *world) GetObject(_ context.Context, in *s3.GetObjectInput, _ ...func(*s3.Options)) (*s3.GetObjectOutput, error) {
	w.read++
	if hook := w.hook; hook != nil {
		w.hook = nil
		hook()
	}
	text, ok := w.objects[*in.Key]
	if !ok {
		return nil, errors.New("NoSuchKey: The specified key does not exist.")
	}
	return &s3.GetObjectOutput{Body: io.NopCloser(bytes.NewReader(text))}, nil
}

func (w *world) DescribeStacks(
	context.Context, *cloudformation.DescribeStacksInput, ...func(*cloudformation.Options),
) (*cloudformation.DescribeStacksOutput, error) {
	if w.status == "" {
		return nil, errors.New("AccessDenied: not authorized to perform cloudformation:DescribeStacks")
	}
	return &cloudformation.DescribeStacksOutput{Stacks: []cloudformationtypes.Stack{{StackStatus: cloudformationtypes.StackStatus(w.status)}}}, nil
}

// event returns an event of a stack; an old of "" is a Create.
func (w *world) event(stack, old, letter, onChanged string) cfn.Event {
	properties := func(letter string) map[string]any {
		return map[string]any{
			"ServiceToken": "arn:aws:lambda:eu-west-1:1:function:publish", "Table": w.name, "Bucket": "assets", "Key": letter,
			"Hash": predeploy.Hash(file(letter)), "OnChangedRules": onChanged,
		}
	}
	e := cfn.Event{
		RequestType: cfn.RequestCreate, RequestID: fmt.Sprint("request ", len(w.events)), LogicalResourceID: "RateLimitRules",
		StackID: "arn:aws:cloudformation:eu-west-1:1:stack/" + stack + "/51af3dc0", ResourceProperties: properties(letter),
	}
	if old != "" {
		e.RequestType, e.OldResourceProperties, e.PhysicalResourceID = cfn.RequestUpdate, properties(old), w.name
	}
	return e
}

func (w *world) send(e cfn.Event) error {
	w.events = append(w.events, e)
	id, data, err := w.publisher().handle(w.t.Context(), e)
	if id != w.name {
		w.t.Errorf("the resource's id is %q, want the table", id)
	}
	if number := w.current(); err == nil && data["Version"] != fmt.Sprint(number) {
		w.t.Errorf("the resource's data are %v, want version %d", data, number)
	}
	return err
}

// hand publishes a file as ada does by command.
func (w *world) hand(letter string) {
	set, err := rulefile.Parse("rules.yaml", file(letter))
	if err == nil {
		_, err = w.Publish(w.t.Context(), ruletable.Version{
			Text: file(letter), Document: set.Document(), Note: ruletable.Note{Who: "ada", When: w.tick(), Why: "launch week"},
		}, w.current())
	}
	if err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) current() int64 {
	number, err := w.Current(w.t.Context())
	switch {
	case errors.Is(err, ruletable.ErrDamaged):
		return 0
	case err != nil && !errors.Is(err, ruletable.ErrNone):
		w.t.Fatal(err)
	}
	return number
}

// state is the version in force and the letter of its file.
func (w *world) state() string {
	number := w.current()
	if number == 0 {
		return "none"
	}
	v, err := w.Get(w.t.Context(), number)
	switch {
	case errors.Is(err, ruletable.ErrNoVersion):
		return "none"
	case err != nil:
		w.t.Fatal(err)
	}
	for letter, text := range w.objects {
		if bytes.Equal(text, v.Text) {
			return fmt.Sprint(number, " ", letter)
		}
	}
	return fmt.Sprint(number, " ?")
}

// do makes a step of a trace.
func (w *world) do(step string) error {
	var a, b, onChanged string
	var n int
	scan := func(format string, into ...any) bool {
		_, err := fmt.Sscanf(strings.ReplaceAll(step, ">", " > "), format, into...)
		return err == nil
	}
	w.status = "UPDATE_IN_PROGRESS"
	switch {
	case scan("again %d", &n): // an event that arrives again, late
		return w.send(w.events[n])
	case scan("late %s > %s", &a, &b): // the first delivery of an event
		w.status = "UPDATE_ROLLBACK_COMPLETE"
		return w.send(w.event("shop", a, b, ""))
	case scan("late %s", &a):
		w.status = "ROLLBACK_FAILED"
		return w.send(w.event("shop", "", a, ""))
	case scan("hand rollback %d", &n):
		return w.Rollback(w.t.Context(), w.current(), int64(n), ruletable.Note{Who: "ada", When: w.tick()})
	case scan("hand %s", &a):
		w.hand(a)
		return nil
	case scan("resets %d", &n): // which the history has too
		for range n {
			if err := w.RecordReset(w.t.Context(), "a", "ip:192.0.2.1", "a#1", ruletable.Note{Who: "ada", When: w.tick()}); err != nil {
				return err
			}
		}
		return nil
	case scan("rollbacks %d", &n): // by hand, from one of two versions to the other
		for range n {
			if err := w.do(fmt.Sprint("hand rollback ", 3-w.current())); err != nil {
				return err
			}
		}
		return nil
	case scan("meanwhile %s", &a): // by hand, while the next deployment reads its file
		w.hook = func() { w.hand(a) }
		return nil
	case scan("damage %d", &n): // the pointer to the version in force
		_, err := w.client.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: &w.name, Item: map[string]types.AttributeValue{
			"p": &types.AttributeValueMemberS{Value: "set"}, "s": &types.AttributeValueMemberS{Value: "current"},
			"version": &types.AttributeValueMemberN{Value: fmt.Sprint(n)},
		}})
		return err
	case scan("create %s %s", &a, &onChanged), scan("create %s", &a):
		return w.send(w.event("shop", "", a, onChanged))
	case scan("other %s", &a):
		return w.send(w.event("other", "", a, ""))
	case scan("update %s > %s %s", &a, &b, &onChanged), scan("update %s > %s", &a, &b):
		return w.send(w.event("shop", a, b, onChanged))
	case scan("rollback %s > %s %s", &a, &b, &onChanged), scan("rollback %s > %s", &a, &b):
		w.status = "UPDATE_ROLLBACK_IN_PROGRESS"
		return w.send(w.event("shop", a, b, onChanged))
	}
	w.t.Fatalf("no step: %s", step)
	return nil
}

// TestTraces: what stacks, operators and CloudFormation do to a table, and the
// version and the file in force afterwards. The events of a trace are numbered
// from 0.
func TestTraces(t *testing.T) {
	traces := map[string]string{
		"an unchanged file publishes nothing": `
			create A        | 1 A
			update A>A      | 1 A
			update A>A keep | 1 A`,
		"a rollback publishes the old text": `
			create A        | 1 A
			update A>B      | 2 B
			rollback B>A    | 3 A
			update A>C      | 4 C`,
		"an event that comes again after the rollback publishes nothing": `
			create A        | 1 A
			update A>B      | 2 B
			rollback B>A    | 3 A
			again 1         | 3 A
			again 0         | 3 A`,
		// After more than recentVersions changes it counts as a new one.
		"an event that comes again long after publishes nothing": `
			create A        | 1 A
			update A>B      | 2 B
			resets 200      | 2 B
			rollbacks 199   | 1 A
			again 1         | 1 A
			rollbacks 2     | 1 A
			again 1         | 3 B`,
		"an event that comes first after the rollback publishes nothing": `
			late A          | none fails
			create A        | 1 A
			rollback B>A    | 1 A
			late A>B        | 1 A fails
			update A>B      | 2 B`,
		"rules changed by hand fail the deployment and survive its rollback": `
			create A        | 1 A
			hand H          | 2 H
			update A>B      | 2 H fails
			rollback B>A    | 2 H
			update A>A      | 2 H`,
		"adopted": `
			create A        | 1 A
			hand H          | 2 H
			update A>H      | 2 H
			update H>B      | 3 B`,
		"adopted, then changed by hand again": `
			create A        | 1 A
			hand H          | 2 H
			update A>H      | 2 H
			hand C          | 3 C
			update H>B      | 3 C fails
			rollback B>H    | 3 C`,
		"the rollback of an adoption leaves the adopted rules": `
			create A        | 1 A
			hand H          | 2 H
			update A>H      | 2 H
			rollback H>A    | 2 H`,
		"discarded by command": `
			create A        | 1 A
			hand H          | 2 H
			update A>B      | 2 H fails
			rollback B>A    | 2 H
			hand rollback 1 | 1 A
			update A>B      | 3 B`,
		"discarded by the prop, with the file as it was": `
			create A             | 1 A
			hand H               | 2 H
			update A>A overwrite | 3 A`,
		"a rollback to overwrite discards nothing": `
			create A overwrite     | 1 A
			hand H                 | 2 H
			rollback B>A overwrite | 2 H`,
		"kept": `
			create A          | 1 A
			hand H            | 2 H
			update A>B keep   | 2 H
			update B>C keep   | 2 H
			rollback C>B keep | 2 H
			update B>C        | 2 H fails
			rollback C>B keep | 2 H`,
		"rolled back by hand": `
			create A        | 1 A
			update A>B      | 2 B
			hand rollback 1 | 1 A
			update B>C      | 1 A fails
			rollback C>B    | 1 A`,
		"changed by hand between a publish and its rollback": `
			create A        | 1 A
			update A>B      | 2 B
			hand H          | 3 H
			rollback B>A    | 3 H`,
		"changed by hand while a deployment reads its file": `
			create A        | 1 A
			meanwhile H     | 1 A
			update A>B      | 2 H fails`,
		"published by hand while a deployment reads the same file": `
			create A        | 1 A
			meanwhile B     | 1 A
			update A>B      | 2 B`,
		"a pointer to nothing, which limiters cannot read": `
			create A        | 1 A
			damage 0        | none
			update A>B      | 2 B`,
		"a pointer to a version that does not exist": `
			create A        | 1 A
			damage 7        | none
			update A>B      | 8 B`,
		"a table with rules of its own": `
			hand H             | 1 H
			create A           | 1 H fails
			create A keep      | 1 H
			create A overwrite | 2 A`,
		"a new stack of the same name goes on": `
			create A        | 1 A
			create B        | 2 B`,
		"two stacks with one table": `
			create A        | 1 A
			other B         | 1 A fails
			other A         | 1 A
			update A>B      | 2 B`,
	}
	for name, trace := range traces {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			for _, line := range strings.Split(strings.TrimSpace(trace), "\n") {
				step, want, _ := strings.Cut(line, "|")
				err := w.do(strings.TrimSpace(step))
				got := w.state()
				if err != nil {
					got += " fails"
				}
				if got != strings.TrimSpace(want) {
					t.Fatalf("%s: %s, error %v", strings.TrimSpace(line), got, err)
				}
			}
		})
	}
}

// TestChangedByHand: the message of a failed deployment says who changed what,
// and the ways out.
func TestChangedByHand(t *testing.T) {
	w := newWorld(t)
	var err error
	for _, step := range []string{"create A", "hand H", "update A>B"} {
		err = w.do(step)
	}
	want := fmt.Sprintf("somebody changed the rules since the last deployment of this stack: "+
		"version 2 of table %[1]s is by ada, at 2023-11-14T22:14:02Z (\"launch week\"); "+
		"to keep it, write it into the file that you deploy, B: `slidegate rules get --rules dynamodb://%[1]s --output FILE`; "+
		"to discard it: `slidegate rules rollback 1 --why TEXT --rules dynamodb://%[1]s`, or OnChangedRules: \"overwrite\" for one deployment", w.name)
	if err == nil || err.Error() != want {
		t.Errorf("error\n%v, want\n%s", err, want)
	}
	if w.read != 1 {
		t.Errorf("%d objects were read, want only that of version 1", w.read)
	}
}

// TestNote: the history says which stack published, and why.
func TestNote(t *testing.T) {
	w := newWorld(t)
	e := w.event("shop", "", "A", "")
	e.ResourceProperties["Why"] = "build 81"
	if err := w.send(e); err != nil {
		t.Fatal(err)
	}
	if err := w.do("update A>B"); err != nil {
		t.Fatal(err)
	}
	var got []string
	for e, err := range w.History(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%s %s %d>%d %s", e.When.Format(time.TimeOnly), e.Who, e.From, e.To, e.Why))
	}
	want := "22:14:02 cloudformation shop 1>2 deployment\n22:14:01 cloudformation shop 0>1 build 81"
	if strings.Join(got, "\n") != want {
		t.Errorf("history\n%s, want\n%s", strings.Join(got, "\n"), want)
	}
}

// TestRefuses: what is wrong with a deployment, and that nothing changes.
func TestRefuses(t *testing.T) {
	set := func(name string, value any) func(*world, *cfn.Event) {
		return func(_ *world, e *cfn.Event) { e.ResourceProperties[name] = value }
	}
	for _, tt := range []struct {
		name   string
		change func(w *world, e *cfn.Event)
		want   string
	}{
		{"no hash", set("Hash", nil), "property Hash of RateLimitRules is missing"},
		{"an unknown way", set("OnChangedRules", "merge"), `property OnChangedRules of RateLimitRules is "merge": use fail, overwrite or keep`},
		{"no stack", func(_ *world, e *cfn.Event) { e.StackID = "shop" }, `"shop" is not the ARN of a stack`},
		{"no object", set("Key", "b.yaml"), "read the rules s3://assets/b.yaml (is the object there?): NoSuchKey"},
		{"another object", set("Key", "C"), "s3://assets/C is not the file that is deployed: its SHA-256 is "},
		{"rules that are not valid", func(w *world, e *cfn.Event) {
			w.objects["B"] = []byte("rules:\n  - {name: b, key: all, limits: [{capacity: 1, window: 60}]}\n")
			e.ResourceProperties["Hash"] = predeploy.Hash(w.objects["B"])
			e.ResourceProperties["File"] = "config/shop.yaml"
		}, "config/shop.yaml:2:56: rules[0].limits[0].window: "},
		{"no answer of CloudFormation", func(w *world, _ *cfn.Event) { w.status = "" }, "ask whether the stack rolls back: AccessDenied"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			if err := w.do("create A"); err != nil {
				t.Fatal(err)
			}
			e := w.event("shop", "A", "B", "")
			tt.change(w, &e)
			before := w.current()
			if err := w.send(e); err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %v, want %q", err, tt.want)
			}
			if after := w.current(); after != before {
				t.Errorf("version %d is in force, want %d", after, before)
			}
		})
	}
}

// TestReasonFits: CloudFormation takes answers of 4,096 bytes, and a bad file has
// many lines.
func TestReasonFits(t *testing.T) {
	w := newWorld(t)
	w.objects["A"] = []byte("rules:\n" + strings.Repeat("  - {name: \"ü\\n\"}\n", 2000))
	e := w.event("shop", "", "A", "")
	e.ResourceProperties["Hash"] = predeploy.Hash(w.objects["A"])
	err := w.send(e)
	if err == nil || len(err.Error()) > maxReason+50 || !strings.HasSuffix(err.Error(), "(the function's log has all)") {
		t.Errorf("error of %d bytes: %v", len(err.Error()), err)
	}
}

// TestDelete: the end of a resource reads and writes nothing, so it succeeds
// without its table.
func TestDelete(t *testing.T) {
	p := publisher{} // without AWS
	id, _, err := p.handle(t.Context(), cfn.Event{RequestType: cfn.RequestDelete, PhysicalResourceID: "gone"})
	if id != "gone" || err != nil {
		t.Errorf("%q, error %v", id, err)
	}
}

// TestNoTable: a table that is gone fails a deployment, and names the table.
func TestNoTable(t *testing.T) {
	w := newWorld(t)
	w.name = dynamotest.Name()
	_, _, err := w.publisher().handle(t.Context(), w.event("shop", "", "A", ""))
	if !strings.Contains(fmt.Sprint(err), "table "+w.name) || !strings.Contains(fmt.Sprint(err), "does not exist") {
		t.Errorf("error %v", err)
	}
}
