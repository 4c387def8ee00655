package operator

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/operator/session"
	"github.com/slidegate/slidegate/cmd/slidegate/internal/text"
	"github.com/slidegate/slidegate/internal/decide/apikeys"
	"github.com/slidegate/slidegate/internal/request"
	"github.com/slidegate/slidegate/internal/rules"
	"github.com/slidegate/slidegate/internal/rules/ruletable"
)

// NewAPIKeyReport is a new API key, with its secret, which nothing can show
// again.
type NewAPIKeyReport struct {
	Secret string `json:"secret"` // the whole key, as clients send it
	ruletable.APIKey
	// Replaces is the key that a rotation has replaced, which ends at ReplacedUntil.
	Replaces      string    `json:"replaces,omitempty"`
	ReplacedUntil time.Time `json:"replaced_until,omitzero"`
}

// keepSecret is the note beside a new key.
const keepSecret = "keep the secret now: nothing can show it again"

// APIKeyReport is a key of a list, or one that was revoked.
type APIKeyReport struct {
	ruletable.APIKey
	State string `json:"state"` // active, expired or revoked
}

func reportAPIKey(k *ruletable.APIKey, now time.Time) *APIKeyReport {
	state := "active"
	switch {
	case !k.Revoked.IsZero():
		state = "revoked"
	case k.Expired(now):
		state = "expired"
	}
	return &APIKeyReport{*k, state}
}

// APIKeyOptions describe a new key.
type APIKeyOptions struct {
	Table   string
	ID      string         // the caller in rules; the key's name if it is empty
	Plan    string         // "" for none
	Claims  map[string]any // nil for none; without plan if Plan is set
	Expires time.Time      // zero for never
}

// CreateAPIKey makes a key and stores its hash. It warns if the rules in force do
// not verify such keys, or do not give the caller the plan.
func CreateAPIKey(ctx context.Context, o *APIKeyOptions, note ruletable.Note, listener Listener) (*NewAPIKeyReport, error) {
	table, err := session.OpenTable(ctx, o.Table)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	if err := warnOfRules(ctx, o, table, listener); err != nil {
		return nil, err
	}
	k := apikeys.New()
	stored := ruletable.APIKey{Name: k.Name(), Hash: k.Hash(), ID: o.ID, Plan: o.Plan, Expires: o.Expires, Note: note}
	if o.ID == "" {
		stored.ID = k.Name()
	}
	if len(o.Claims) > 0 {
		claims, err := json.Marshal(o.Claims)
		if err != nil {
			return nil, err
		}
		stored.Claims = ruletable.JSONText(claims)
	}
	if err := table.CreateAPIKey(ctx, stored); err != nil {
		return nil, err
	}
	listener.Note(keepSecret)
	return &NewAPIKeyReport{Secret: k.Secret(), APIKey: stored}, nil
}

// warnOfRules warns if the rules in force would take no key of the table, or
// would not give the caller its plan. There may be no rules yet. Only a key with
// a plan needs rules that can be read.
func warnOfRules(ctx context.Context, o *APIKeyOptions, table *ruletable.Table, listener Listener) error {
	set, _, err := session.InForce(ctx, table)
	if errors.Is(err, ruletable.ErrNone) || err != nil && o.Plan == "" {
		return nil
	}
	if err != nil {
		return err
	}
	switch a := set.Document().Authentication; {
	case a == nil || a.APIKey == nil:
		listener.Warn("the rules in force do not verify API keys: write authentication: {api_key: {}}")
	case a.APIKey.From != "":
		listener.Warn("the rules in force take API Gateway's keys and not this one: remove authentication.api_key.from")
	}
	warnOfPlan(o, set, listener)
	return nil
}

func warnOfPlan(o *APIKeyOptions, set *rules.Set, listener Listener) {
	if o.Plan == "" {
		return
	}
	caller := &request.Request{APIKey: o.ID, Claims: map[string]any{"plan": o.Plan}}
	for name, value := range o.Claims {
		caller.Claims[name] = value
	}
	if set.Plan(caller) == o.Plan {
		return
	}
	why := set.WhyPlan(caller)
	if why == "" {
		why = "they read none from requests: write plan: {from: jwt.plan}"
	}
	listener.Warn("the rules in force do not give the key's caller the plan %s: %s", text.Printable(o.Plan), why)
}

// RevokeAPIKey ends a key at once; report is nil for one that could not be read
// and was removed.
func RevokeAPIKey(ctx context.Context, table, name string, note ruletable.Note, listener Listener) (report *APIKeyReport, err error) {
	from, name, err := openAPIKey(ctx, table, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	k, err := from.RevokeAPIKey(ctx, name, note)
	if err != nil {
		return nil, err
	}
	if k == nil {
		listener.Warn("the item of %s could not be read, and is removed", name)
		k = &ruletable.APIKey{Name: name, Revoked: note.When}
	}
	return reportAPIKey(k, note.When), nil
}

// RotateAPIKey makes a successor for a key, which then ends after overlap.
func RotateAPIKey(ctx context.Context, table, name string, overlap time.Duration, note ruletable.Note, listener Listener) (*NewAPIKeyReport, error) {
	from, name, err := openAPIKey(ctx, table, name)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, session.ChangeTime)
	defer cancel()
	k := apikeys.New()
	next := ruletable.APIKey{Name: k.Name(), Hash: k.Hash()}
	old, created, err := from.RotateAPIKey(ctx, name, next, note.When.Add(overlap).UTC().Truncate(time.Second), note)
	if err != nil {
		return nil, err
	}
	listener.Note(keepSecret)
	return &NewAPIKeyReport{Secret: k.Secret(), APIKey: *created, Replaces: old.Name, ReplacedUntil: old.Expires}, nil
}

// openAPIKey reads the name of a key, and returns the table with it.
func openAPIKey(ctx context.Context, table, typed string) (from *ruletable.Table, name string, err error) {
	if name, err = apikeys.ParseName(typed); err == nil {
		from, err = session.OpenTable(ctx, table)
	}
	return from, name, err
}

// APIKeyListOptions select the keys to list.
type APIKeyListOptions struct {
	Table string
	ID    string // "" for all
	All   bool   // with those that are expired or revoked
}

// ListAPIKeys passes the keys to show, in the order of their names, each as soon
// as it is read.
func ListAPIKeys(ctx context.Context, o *APIKeyListOptions, listener Listener, show func(*APIKeyReport) error) error {
	table, err := session.OpenTable(ctx, o.Table)
	if err != nil {
		return err
	}
	now, listed, unreadable, ended := time.Now(), 0, 0, 0
	for k, err := range table.APIKeys(ctx, "") {
		if errors.Is(err, ruletable.ErrUnreadableKey) {
			unreadable++
			listener.Note("%v", err)
			continue
		}
		if err != nil {
			return err
		}
		report := reportAPIKey(k, now)
		switch {
		case o.ID != "" && k.ID != o.ID:
			continue
		case !o.All && report.State != "active":
			ended++
			continue
		}
		if err := show(report); err != nil {
			return err
		}
		listed++
	}
	if ended > 0 {
		listener.Note("%s revoked or expired: --all lists them", text.Plural(ended, "key"))
	}
	if listed+ended+unreadable == 0 {
		listener.Note("the table holds no such API keys")
	}
	return nil
}
