package doctor

import (
	"encoding/json"
	"errors"
	"strings"

	"github.com/slidegate/slidegate/internal/operator/aws"
)

// wanted is what the template of a limiter says of its parts.
type wanted struct {
	version string
	logging map[string]any // LoggingConfig of the function
	expiry  string         // the TTL attribute of counters
	rights  []right
}

// right is an action of the function's role on a resource: on counters, rules or
// log, or on an ARN.
type right struct{ action, on string }

func (r right) String() string { return r.action + " on " + r.on }

// The resources of rights.
const (
	onCounters = "counters"
	onRules    = "rules"
	onLog      = "log"
)

// node is a part of a template.
type node struct{ value any }

// at returns a part by the names of fields; a node of nil for none.
func (n node) at(names ...string) node {
	for _, name := range names {
		fields, _ := n.value.(map[string]any)
		n.value = fields[name]
	}
	return n
}

func (n node) text() string {
	s, _ := n.value.(string)
	return s
}

// list returns the elements of a list. Policies have a single element without one.
func (n node) list() (all []node) {
	list, ok := n.value.([]any)
	if !ok && n.value != nil {
		return []node{n}
	}
	for _, value := range list {
		all = append(all, node{value})
	}
	return all
}

// ref returns the logical id of the resource that an expression names; or its text.
func (n node) ref() string {
	if id := n.at("Ref").text(); id != "" {
		return id
	}
	if of := n.at("Fn::GetAtt").list(); len(of) > 0 {
		return of[0].text()
	}
	return n.text()
}

// readWanted reads the template in a file, or that of the command if path is
// empty.
func readWanted(path string) (*wanted, error) {
	text, version, err := aws.Template(path)
	if err != nil {
		return nil, err
	}
	var t node
	if err := json.Unmarshal([]byte(text), &t.value); err != nil {
		return nil, err
	}
	output := func(end string) string { return t.at("Outputs", "RateLimit"+end, "Value").ref() }
	properties := func(id string) node { return t.at("Resources", id, "Properties") }
	counters, function := output("CountersTable"), properties(output("Function"))
	w := &wanted{version: version, expiry: properties(counters).at("TimeToLiveSpecification", "AttributeName").text()}
	w.logging, _ = function.at("LoggingConfig").value.(map[string]any)
	role, on := function.at("Role").ref(), map[string]string{
		counters: onCounters, output("RulesTable"): onRules, function.at("LoggingConfig", "LogGroup").ref(): onLog,
	}
	resources, _ := t.at("Resources").value.(map[string]any)
	for id := range resources {
		p := properties(id)
		if t.at("Resources", id, "Type").text() != "AWS::IAM::Policy" || p.at("Roles").list()[0].ref() != role {
			continue
		}
		for _, s := range p.at("PolicyDocument", "Statement").list() {
			for _, action := range s.at("Action").list() {
				for _, resource := range s.at("Resource").list() {
					id := resource.ref()
					if on[id] != "" {
						id = on[id]
					}
					w.rights = append(w.rights, right{action.text(), id})
				}
			}
		}
	}
	if w.expiry == "" || w.logFormat() == "" || len(w.rights) == 0 {
		return nil, errors.New("the template lacks the parts of a limiter: give --template of this command's version")
	}
	return w, nil
}

func (w *wanted) logFormat() string {
	format, _ := w.logging["LogFormat"].(string)
	return format
}

// loggingOptions returns the logging configuration as the AWS command line takes
// it, with the log group of a deployment.
func (w *wanted) loggingOptions(group string) string {
	options := []string{"LogFormat=" + w.logFormat(), "LogGroup=" + group}
	for _, name := range []string{"ApplicationLogLevel", "SystemLogLevel"} {
		if level, ok := w.logging[name].(string); ok {
			options = append(options, name+"="+level)
		}
	}
	return strings.Join(options, ",")
}
