package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/cli/keyscmd"
	"github.com/slidegate/slidegate/internal/decide/apikeys"
)

// created is a NewKeyReport whose claims stay JSON.
type created struct {
	keyscmd.NewKeyReport
	Claims json.RawMessage `json:"claims"`
}

// newKeys creates API keys, and returns their names.
func (x *table) newKeys(t *testing.T, flags ...string) (names []string) {
	t.Helper()
	for _, more := range flags {
		report := mustReport[created](t, "apikeys create --who jo --why 'first keys' "+more+x.at)
		if k, ok := apikeys.Parse(report.Secret); !ok || k.Name() != report.Name {
			t.Errorf("the secret %s is not one of %s", report.Secret, report.Name)
		}
		names = append(names, report.Name)
	}
	return names
}

func TestAPIKeys(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	keys := table.newKeys(t, "--id acme --plan pro --until 2100-01-01T00:00:00Z", "--id zeta")
	scrub := table.scrub
	table.scrub = func(text string) string {
		return scrubber(`sg_[0-9a-f]{16}_[A-Z2-7]{26}`, "sg_SECRET", `sg_[0-9a-f]{16}`, "sg_NEW")(scrub(text))
	}
	table.transcript(t, "apikeys", "FIRST", keys[0], "SECOND", keys[1])
}

// TestAPIKeyNotVerified: a key that the rules in force do not take draws a
// warning. Its caller would be anonymous.
func TestAPIKeyNotVerified(t *testing.T) {
	for name, want := range map[string]string{"rules.yaml": "write authentication: {api_key: {}}", "gateway-keys.yaml": "remove authentication.api_key.from"} {
		r := slidegate(t.Context(), "", "apikeys create --who jo --why x"+newTable(t, "testdata/"+name).at)
		if r.code != 0 || !strings.Contains(r.stderr, want) {
			t.Errorf("%s: exit %d, stderr %q, want %q", name, r.code, r.stderr, want)
		}
	}
}

// The listed keys are in the order of their names, which are random.
func TestAPIKeysList(t *testing.T) {
	table := newTable(t, "testdata/business.yaml")
	keys := table.newKeys(t, "--id acme", "--id zeta --claim tenant=7", "--id acme")
	mustRun(t, "apikeys revoke --why x "+keys[2]+table.at)
	_, err := table.client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &table.name, Item: attributes("apikey", "sg_broken")})
	if err != nil {
		t.Fatal(err)
	}
	for flags, want := range map[string][]string{
		"": keys[:2], "--all": keys, "--id acme": keys[:1], "--id acme --all": {keys[0], keys[2]}, "--id nobody": nil,
	} {
		for _, form := range []string{"", " --json"} {
			r := slidegate(t.Context(), "", "apikeys list "+flags+form+table.at)
			for _, name := range want {
				if !strings.Contains(r.stdout, name) {
					t.Errorf("%s%s lacks %s: %s", flags, form, name, r.stdout)
				}
			}
			if r.code != 0 || strings.Count(r.stdout, "\n") != len(want) || !strings.Contains(r.stderr, "sg_broken") {
				t.Errorf("%s%s: exit %d, printed %s%s", flags, form, r.code, r.stdout, r.stderr)
			}
		}
	}
}

// A key can be made before there are rules. No command but the one that makes it
// prints its secret, and the table does not have it.
func TestAPIKeySecret(t *testing.T) {
	table := newTable(t)
	secret := mustReport[keyscmd.NewKeyReport](t, "apikeys create --id acme --plan pro --why x"+table.at).Secret
	_, random, _ := strings.Cut(secret[3:], "_")
	var printed strings.Builder
	for _, command := range []string{"apikeys list --all", "apikeys list --all --json", "rules history", "rules history --json", "apikeys revoke --why x " + secret} {
		printed.WriteString(mustRun(t, command+table.at))
	}
	out, err := table.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: &table.name})
	if err != nil || len(out.Items) != 3 {
		t.Fatalf("%d items, %v; want a key and two changes", len(out.Items), err)
	}
	for _, item := range out.Items {
		for name, value := range item {
			printed.WriteString(name + textOf(value))
		}
	}
	if strings.Contains(printed.String(), random) || !strings.Contains(printed.String(), secret[:19]) {
		t.Errorf("the secret %s is in %s", secret, printed.String())
	}
}

func attributes(partition, sort string) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{"p": &types.AttributeValueMemberS{Value: partition}, "s": &types.AttributeValueMemberS{Value: sort}}
}

// textOf returns the text of an attribute; empty for a number.
func textOf(value types.AttributeValue) string {
	if text, ok := value.(*types.AttributeValueMemberS); ok {
		return text.Value
	}
	return ""
}
