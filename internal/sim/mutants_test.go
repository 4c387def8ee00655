//go:build !race

package sim_test

import (
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/slidegate/slidegate/internal/sim"
)

// condition and update replace what a pattern finds in a write's expressions. In patterns, L stands for the letter of a limit.
func condition(old, with string) sim.Tamper {
	pattern := letters(old)
	return func(in *dynamodb.UpdateItemInput) { replace(in.ConditionExpression, pattern, with) }
}

func update(old, with string) sim.Tamper {
	pattern := letters(old)
	return func(in *dynamodb.UpdateItemInput) { replace(in.UpdateExpression, pattern, with) }
}

func letters(pattern string) *regexp.Regexp {
	return regexp.MustCompile(strings.Replace(strings.ReplaceAll(regexp.QuoteMeta(pattern), "L", `[a-h]`), `[a-h]`, `([a-h])`, 1))
}

func replace(expression *string, pattern *regexp.Regexp, with string) {
	if expression != nil {
		*expression = pattern.ReplaceAllString(*expression, strings.ReplaceAll(with, "L", "${1}"))
	}
}

// settling confines a tamper to corrections, charging to charges.
func settling(t sim.Tamper) sim.Tamper {
	return func(in *dynamodb.UpdateItemInput) {
		if settles(in) {
			t(in)
		}
	}
}

func charging(t sim.Tamper) sim.Tamper {
	return func(in *dynamodb.UpdateItemInput) {
		if !settles(in) {
			t(in)
		}
	}
}

func settles(in *dynamodb.UpdateItemInput) bool {
	for name := range in.ExpressionAttributeValues {
		if len(name) == 3 && name[2] == 'r' {
			return true
		}
	}
	return false
}

// loosen adds to a number that the write names, for each limit.
func loosen(name string, by func(in *dynamodb.UpdateItemInput, letter string) int64) sim.Tamper {
	return func(in *dynamodb.UpdateItemInput) {
		for _, letter := range strings.Split("abcdefgh", "") {
			if name := strings.ReplaceAll(name, "L", letter); in.ExpressionAttributeValues[name] != nil {
				in.ExpressionAttributeValues[name] = number(value(in, name) + by(in, letter))
				if !strings.Contains(name, letter) {
					return
				}
			}
		}
	}
}

func exactly(n int64) func(*dynamodb.UpdateItemInput, string) int64 {
	return func(*dynamodb.UpdateItemInput, string) int64 { return n }
}

// with adds a number that a tampered expression names, for each limit.
func with(name string, is func(in *dynamodb.UpdateItemInput, letter string) int64, t sim.Tamper) sim.Tamper {
	return func(in *dynamodb.UpdateItemInput) {
		t(in)
		for _, letter := range strings.Split("abcdefgh", "") {
			if name := strings.ReplaceAll(name, "L", letter); strings.Contains(text(in), name) {
				in.ExpressionAttributeValues[name] = number(is(in, letter))
			}
		}
	}
}

func number(n int64) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

// value reads a number that the write names; 0 if it names none.
func value(in *dynamodb.UpdateItemInput, name string) int64 {
	n, ok := in.ExpressionAttributeValues[name].(*types.AttributeValueMemberN)
	if !ok {
		return 0
	}
	i, _ := strconv.ParseInt(n.Value, 10, 64)
	return i
}

func text(in *dynamodb.UpdateItemInput) string {
	return aws.ToString(in.ConditionExpression) + " " + aws.ToString(in.UpdateExpression)
}

// pruned drops names and values that no expression holds any more: DynamoDB refuses those.
func pruned(t sim.Tamper) sim.Tamper {
	word := regexp.MustCompile(`[#:][A-Za-z0-9_]+`)
	return func(in *dynamodb.UpdateItemInput) {
		t(in)
		used := map[string]bool{}
		for _, name := range word.FindAllString(text(in), -1) {
			used[name] = true
			if name[0] == '#' && in.ExpressionAttributeNames[name] == "" {
				in.ExpressionAttributeNames[name] = name[1:]
			}
		}
		maps.DeleteFunc(in.ExpressionAttributeNames, func(name, _ string) bool { return !used[name] })
		maps.DeleteFunc(in.ExpressionAttributeValues, func(name string, _ types.AttributeValue) bool { return !used[name] })
	}
}

// revive lets a write with a view pass through attribute_not_exists, as a write without one does.
func revive(in *dynamodb.UpdateItemInput) {
	if !strings.Contains(*in.ConditionExpression, "#e = :e") || in.ExpressionAttributeNames["#aC"] == "" || settles(in) {
		return
	}
	*in.ConditionExpression = "attribute_not_exists(#e) OR (" + *in.ConditionExpression + ")"
	*in.UpdateExpression = strings.Replace(*in.UpdateExpression, "SET ", "SET #e = :e, ", 1)
	replace(in.UpdateExpression, letters("#LC = #LC + "), "#LC = if_not_exists(#LC, :zero) + ")
	replace(in.UpdateExpression, letters("- #LC"), "- if_not_exists(#LC, :zero)")
	replace(in.UpdateExpression, letters("#LF = #LF - "), "#LF = if_not_exists(#LF, :zero) - ")
}

// lowerTotal takes units that are given back off the total too.
func lowerTotal(in *dynamodb.UpdateItemInput) {
	giveBack := regexp.MustCompile(`(#([a-h])[0-9a-z]+ = #[a-h][0-9a-z]+ - :[a-h]r)`)
	*in.UpdateExpression = giveBack.ReplaceAllString(*in.UpdateExpression, "$1, #${2}C = #${2}C - :${2}r")
}

