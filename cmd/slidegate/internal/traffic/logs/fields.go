package logs

import (
	"slices"
	"strings"
)

// maxFields bounds how many names are kept: clients may send any header.
const maxFields = 100

// fields are the names of the fields that logs have, as rules name them.
type fields []string

// see adds the fields of a record that was checked.
func (f *fields) see(r *record) {
	f.add("method", "", r.Method != "")
	f.add("path", "", r.Target != "")
	f.add("ip", "", r.addr.IsValid())
	f.add("route", "", r.Route != "")
	f.add("apikey", "", r.APIKey != "")
	f.add("stage", "", r.Stage != "")
	for i := range r.headers {
		f.add("header.", r.headers[i].name, true)
	}
	for name := range r.Claims {
		f.add("jwt.", name, true)
	}
	for name := range r.PathParams {
		f.add("path.", name, true)
	}
}

// add adds a field if it is there. It allocates nothing for one that is known.
func (f *fields) add(source, name string, there bool) {
	known := func(field string) bool {
		return len(field) == len(source)+len(name) && field[len(source):] == name && strings.HasPrefix(field, source)
	}
	if there && len(*f) < maxFields && !slices.ContainsFunc(*f, known) {
		*f = append(*f, source+name)
	}
}

// sorted returns the fields in order, and time, which every log has.
func (f *fields) sorted() []string {
	all := []string{"time"}
	for _, field := range *f {
		if strings.HasPrefix(field, "header.") {
			field = strings.ToLower(field)
		}
		all = append(all, field)
	}
	slices.Sort(all)
	return slices.Compact(all)
}
