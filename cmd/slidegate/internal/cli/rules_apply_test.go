package cli

import (
	"context"
	"fmt"
	"maps"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/command"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/rulescmd"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/traffic/logs"
	"github.com/slidegate/slidegate/internal/rules/ruledoc"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// An interrupted comparison says so and prints nothing.
func TestInterruptedComparison(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	end()
	r := slidegate(ctx, "", "rules diff testdata/next.yaml --rules testdata/rules.yaml --against testdata/day.log")
	if r.code != 1 || r.stdout != "" || r.stderr != "slidegate: interrupted\n" {
		t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.stderr)
	}
}

func TestApplyShowsWhatChanges(t *testing.T) {
	table := newTable(t)
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s")
	log := file(t, "day.jsonl", strings.Repeat(`{"time":1,"method":"GET","path":"/","jwt":{"sub":"ann"}}`+"\n", 2)+`{"time":2,"method":"GET","path":"/","jwt":{"sub":"bob"}}`+"\n")
	apply := func(more string) string { return mustRun(t, "rules apply "+more+table.at) }

	want := files[0] + " changes a table without rules:\n" +
		"  rule api: added: {key: user:{jwt.sub}, overrides: user:{jwt.sub}, limits: [{capacity: 2, window: 1m, granularity: 1s}]}\n\n" +
		files[0] + " is version 1 of table " + table.name + " and in force\n"
	wantSame(t, "the output", want, apply(files[0]))

	changes := files[1] + " changes version 1:\n  rule api, capacity: from 2 to 1\n  rule api: its counters keep their windows\n\n" +
		"of 3 recorded requests in 1s of traffic:\n" +
		"  allowed before, denied now  1  33.3%  ████████\n" +
		"  denied before, allowed now  0   0.0%\n\n" +
		"now denied  now allowed  rule\n         1            0  api\n\n" +
		"now denied  now allowed  rule  key\n         1            0  api   user:ann\n\n"
	dry := changes + "nothing was published: --dry-run\n"
	wantSame(t, "the output", dry, apply(files[1]+" --against "+log+" --dry-run"))
	table.wantInForce(t, 1, 1)

	done := changes + files[1] + " is version 2 of table " + table.name + " and in force\n"
	wantSame(t, "the output", done, apply(files[1]+" --against "+log))
	wantSame(t, "diff", files[1]+" means the same as version 2\n", mustRun(t, "rules diff "+files[1]+table.at))
	report := mustReport[published](t, "rules apply "+files[0]+" --against "+log+table.at)
	if report.Version != 3 || report.From != 2 || report.Against.ToAllowed != 1 || report.Against.Requests != 3 {
		t.Errorf("apply reports %+v", report)
	}
}

// A file that is in force already leaves no version and no line in the history.
// One whose comments alone differ is published: the table keeps the text too.
func TestApplyOfAnUnchangedFile(t *testing.T) {
	table := newTable(t)
	rules := ruleFiles(t, "capacity: 2, window: 60s")[0]
	table.apply(t, rules)
	want := rules + " means the same as version 1\n\nnothing was published: version 1 has this very text\n"
	for _, more := range []string{"", " --dry-run", " --why again"} {
		wantSame(t, more, want, mustRun(t, "rules apply "+rules+table.at+more))
	}
	table.wantInForce(t, 1, 1)

	commented := file(t, "rules.yaml", "# Mondays are busy.\n"+read(t, rules))
	if r := mustReport[published](t, "rules apply "+commented+table.at); !r.Published || r.Version != 2 || len(r.Changes) != 0 {
		t.Errorf("reported %+v", r)
	}
	table.wantInForce(t, 2, 2)
}

// An earlier Slidegate may have read the
// same text as another document. Then it is published again.
func TestApplyOfATextWithAnotherMeaning(t *testing.T) {
	table := newTable(t)
	rules := ruleFiles(t, "capacity: 2, window: 60s")[0]
	other := ruletable.Version{Text: []byte(read(t, rules)), Document: &ruledoc.Document{Rules: []ruledoc.Rule{}}, Note: ruletable.Note{Who: "jo", When: time.Now()}}
	if _, err := table.Publish(t.Context(), other, 0); err != nil {
		t.Fatal(err)
	}
	if r := mustReport[published](t, "rules apply "+rules+table.at); !r.Published || r.Version != 2 {
		t.Errorf("published %v, version %d", r.Published, r.Version)
	}
}

