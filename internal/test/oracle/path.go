package oracle

import (
	"regexp"
	"strings"
)

// How proxies and servers change a path before they route by it. Each step
// follows the source of such a server, and shares no code with the packages
// under test.
var (
	parameter  = regexp.MustCompile(";[^/]*")
	slashes    = regexp.MustCompile("//+")
	escapedDot = regexp.MustCompile("%2[eE]")
	stream     = regexp.MustCompile(`(?i):(\$i30)?:\$[a-z_]+`)
	host       = regexp.MustCompile("^//+[^/]*/?")
)

// DropParameters drops what follows a semicolon in each segment (RFC 3986,
// section 3.3).
func DropParameters(p string) string { return parameter.ReplaceAllString(p, "") }

// MergeSlashes drops the empty segments.
func MergeSlashes(p string) string { return slashes.ReplaceAllString(p, "/") }

// UnescapeDots decodes %2e alone.
func UnescapeDots(p string) string { return escapedDot.ReplaceAllString(p, ".") }

// DropHost drops the part after two slashes, which a URL parser reads as a
// host.
func DropHost(p string) string { return host.ReplaceAllString(p, "/") }

// DropStreams drops the names of streams, as Windows does to find the file or
// the folder.
func DropStreams(p string) string { return stream.ReplaceAllString(p, "") }

// ReadOverlong reads two bytes as UTF-8 decoders did before they refused forms
// that are longer than needed (RFC 3629, section 10).
func ReadOverlong(p string) string {
	var out []byte
	for i := 0; i < len(p); i++ {
		if c := p[i]; c&0xfe == 0xc0 && i+1 < len(p) && p[i+1]&0xc0 == 0x80 {
			i++
			out = append(out, c<<6|p[i]&0x3f)
		} else {
			out = append(out, c)
		}
	}
	return string(out)
}

// RemoveDotSegments follows RFC 3986, section 5.2.4, to the letter.
func RemoveDotSegments(input string) string {
	output := ""
	for input != "" {
		switch {
		case strings.HasPrefix(input, "../"), strings.HasPrefix(input, "./"): // A
			_, input, _ = strings.Cut(input, "/")
		case strings.HasPrefix(input, "/./"), input == "/.": // B
			input = "/" + strings.TrimPrefix(input[2:], "/")
		case strings.HasPrefix(input, "/../"), input == "/..": // C
			input = "/" + strings.TrimPrefix(input[3:], "/")
			output = output[:max(0, strings.LastIndexByte(output, '/'))]
		case input == ".", input == "..": // D
			input = ""
		default: // E
			end := strings.IndexByte(input[1:], '/') + 1
			if end == 0 {
				end = len(input)
			}
			output, input = output+input[:end], input[end:]
		}
	}
	return output
}
