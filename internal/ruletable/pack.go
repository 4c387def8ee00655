package ruletable

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
)

const (
	// maxItem is what a version may take, gzipped: an item of DynamoDB holds 400 KB, names and notes included.
	maxItem = 390_000
	// maxDocument bounds what a version may unpack to.
	maxDocument = 4 << 20
)

func pack(document []byte, note Note) ([]byte, error) {
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write(document); err != nil {
		return nil, err
	}
	if err := w.Close(); err != nil {
		return nil, err
	}
	if size := packed.Len() + note.size(); size > maxItem || len(document) > maxDocument {
		return nil, fmt.Errorf("rules of %d bytes, %d gzipped and with who and why, are %w; split them over several tables",
			len(document), size, ErrTooLarge)
	}
	return packed.Bytes(), nil
}

func unpack(packed []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		return nil, err
	}
	document, err := io.ReadAll(io.LimitReader(r, maxDocument+1))
	if err == nil && len(document) > maxDocument {
		return nil, ErrTooLarge
	}
	return document, err
}