// removeTooFar removes the oldest slot that still counts.
func removeTooFar(in *dynamodb.UpdateItemInput) {
	if in.ExpressionAttributeNames["#aC"] == "" || in.ExpressionAttributeValues[":aq"] == nil || settles(in) {
		return
	}
	slot := value(in, ":aq") - 1
	name := "#a" + strconv.FormatInt(slot, 36)
	if in.ExpressionAttributeNames[name] != "" {
		return
	}
	in.ExpressionAttributeNames[name] = name[1:]
	if strings.Contains(*in.UpdateExpression, "REMOVE ") {
		*in.UpdateExpression += ", " + name
	} else {
		*in.UpdateExpression += " REMOVE " + name
	}
}

// tried is how many worlds of a kind a mutant is tried in, and with how many decisions each.
const (
	tried     = 12
	decisive  = 20_000
	seedKills = 1
)

// TestLogIsNotBlind leaves out or weakens one term of the protocol at a time, in every write on its way to the table. The
// same worlds that hold with the real protocol must then break: the exact log finds more in some window than the limit allows,
// or, where it says so, the store itself no longer believes its counters.
func TestLogIsNotBlind(t *testing.T) {
	tests := []struct {
		term   string
		world  string
		store  bool // the store's own checks come first
		tamper sim.Tamper
	}{
		{"h <= :q", "clocks", true, charging(condition("#LH <= :Lq", "attribute_exists(#LH)"))},
		{"e = :e", "operators", false, charging(condition("#e = :e", "attribute_exists(#e)"))},
		{"a view makes no item", "operators", false, revive},
		{"C <= :B", "calm", false, condition("#LC <= :Lb", "attribute_exists(#LC)")},
		{"C <= :B, a unit looser", "calm", false, loosen(":Lb", exactly(1))},
		{"f >= :c", "calm", false, condition("#LF >= :Lc", "attribute_exists(#LF)")},
		{"f >= :c, as if it cost 1", "calm", false, with(":Lone", exactly(1), condition("#LF >= :Lc", "#LF >= :Lone"))},
		{"n = :N", "operators", false, condition("#LN = :Ln", "attribute_exists(#LN)")},
		{"f is reckoned from C", "calm", false, with(":Lfull", empty, update(":Lb - #LC", ":Lfull"))},
		{"without a view, f shrinks", "calm", false, charging(update("if_not_exists(#LF, :Ln) - :Lc", "if_not_exists(#LF, :Ln)"))},
		{"without a view, f only shrinks", "calm", false, charging(update("if_not_exists(#LF, :Ln) - :Lc", ":Ln - :Lc"))},
		{"an idle view leaves n", "tight", false, update("#LF = #LF - :Lc", "#LF = #LF - :Lc, #LN = :Ln")},
		{"an idle view lowers f", "faults", false, update("#LF = #LF - :Lc", "#LF = #LF")},
		{"C grows", "tight", false, charging(update("#LC = #LC + :Lc", "#LC = #LC"))},
		{"no slot that counts is removed", "calm", false, removeTooFar},
		{"ttl has slack", "idle", false, loosen(":ttl", exactly(-3600))},
		{"a limit not seen yet", "everything", false, charging(condition("AND attribute_not_exists(#LH)", "AND (attribute_not_exists(#LH) OR attribute_exists(#LH))"))},

		{"give back: e = :e", "corrections", false, settling(condition("#e = :e", "attribute_exists(#e)"))},
		{"give back: C stays", "corrections", false, lowerTotal},
		{"charge more: f shrinks", "corrections", false, settling(update("if_not_exists(#LF, :Ln) - :Lr", "if_not_exists(#LF, :Ln)"))},
		{"charge more: C grows", "corrections", true, settling(update("#LC = if_not_exists(#LC, :zero) + :Lr", "#LC = if_not_exists(#LC, :zero)"))},
		{"charge more: h <= :q", "tight", true, settling(condition("#LH <= :Lq", "attribute_exists(#LH)"))},
		{"charge more: h = :q", "corrections", true, settling(update("#LH = :Lq", "#LH = if_not_exists(#LH, :Lq)"))},

		{"bucket: tat <= :now + τ - cT", "algorithms", false, condition("#LT <= :Ll", "attribute_exists(#LT)")},
		{"bucket: a charge looser", "algorithms", false, loosen(":Ll", func(in *dynamodb.UpdateItemInput, l string) int64 { return value(in, ":"+l+"i") })},
		{"bucket: tat <= :now", "algorithms", false, condition("OR #LT <= :Lt", "OR attribute_exists(#LT)")},
		{"log: C = :v", "algorithms", false, condition("#LC = :Lv", "attribute_exists(#LC)")},
		{"log: none without a view", "algorithms", false, condition("attribute_not_exists(#LC)", "(attribute_not_exists(#LC) OR attribute_exists(#LC))")},
	}
	for _, test := range tests {
		t.Run(test.term, func(t *testing.T) {
			t.Parallel()
			kind := slices.Index(sim.Worlds(), test.world)
			for n := range tried {
				plan := sim.Draw(seedKills, kind+n*len(sim.Worlds()))
				if r := run(t, plan, decisive, pruned(test.tamper)); r.OverAdmissions > 0 || test.store && len(r.Violations) > 0 {
					t.Logf("world %d: %s", n, r.Violations[0].What)
					return
				}
			}
			t.Errorf("%d worlds of the kind %q hold without it", tried, test.world)
		})
	}
}

// empty is the credit of a window in which nothing is charged but this.
func empty(in *dynamodb.UpdateItemInput, letter string) int64 {
	return value(in, ":"+letter+"n") - value(in, ":"+letter+"c")
}
