package apigw

import (
	"encoding/json"
	"strings"

	"github.com/slidegate/slidegate/internal/request"
)

const (
	// claimPrefix begins the names of claims in a context, so that no claim takes
	// the place of another value.
	claimPrefix = "claim_"
	// maxClaims bounds the claims of a context, in bytes of JSON.
	maxClaims = 2048
	// maxContext bounds the context of an allowed request, in bytes of JSON. A
	// WebSocket API takes answers of 8 KB, with the policy.
	maxContext = 6 << 10
	// othersLen is more than all values have that are not counted one by one.
	othersLen = 1 << 10
)

// pass adds the claims with these names that the caller has, while there is room.
// It calls leftOut with the others, and why. Fields of limits for which there is no
// room then are left out.
func (c *Context) pass(names []string, r *request.Request, leftOut func(name, why string)) {
	room := maxClaims
	for _, name := range names {
		value, why := claimText(r.Claim(name))
		size := jsonLen(claimPrefix+name) + jsonLen(value) + len(":,")
		switch {
		case why != "":
			leftOut(name, why)
		case size > room:
			leftOut(name, "there is no room for it")
		case value != "":
			if c.Claims == nil {
				c.Claims = map[string]string{}
			}
			c.Claims[claimPrefix+name], room = value, room-size
		}
	}
	room += maxContext - maxClaims - othersLen - len(c.Receipt)
	for _, list := range []*string{&c.RateLimit, &c.RateLimitPolicy} {
		if room -= len(*list) + strings.Count(*list, `"`); room < 0 {
			*list = ""
		}
	}
}

// claimText returns a claim as a backend gets it, "" for a missing one; or why it
// cannot be passed on. Spaces join a list.
func claimText(claim any) (text, why string) {
	if text, ok := request.Plain(claim); ok || claim == nil {
		return text, ""
	}
	list, ok := claim.([]any)
	if !ok {
		return "", "it is an object"
	}
	texts := make([]string, len(list))
	for i, entry := range list {
		text, ok := request.Plain(entry)
		switch {
		case !ok:
			return "", "its list has an entry that is no text, number or boolean"
		case strings.Contains(text, " "):
			return "", "its list has an entry with a space, which would become two"
		}
		texts[i] = text
	}
	return strings.Join(texts, " "), ""
}

// jsonLen returns the length of a text as JSON.
func jsonLen(text string) int {
	data, _ := json.Marshal(text)
	return len(data)
}
