package ruletable

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/slidegate/slidegate/internal/rules/ruledoc"
)

const (
	// maxItem bounds both forms of a version, gzipped, with its note, in bytes.
	// An item of DynamoDB holds 400 KB with the names of its attributes.
	maxItem = 390_000
	// maxDocument bounds each form of a version before gzip, in bytes.
	maxDocument = 4 << 20

	// MaxJSON is the most bytes that a document may have as JSON, before gzip.
	// With MaxEntries it bounds what a Lambda of 256 MB, the construct's size,
	// reads within 2 s at its start; docs/performance.md has the measurements.
	MaxJSON = 1 << 20
	// MaxEntries is the most rules, limits, capacities of plans and overrides
	// that a document may have together.
	MaxEntries = 10_000
)

// checkStart refuses a document that a Lambda cannot read in time.
func checkStart(d *ruledoc.Document, json int) error {
	entries := len(d.Rules)
	for i := range d.Rules {
		entries += len(d.Rules[i].Limits)
	}
	for _, plan := range d.Plans {
		entries += len(plan)
	}
	for _, overrides := range d.Overrides {
		entries += len(overrides)
	}
	switch {
	case entries > MaxEntries:
		return fmt.Errorf("%d rules, limits, capacities of plans and overrides, and %d is the limit: %w", entries, MaxEntries, ErrSlowStart)
	case json > MaxJSON:
		return fmt.Errorf("%d bytes as JSON, and %d is the limit: %w", json, MaxJSON, ErrSlowStart)
	}
	return nil
}

// packed is the item of a version without its key. Both forms are gzipped.
type packed struct {
	Text []byte `dynamodbav:"document"`
	JSON []byte `dynamodbav:"json"`
	Note
}

// Check fails with ErrSlowStart or ErrTooLarge if Publish would.
func (v *Version) Check() error {
	_, err := v.pack()
	return err
}

// pack returns the item of a version without its key.
func (v *Version) pack() (item, error) {
	if v.Document == nil {
		return nil, errors.New("a version needs its document")
	}
	data, err := ruledoc.Marshal(v.Document)
	if err == nil {
		err = checkStart(v.Document, len(data))
	}
	if err != nil {
		return nil, err
	}
	p := packed{zip(v.Text), zip(data), v.Note}
	if size := len(p.Text) + len(p.JSON) + v.size(); size > maxItem || len(v.Text) > maxDocument {
		return nil, fmt.Errorf("rules of %d bytes, and %d as JSON, are %w: they take %d bytes gzipped, with who and why, and %d is the limit; split them over several tables",
			len(v.Text), len(data), ErrTooLarge, size, maxItem)
	}
	return marshal(p, nil)
}

// unpack returns a version from its item.
func unpack(i item) (*Version, error) {
	var p packed
	err := unmarshal(i, &p)
	if err != nil {
		return nil, err
	}
	v := &Version{Note: p.Note}
	if v.Text, err = unzip(p.Text); err != nil {
		return nil, fmt.Errorf("document: %w", err)
	}
	v.Document, err = unpackJSON(p.JSON)
	return v, err
}

// unpackJSON returns the document of a version's JSON, which is gzipped.
func unpackJSON(zipped []byte) (*ruledoc.Document, error) {
	data, err := unzip(zipped)
	if err != nil {
		return nil, fmt.Errorf("json: %w", err)
	}
	return ruledoc.Unmarshal(data)
}

func zip(data []byte) []byte {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, _ = w.Write(data) // a buffer takes everything
	_ = w.Close()
	return zipped.Bytes()
}

func unzip(zipped []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = ErrTooLarge
	}
	return data, err
}
