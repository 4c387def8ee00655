// Command site prepares the pages of docs for a generator that reads Python's
// Markdown, and writes llms.txt (https://llmstxt.org).
//
//	site REPOSITORY OUT    writes OUT/docs, theme, mkdocs.yml and raw
//
// Pages stay as GitHub shows them. This command changes copies: links that leave
// docs get the repository's address, and lists and tables the blank lines that
// Python's Markdown needs.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// source is where the files are that the site does not have.
const source = "https://github.com/slidegate/slidegate/"

func main() {
	if len(os.Args) != 3 {
		fmt.Fprintln(os.Stderr, "usage: site REPOSITORY OUT")
		os.Exit(2)
	}
	if err := prepare(os.Args[1], os.Args[2]); err != nil {
		fmt.Fprintln(os.Stderr, "site:", err)
		os.Exit(1)
	}
}

// prepare writes what the generator reads, and the files that are added to what
// it writes.
func prepare(repository, out string) error {
	if err := os.RemoveAll(out); err != nil {
		return err
	}
	for from, to := range map[string]string{"docs/site/assets": "docs", "docs/site/theme": "theme"} {
		if err := os.CopyFS(filepath.Join(out, to), os.DirFS(filepath.Join(repository, from))); err != nil {
			return err
		}
	}
	config, err := os.ReadFile(filepath.Join(repository, "docs/site/mkdocs.yml"))
	if err == nil {
		err = save(filepath.Join(out, "mkdocs.yml"), config)
	}
	if err != nil {
		return err
	}
	docs := os.DirFS(filepath.Join(repository, "docs"))
	pages := map[string]string{}
	err = fs.WalkDir(docs, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil || entry.IsDir() && name != "site" || strings.HasSuffix(name, ".go"):
			return err
		case entry.IsDir():
			return fs.SkipDir // the configuration and style of the site
		}
		data, err := fs.ReadFile(docs, name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".md" {
			pages[name] = addressed(string(data), name, repository)
			return save(filepath.Join(out, "raw", name), []byte(pages[name]))
		}
		return save(filepath.Join(out, "docs", name), data)
	})
	if err != nil {
		return err
	}
	for name, text := range pages {
		head := fmt.Sprintf("---\ndescription: %q\n---\n\n", summary(text)) // for search engines
		if err := save(filepath.Join(out, "docs", name), []byte(head+spaced(themed(whole(named(text, name, pages)))))); err != nil {
			return err
		}
	}
	index, err := index(config, pages)
	if err != nil {
		return err
	}
	return save(filepath.Join(out, "raw/llms.txt"), index)
}

func save(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, data, 0o644)
}

var (
	span        = regexp.MustCompile("(?m)^#.*$|^```(?s:.*?)^```$|`[^`\n]+`")
	code        = regexp.MustCompile("(?ms)^```.*?^```$|`[^`\n]+`")
	link        = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fileLink    = regexp.MustCompile(`\[([\w./-]+\.md)(\]\()`)
	comment     = regexp.MustCompile(`(?m)^<!--.*-->\n`)
	picture     = regexp.MustCompile(`(?s)<picture>.*?</picture>`)
	altText     = regexp.MustCompile(`alt="([^"]*)"`)
	pictureFile = regexp.MustCompile(`src(?:set)?="([^"]*)"`)
	bullet      = regexp.MustCompile(`^\s*[-*+] `)
	number      = regexp.MustCompile(`^\s*\d+\. `)
)

// addressed gives the links of a page that leave docs the address of the
// repository. It removes comments.
func addressed(text, name, repository string) string {
	text = comment.ReplaceAllString(text, "\n")
	return outside(text, func(prose string) string {
		return link.ReplaceAllStringFunc(prose, func(found string) string {
			target, anchor, has := strings.Cut(link.FindStringSubmatch(found)[1], "#")
			if target == "" || strings.Contains(target, ":") {
				return found
			}
			file := path.Join("docs", path.Dir(name), target)
			if strings.HasPrefix(file, "docs/") && path.Ext(file) != ".go" {
				return found
			}
			kind := "blob/main/"
			if info, err := os.Stat(filepath.Join(repository, file)); err == nil && info.IsDir() {
				kind = "tree/main/"
			}
			if has {
				anchor = "#" + anchor
			}
			return "](" + source + kind + file + anchor + ")"
		})
	})
}

