package imports

import (
	"fmt"
	"io"
	"os"
)

// maxFile bounds a file to import, in bytes.
const maxFile = 64 << 20

// ReadFiles reads files of at most 64 MiB each.
func ReadFiles(paths ...string) (files []File, err error) {
	for _, path := range paths {
		file, err := os.Open(path)
		if err != nil {
			return nil, err
		}
		content, err := io.ReadAll(io.LimitReader(file, maxFile+1))
		file.Close()
		if err == nil && len(content) > maxFile {
			err = fmt.Errorf("%s: holds more than %d MB", path, maxFile>>20)
		}
		if err != nil {
			return nil, err
		}
		files = append(files, File{Name: path, Content: content})
	}
	return files, nil
}