// A version published after the changes were worked out is not overwritten.
func TestApplyIsConditional(t *testing.T) {
	table := newTable(t)
	files := ruleFiles(t, "capacity: 2, window: 60s", "capacity: 1, window: 60s", "capacity: 3, window: 60s")
	table.apply(t, files[0])
	p, err := rulescmd.PrepareApply(t.Context(), &command.Console{Stderr: os.Stderr}, files[1], table.name, logs.Traffic{})
	if err != nil {
		t.Fatal(err)
	}
	table.apply(t, files[2])
	err = p.Publish(t.Context(), ruletable.Note{Who: "jo", When: time.Now()})
	if err == nil || !strings.Contains(err.Error(), "somebody else has changed this") {
		t.Errorf("published over another: %v", err)
	}
	table.wantInForce(t, 2, 2)
}

// A version in force that is not valid can be replaced, without a comparison.
func TestApplyOverAnInvalidVersion(t *testing.T) {
	table := newTable(t)
	note := ruletable.Note{Who: "jo", When: time.Now()}
	if _, err := table.Publish(t.Context(), ruletable.Version{Text: []byte("rules: 7"), Document: &ruledoc.Document{}, Note: note}, 0); err != nil {
		t.Fatal(err)
	}
	file := ruleFiles(t, "capacity: 2, window: 60s")[0]
	for _, command := range []string{"rules diff ", "rules apply --against testdata/day.log "} {
		if r := wantExit(t, 1, command+file+table.at, table.place+" version 1: rules: is missing"); r.stdout != "" {
			t.Errorf("%s printed %q", command, r.stdout)
		}
	}
	got := mustRun(t, "rules apply "+file+table.at)
	if !strings.HasPrefix(got, "version 1 is not valid here, so what "+file+" changes is not known: ") ||
		!strings.HasSuffix(got, file+" is version 2 of table "+table.name+" and in force\n") {
		t.Errorf("printed %q", got)
	}
}

// A damaged pointer is named by every command that reads it, and mended by apply of
// the same file and by rollback.
func TestDamagedPointer(t *testing.T) {
	table := newTable(t)
	file := ruleFiles(t, "capacity: 2, window: 60s")[0]
	table.apply(t, file)
	last := 1
	for name, damaged := range map[string]map[string]types.AttributeValue{
		"no version":         {},
		"too high a version": {"version": &types.AttributeValueMemberN{Value: "99999999999"}},
		"json that is none": {
			"version": &types.AttributeValueMemberN{Value: "1"}, "json": &types.AttributeValueMemberB{Value: []byte("damaged")},
		},
	} {
		damage := func() {
			t.Helper()
			maps.Copy(damaged, attributes("set", "current"))
			if _, err := table.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table.name, Item: damaged}); err != nil {
				t.Fatal(err)
			}
		}
		damage()
		const said = "item (set, current) is damaged; `slidegate rules apply FILE` and `slidegate rules rollback VERSION` write it anew: "
		wantFailure(t, "rules diff "+file+table.at, said)
		mustRun(t, "rules list"+table.at)
		mustRun(t, "rules get 1"+table.at)
		last++
		if got := mustRun(t, "rules apply "+file+table.at); !strings.Contains(got, said) ||
			!strings.HasSuffix(got, fmt.Sprintf("%s is version %d of table %s and in force\n", file, last, table.name)) {
			t.Errorf("%s: apply printed %q", name, got)
		}
		table.wantInForce(t, int64(last), -1)
		damage()
		if got := mustRun(t, "rules rollback 1 --why damage --who jo"+table.at); !strings.Contains(got, "version 1 is in force again") {
			t.Errorf("%s: rollback printed %q", name, got)
		}
		table.wantInForce(t, 1, -1)
		wantFailure(t, "rules rollback 1 --why x --who jo"+table.at, "this version is in force already")
	}
}
