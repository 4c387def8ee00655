package doctor

import (
	"cmp"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strings"

	"github.com/slidegate/slidegate/cmd/slidegate/internal/aws"
)

// wanted is what the template of a limiter says of its parts.
type wanted struct {
	version string
	logging map[string]any // LoggingConfig of the function
	expiry  string         // the TTL attribute of counters
	rights  []right        // on counters, rules and log, or on ARNs
}

// The resources of wanted rights.
const (
	onCounters = "counters"
	onRules    = "rules"
	onLog      = "log"
)

// resource has the properties of a template's resource that this package reads.
type resource struct {
	Properties struct {
		TimeToLiveSpecification struct{ AttributeName string }
		LoggingConfig           map[string]any
		Role                    ref
		Roles                   []ref
		PolicyDocument          policy
	}
}

// ref is a text, or the logical id of the resource that an expression names.
type ref string

// UnmarshalJSON reads a text, Ref or Fn::GetAtt. Other expressions are empty.
func (r *ref) UnmarshalJSON(data []byte) error {
	var e struct {
		Ref string
		Att []string `json:"Fn::GetAtt"`
	}
	if json.Unmarshal(data, (*string)(r)) == nil {
		return nil
	}
	err := json.Unmarshal(data, &e)
	*r = ref(strings.Join(append([]string{e.Ref}, e.Att[:min(1, len(e.Att))]...), ""))
	return err
}

// oneOrMore is a list, or its only element.
type oneOrMore[T any] []T

// UnmarshalJSON reads both forms.
func (l *oneOrMore[T]) UnmarshalJSON(data []byte) error {
	if strings.HasPrefix(string(data), "[") {
		return json.Unmarshal(data, (*[]T)(l))
	}
	*l = make([]T, 1)
	return json.Unmarshal(data, &(*l)[0])
}

// readWanted reads the template in a file, or that of the command if path is
// empty.
func readWanted(path string) (*wanted, error) {
	text, version, err := aws.Template(path)
	if err != nil {
		return nil, err
	}
	var t struct {
		Resources map[string]resource
		Outputs   map[string]struct{ Value ref }
	}
	if err := json.Unmarshal([]byte(text), &t); err != nil {
		return nil, err
	}
	id := func(output string) string { return string(t.Outputs["RateLimit"+output].Value) }
	counters, function := t.Resources[id("CountersTable")].Properties, t.Resources[id("Function")].Properties
	w := &wanted{version: version, logging: function.LoggingConfig, expiry: counters.TimeToLiveSpecification.AttributeName}
	on := map[string]string{id("CountersTable"): onCounters, id("RulesTable"): onRules}
	if group, ok := w.logging["LogGroup"].(map[string]any); ok {
		log, _ := group["Ref"].(string)
		on[log] = onLog
	}
	for _, name := range slices.Sorted(maps.Keys(t.Resources)) {
		p := t.Resources[name].Properties
		if slices.Contains(p.Roles, function.Role) {
			for _, r := range p.PolicyDocument.states() {
				w.rights = append(w.rights, right{r.action, cmp.Or(on[r.on], r.on)})
			}
		}
	}
	if w.expiry == "" || w.logging["LogFormat"] == nil || len(w.rights) == 0 {
		return nil, errors.New("the template lacks the parts of a limiter: give --template of this command's version")
	}
	return w, nil
}
