package dynamomodel

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// The mutations that more than one test uses. Each breaks the term that its
// comment names; docs/protocol.md explains the terms.
var (
	// AnyGeneration breaks e = :e: a snapshot serves for any generation.
	AnyGeneration = Condition("#e = :e", "attribute_exists(#e)")
	// AnyOrder breaks h <= :q: a charge may go to an earlier slot.
	AnyOrder = Condition("#XH <= :Xq", "attribute_exists(#XH)")
	// AnyTotal breaks C <= :B.
	AnyTotal = Condition("#XC <= :Xb", "attribute_exists(#XC)")
	// OneUnitTooMany breaks C <= :B by one unit.
	OneUnitTooMany = WithNumber(":Xlooser",
		func(u *types.Update, prefix string) int64 { return ValueOf(u, ":"+prefix+"b") + 1 },
		Condition("#XC <= :Xb", "#XC <= :Xlooser"))
	// AnyCredit breaks f >= :c.
	AnyCredit = Condition("#XF >= :Xc", "attribute_exists(#XF)")
	// CreditOfOne breaks f >= :c: one unit of credit covers any cost.
	CreditOfOne = WithNumber(":Xone", Exactly(1), Condition("#XF >= :Xc", "#XF >= :Xone"))
	// AnyCapacity breaks n = :N: credit of another capacity counts.
	AnyCapacity = Condition("#XN = :Xn", "attribute_exists(#XN)")
	// CreditOfEmptyWindow breaks f = B - C: the credit ignores what was
	// charged.
	CreditOfEmptyWindow = WithNumber(":Xfull",
		func(u *types.Update, prefix string) int64 {
			return ValueOf(u, ":"+prefix+"n") - ValueOf(u, ":"+prefix+"c")
		},
		Assignment(":Xb - #XC", ":Xfull"))
	// FreeColdCharge breaks f = f - :c of a charge without a snapshot.
	FreeColdCharge = Assignment("if_not_exists(#XF, :Xn) - :Xc", "if_not_exists(#XF, :Xn)")
	// FullCreditWhenCold breaks the same: the credit starts again.
	FullCreditWhenCold = Assignment("if_not_exists(#XF, :Xn) - :Xc", ":Xn - :Xc")
	// FreeIdleCharge breaks f = f - :c of a charge with an idle snapshot.
	FreeIdleCharge = Assignment("#XF = #XF - :Xc", "#XF = #XF")
	// CapacityOfIdleCharge has such a charge change the credit's capacity.
	CapacityOfIdleCharge = Assignment("#XF = #XF - :Xc", "#XF = #XF - :Xc, #XN = :Xn").where(newest.MatchString)
	// TotalStays breaks C = C + :c of a charge with a snapshot.
	TotalStays = Assignment("#XC = #XC + :Xc", "#XC = #XC")
	// NewestStays breaks h = :q.
	NewestStays = Assignment("#XH = :Xq", "#XH = if_not_exists(#XH, :Xq)")
	// NoSlack breaks the hour that an item outlives its last window.
	NoSlack = Shift(":ttl", Exactly(-3600))

	// ExtraTotalStays breaks C = C + :r of a settlement.
	ExtraTotalStays = Assignment("#XC = if_not_exists(#XC, :zero) + :Xr", "#XC = if_not_exists(#XC, :Xr)")
	// FreeExtraCharge breaks f = f - :r of a settlement.
	FreeExtraCharge = Assignment("if_not_exists(#XF, :Xn) - :Xr", "if_not_exists(#XF, :Xn)")

	// BucketWithoutBound breaks T <= :latest.
	BucketWithoutBound = Condition("#XT <= :Xl", "attribute_exists(#XT)")
	// BucketOneChargeTooMany breaks T <= :latest by one charge.
	BucketOneChargeTooMany = Shift(":Xl", func(u *types.Update, prefix string) int64 { return ValueOf(u, ":"+prefix+"i") })
	// BucketAlwaysFull breaks T <= :now: a draining bucket counts as full.
	BucketAlwaysFull = Condition("#XT <= :Xt", "attribute_exists(#XT)")

	// LogOfAnyVersion breaks C = :v of a log.
	LogOfAnyVersion = Condition("#XC = :Xv", "attribute_exists(#XC)")
	// LogOverAny breaks attribute_not_exists(C) of a log without a snapshot.
	LogOverAny = Condition("attribute_not_exists(#XC)", "(attribute_not_exists(#XC) OR attribute_exists(#XC))")
)

// CreateFromSnapshot lets a charge with a snapshot create the item, as a charge
// without one does.
func CreateFromSnapshot(u *types.Update) {
	if !strings.Contains(*u.ConditionExpression, "#e = :e") || !strings.Contains(*u.UpdateExpression, "#aC") || settles(*u.UpdateExpression) {
		return
	}
	if !newest.MatchString(*u.UpdateExpression) {
		*u.UpdateExpression = known.ReplaceAllString(*u.UpdateExpression, "$1 = if_not_exists($1, :zero) + :${2}c, #${2}H = :${2}q")
		u.ExpressionAttributeValues[":zero"] = Number(0)
	}
	*u.ConditionExpression = "attribute_not_exists(#e) OR (" + *u.ConditionExpression + ")"
	*u.UpdateExpression = strings.Replace(*u.UpdateExpression, "SET ", "SET #e = :e, ", 1)
	Assignment(
		"#XC = #XC + ", "#XC = if_not_exists(#XC, :zero) + ",
		"- #XC", "- if_not_exists(#XC, :zero)",
		"#XF = #XF - ", "#XF = if_not_exists(#XF, :zero) - ",
	)(u)
}

// InKnownSlots does what InNewSlots says.
func (m Mutation) InKnownSlots() Mutation {
	return m.where(func(s string) bool { return !settles(s) && !newest.MatchString(s) })
}

var (
	newest = regexp.MustCompile(`#[a-h]H = `)
	known  = regexp.MustCompile(`(#([a-h])[0-9a-z_]+) = #[a-h][0-9a-z_]+ \+ :[a-h]c\b`)
)

// LowerTotal takes refunded units off the total too.
func LowerTotal(u *types.Update) {
	*u.UpdateExpression = refund.ReplaceAllString(*u.UpdateExpression, "$1, #${2}C = #${2}C - :${2}r")
}

// RaiseCredit adds refunded units to the credit.
func RaiseCredit(u *types.Update) {
	*u.UpdateExpression = refund.ReplaceAllString(*u.UpdateExpression, "$1, #${2}F = #${2}F + :${2}r")
}

// RemovePrevious removes the slot before the one that limit a charges. With k
// of at least 1 it still counts.
func RemovePrevious(u *types.Update) {
	if !strings.Contains(*u.UpdateExpression, "#aC") || u.ExpressionAttributeValues[":aq"] == nil || settles(*u.UpdateExpression) {
		return
	}
	Remove("a" + strconv.FormatInt(ValueOf(u, ":aq")-1, 36))(u)
}

// Remove returns a mutation that removes an attribute, unless the write names
// it.
func Remove(attribute string) Mutation {
	name := "#" + strings.ReplaceAll(attribute, "-", "_")
	return func(u *types.Update) {
		if uses(u, name) {
			return
		}
		u.ExpressionAttributeNames[name] = attribute
		clause := " REMOVE "
		if strings.Contains(*u.UpdateExpression, "REMOVE ") {
			clause = ", "
		}
		*u.UpdateExpression += clause + name
	}
}
