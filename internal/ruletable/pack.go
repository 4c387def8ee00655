package ruletable

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/slidegate/slidegate/internal/ruledoc"
)

const (
	// maxItem bounds both forms of a version, gzipped, with its note, in bytes.
	// An item of DynamoDB holds 400 KB with the names of its attributes.
	maxItem = 390_000
	// maxDocument bounds each form of a version before gzip, in bytes.
	maxDocument = 4 << 20
)

// pack returns both forms of a version, gzipped.
func (v *Version) pack() (text, document []byte, err error) {
	if v.Document == nil {
		return nil, nil, errors.New("a version needs its document")
	}
	data, err := ruledoc.Marshal(v.Document)
	if err != nil {
		return nil, nil, err
	}
	if text, err = zip(v.Text); err == nil {
		document, err = zip(data)
	}
	if err != nil {
		return nil, nil, err
	}
	if size := len(text) + len(document) + v.size(); size > maxItem || max(len(v.Text), len(data)) > maxDocument {
		return nil, nil, fmt.Errorf("rules of %d bytes, and %d as JSON, are %w: they take %d bytes gzipped, with who and why, and %d is the limit; split them over several tables",
			len(v.Text), len(data), ErrTooLarge, size, maxItem)
	}
	return text, document, nil
}

// unpack returns a version from its item. A version of an older Slidegate has
// no document.
func unpack(i item) (v *Version, err error) {
	v = &Version{Note: noteOf(i)}
	text, ok, err := unzip(i, attrDocument)
	if err == nil && !ok {
		err = errors.New("no binary " + attrDocument)
	}
	if err != nil {
		return nil, err
	}
	v.Text = text
	data, ok, err := unzip(i, attrJSON)
	if err != nil || !ok {
		return v, err
	}
	v.Document, err = ruledoc.Unmarshal(data)
	return v, err
}

func zip(data []byte) ([]byte, error) {
	var zipped bytes.Buffer
	w := gzip.NewWriter(&zipped)
	_, err := w.Write(data)
	err = errors.Join(err, w.Close())
	return zipped.Bytes(), err
}

// unzip returns a gzipped attribute of an item; ok is false if there is none.
func unzip(i item, name string) (data []byte, ok bool, err error) {
	zipped, ok := binary(i, name)
	if !ok {
		return nil, false, nil
	}
	r, err := gzip.NewReader(bytes.NewReader(zipped))
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", name, err)
	}
	data, err = io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(data) > maxDocument {
		err = ErrTooLarge
	}
	if err != nil {
		return nil, true, fmt.Errorf("%s: %w", name, err)
	}
	return data, true, nil
}
