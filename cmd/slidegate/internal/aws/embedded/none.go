//go:build !release

package embedded

import "embed"

var files embed.FS
