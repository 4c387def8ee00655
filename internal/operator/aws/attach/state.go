package attach

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/slidegate/slidegate/internal/operator/aws/gateway"
)

// State is what a file holds of an API that attach changes: what was before, and
// the ids of what attach adds. By it a second attach goes on where the first one
// stopped, and detach takes everything back. What has been done is seen in the API
// itself too, so an end between a change and the file does no harm.
type State struct {
	Form       int         `json:"form"`     // of the file
	Protocol   string      `json:"protocol"` // REST, HTTP or WEBSOCKET
	API        string      `json:"api"`      // its id
	Name       string      `json:"name"`
	Stage      string      `json:"stage"`
	Region     string      `json:"region"`
	Limiter    string      `json:"limiter"` // stack://NAME or stack://NAME/ID
	Authorizer Authorizer  `json:"authorizer"`
	Responses  []Response  `json:"gateway_responses"`
	Methods    []Method    `json:"methods"`
	Deployment *Deployment `json:"deployment,omitempty"` // nil for a stage that deploys by itself
}

// form is the one that this package writes and reads.
const form = 1

// Authorizer is the one that attach adds. Its id is empty until then.
type Authorizer struct {
	gateway.Authorizer
	Done bool `json:"done"`
}

// Response is a gateway response before and after. Before is nil for one of API
// Gateway's own.
type Response struct {
	Type   string            `json:"type"`
	Before *gateway.Response `json:"before"`
	After  *gateway.Response `json:"after"`
	Done   bool              `json:"done"`
}

// Method is a method or route, and its authorization before. After it, the
// authorizer decides.
type Method struct {
	Name   string                `json:"name"`
	ID     string                `json:"id"` // of its resource, or of the route
	Before gateway.Authorization `json:"before"`
	Done   bool                  `json:"done"`
}

func (m *Method) is(found gateway.Method) bool { return found.Name == m.Name && found.ID == m.ID }

// names reports whether attach limits a method.
func (s *State) names(m gateway.Method) bool {
	return slices.ContainsFunc(s.Methods, func(own Method) bool { return own.is(m) })
}

// Deployment is what the stage serves before and after, by the deployments' ids.
// After is empty until there is one.
type Deployment struct {
	Before string `json:"before"`
	After  string `json:"after"`
	Done   bool   `json:"done"`
}

// Parse reads a state as its file has it.
func Parse(data []byte) (*State, error) {
	s := new(State)
	err := json.Unmarshal(data, s)
	if err == nil && (s.Form != form || len(s.Methods) == 0) {
		err = fmt.Errorf("its form is %d, not %d", s.Form, form)
	}
	if err != nil {
		return nil, fmt.Errorf("it is no file of this version's `slidegate aws attach`: %w", err)
	}
	return s, nil
}

// adopt takes an authorizer whose id attach could not save any more.
func (s *State) adopt(api *gateway.API) {
	for id, found := range api.Authorizers {
		if s.Authorizer.ID == "" && found.Name == s.Authorizer.Name && found.URI == s.Authorizer.URI {
			s.Authorizer.ID = id
		}
	}
}
