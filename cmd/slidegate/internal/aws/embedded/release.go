//go:build release

package embedded

import "embed"

//go:embed files
var files embed.FS