// outside applies a function to what is not code.
func outside(text string, change func(string) string) string {
	var b strings.Builder
	from := 0
	for _, at := range code.FindAllStringIndex(text, -1) {
		b.WriteString(change(text[from:at[0]]) + text[at[0]:at[1]])
		from = at[1]
	}
	return b.String() + change(text[from:])
}

// named has a link that shows a file's name show the page's title.
func named(text, name string, pages map[string]string) string {
	return fileLink.ReplaceAllStringFunc(text, func(found string) string {
		parts := fileLink.FindStringSubmatch(found)
		if page, ok := pages[path.Join(path.Dir(name), parts[1])]; ok {
			return "[" + titleOf(page) + parts[2]
		}
		return found
	})
}

// whole marks short code that has a hyphen, such as a flag, with the class in which
// lines do not break. Headings and blocks of code take no such marks.
func whole(text string) string {
	return span.ReplaceAllStringFunc(text, func(found string) string {
		inline := found[0] == '`' && !strings.HasPrefix(found, "```")
		if inline && len(found) <= 32 && strings.Contains(found, "-") {
			return found + "{.whole}"
		}
		return found
	})
}

// themed has the site's switch between light and dark choose a picture, in place
// of the reader's system. The site's style shows one for phones or for pages.
func themed(text string) string {
	return picture.ReplaceAllStringFunc(text, func(found string) string {
		alt := altText.FindStringSubmatch(found)[1]
		var all strings.Builder
		files := pictureFile.FindAllStringSubmatch(found, -1)
		for _, file := range slices.Backward(files) {
			theme, class := "light", ""
			if strings.HasSuffix(file[1], "-dark.svg") {
				theme = "dark"
			}
			if strings.Contains(file[1], "-phone") {
				class = "{.phone}"
			} else if len(files) > 2 {
				class = "{.wide}"
			}
			fmt.Fprintf(&all, "![%s](%s#only-%s)%s\n", alt, file[1], theme, class)
		}
		return all.String()
	})
}

// spaced adds a blank line before a list or a table that follows other text, and
// after a table. It escapes a number at the start of a line that begins no list.
func spaced(text string) string {
	var b strings.Builder
	var block byte // what the lines since the last blank one began with
	for line := range strings.Lines(text) {
		kind := kindOf(line)
		switch {
		case kind == '`' && block == '`':
			kind = 'p' // the end of the code
		case block == '`':
			kind = block
		case kind == '1' && block != '1' && block != 0 && !strings.HasPrefix(strings.TrimSpace(line), "1. "):
			line, kind = strings.Replace(line, ".", `\.`, 1), block
		case kind == 'p' && (block == '-' || block == '1'):
			kind = block // a list's text goes on
		case block == 'p' && (kind == '-' || kind == '1' || kind == '|'), block == '|' && kind != '|' && kind != 0:
			b.WriteByte('\n')
		}
		b.WriteString(line)
		block = kind
	}
	return b.String()
}

// kindOf tells what a line begins: an item of a list, '-' or '1'; a table's row; a
// fence; text, 'p'; or nothing, as a blank line and a heading.
func kindOf(line string) byte {
	switch {
	case strings.TrimSpace(line) == "" || strings.HasPrefix(line, "#"):
		return 0
	case strings.HasPrefix(line, "```"):
		return '`'
	case strings.HasPrefix(line, "|"):
		return '|'
	case bullet.MatchString(line):
		return '-'
	case number.MatchString(line):
		return '1'
	}
	return 'p'
}
