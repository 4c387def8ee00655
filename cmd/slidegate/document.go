package main

import (
	"github.com/slidegate/slidegate/internal/ruledoc"
	"github.com/slidegate/slidegate/internal/yamlfile"
)

// overrideJSON returns the JSON of an override that is written as YAML.
func overrideJSON(text string) (string, error) {
	o := &ruledoc.Override{}
	if _, err := yamlfile.Decode("", []byte(text), o); err != nil {
		return "", err
	}
	data, err := ruledoc.MarshalOverride(o)
	return string(data), err
}
