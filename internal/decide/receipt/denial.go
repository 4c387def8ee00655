package receipt

import (
	"encoding/json"
	"strings"
)

const (
	// deniedPrefix begins a denial. No receipt of a charge has a colon.
	deniedPrefix = "denied:"
	// maxDenial is the most characters of a denial, without its signature.
	maxDenial = 3500
)

// Denial is the answer to a request that the authorizer has denied and passed on,
// in place of a receipt.
type Denial struct {
	Status int               `json:"s"`
	Fields map[string]string `json:"f"`
	Body   string            `json:"b"`
}

// Denied returns a denial for the header of a backend. It leaves out a body that is
// too long, and all contents if there is no key to sign them with.
func (i *Issuer) Denied(d *Denial) string {
	encoded := encodeDenial(*d)
	if len(encoded) > maxDenial {
		encoded = encodeDenial(Denial{Status: d.Status, Fields: d.Fields})
	}
	if len(encoded) > maxDenial || len(i.keys) == 0 {
		encoded = deniedPrefix
	}
	return i.keys.Sign(encoded)
}

func encodeDenial(d Denial) string {
	data, _ := json.Marshal(d) // texts and a number
	return deniedPrefix + encoding.EncodeToString(data)
}

// Denied reports whether a header is a denial. Anybody may send one, who then is
// denied: the contents are nil unless they have a valid signature.
func (k Keys) Denied(header string) (contents *Denial, denied bool) {
	payload, _ := split(header)
	encoded, denied := strings.CutPrefix(payload, deniedPrefix)
	if !denied || !k.Signed(header) {
		return nil, denied
	}
	data, err := encoding.DecodeString(encoded)
	if err == nil {
		err = json.Unmarshal(data, &contents)
	}
	if err != nil || contents == nil || contents.Status < 400 || contents.Status > 599 {
		return nil, true
	}
	return contents, true
}
