package replay

import (
	"encoding/binary"
	"encoding/json"
	"net/netip"
	"strings"
	"time"
)

// The kinds of a claim's value in an encoded record.
const (
	plainClaim = "" // a text, of any bytes
	jsonClaim  = "j"
)

// encode appends a checked record without its time. While requests are sorted
// they are kept in this form: no line is parsed twice.
func (r *record) encode(b []byte) []byte {
	ip := r.IP
	if !r.addr.IsValid() {
		ip = ""
	}
	for _, field := range [...]string{ip, r.Method, r.Target, r.Route, r.APIKey} {
		b = appendField(b, field)
	}
	b = binary.AppendUvarint(b, uint64(len(r.headers)))
	for _, h := range r.headers {
		b = appendField(appendField(b, h.name), h.value)
	}
	if r.Claims == nil {
		return b
	}
	b = binary.AppendUvarint(b, uint64(len(r.Claims)))
	for name, value := range r.Claims {
		kind := plainClaim
		text, ok := value.(string)
		if !ok {
			encoded, _ := json.Marshal(value) // it came from JSON
			kind, text = jsonClaim, string(encoded)
		}
		b = appendField(appendField(appendField(b, name), kind), text)
	}
	return b
}

func appendField(b []byte, text string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(text))), text...)
}

// decode reads what encode has written.
func (r *record) decode(at int64, text string) {
	d := decoder(text)
	*r = record{
		time: time.Unix(0, at).UTC(), headers: r.headers[:0],
		IP: d.field(), Method: d.field(), Target: d.field(), Route: d.field(), APIKey: d.field(),
	}
	if r.IP != "" {
		r.addr, _ = netip.ParseAddr(r.IP)
	}
	for range d.number() {
		r.headers = append(r.headers, header{d.field(), d.field()})
	}
	if d == "" {
		return
	}
	r.Claims = claims{}
	for range d.number() {
		name, kind, value := d.field(), d.field(), d.field()
		r.Claims[name] = value
		if kind == jsonClaim {
			r.Claims[name] = decodeJSON(value)
		}
	}
}

func decodeJSON(text string) (value any) {
	d := json.NewDecoder(strings.NewReader(text))
	d.UseNumber()
	_ = d.Decode(&value) // encode has written it
	return value
}

// decoder is the rest of an encoded record.
type decoder string

func (d *decoder) field() string {
	n := d.number()
	text := (*d)[:n]
	*d = (*d)[n:]
	return string(text)
}

// number reads an unsigned varint.
func (d *decoder) number() (n int) {
	for shift := 0; ; shift += 7 {
		b := (*d)[0]
		*d = (*d)[1:]
		n |= int(b&0x7f) << shift
		if b < 0x80 {
			return n
		}
	}
}
