// Command links checks the links between the pages of a repository: that their
// files exist, and that their anchors are those that GitHub gives to headings.
// It also checks what other files say of docs/*.md, and that the site shows pages of
// docs as GitHub does. It opens no address.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"html"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/yuin/goldmark"
	render "github.com/yuin/goldmark/renderer/html"
)

var (
	attribute = regexp.MustCompile(`(?:href|src|srcset)="([^"]*)"`)
	heading   = regexp.MustCompile(`(?s)<h[1-6]>(.*?)</h[1-6]>`)
	element   = regexp.MustCompile(`<[^>]*>`)
	mention   = regexp.MustCompile(`\bdocs/[\w./-]+\.md(?:#[\w-]+)?`)
	unnamed   = regexp.MustCompile(`[^\p{L}\p{M}\p{N}\p{Pc} -]`) // not in an anchor
	own       = regexp.MustCompile(`^https://github.com/slidegate/slidegate/(?:blob|tree)/main/`)
	fence     = regexp.MustCompile("(?ms)^```.*?^```$")
	crowded   = regexp.MustCompile("(?m)^(?:\\*\\*|[^\\s\\d|#<`*-]).*\n((?:[-*] |1\\. |\\|).*)")
	markdown  = goldmark.New(goldmark.WithRendererOptions(render.WithUnsafe()))
)

func main() {
	if err := repository(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// repository returns an error for each dead link in the files of a repository.
func repository(dir string) error {
	list := exec.Command("git", "ls-files", "--cached", "--others", "--exclude-standard")
	list.Dir = dir
	out, err := list.Output()
	errs := []error{err}
	for _, name := range strings.Fields(string(out)) {
		source, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || strings.Contains(name, "testdata/") {
			continue // deleted, but not committed yet
		}
		targets, base := mention.FindAllString(string(source), -1), "."
		if filepath.Ext(name) == ".md" {
			_, targets = parse(source)
			base = filepath.Dir(name)
		}
		page := strings.HasPrefix(name, "docs/") && filepath.Ext(name) == ".md"
		if m := crowded.FindSubmatch(fence.ReplaceAll(source, []byte("#"))); page && m != nil {
			errs = append(errs, fmt.Errorf("%s: the site needs an empty line before %s", name, m[1]))
		}
		for _, target := range targets {
			address, anchor, _ := strings.Cut(target, "#")
			path := filepath.Join(base, address)
			switch here := own.ReplaceAllString(address, ""); {
			case here != address:
				path = here
			case strings.Contains(target, ":"):
				continue // another site
			case address == "":
				path = name
			case page && !strings.HasPrefix(path, "docs/"):
				errs = append(errs, fmt.Errorf("%s links to %s, which the site has not: link to https://github.com/slidegate/slidegate/blob/main/%s", name, target, path))
			}
			if err := check(filepath.Join(dir, path), anchor); err != nil {
				errs = append(errs, fmt.Errorf("%s links to %s: %w", name, target, err))
			}
		}
	}
	return errors.Join(errs...)
}

// check looks for a file, and for an anchor in it unless that is empty.
func check(path, anchor string) error {
	if anchor == "" || filepath.Ext(path) != ".md" {
		_, err := os.Stat(path)
		return err
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if anchors, _ := parse(source); !anchors[anchor] {
		return errors.New("no such heading")
	}
	return nil
}

// parse returns the anchors of a page, and the targets of its links.
func parse(source []byte) (anchors map[string]bool, targets []string) {
	var page bytes.Buffer
	if err := markdown.Convert(source, &page); err != nil {
		panic(err) // a buffer takes everything
	}
	anchors = map[string]bool{}
	for _, m := range heading.FindAllSubmatch(page.Bytes(), -1) {
		text := html.UnescapeString(element.ReplaceAllString(string(m[1]), ""))
		name := strings.ReplaceAll(unnamed.ReplaceAllString(strings.ToLower(text), ""), " ", "-")
		anchor := name
		for i := 1; anchors[anchor]; i++ {
			anchor = fmt.Sprint(name, "-", i)
		}
		anchors[anchor] = true
	}
	for _, m := range attribute.FindAllSubmatch(page.Bytes(), -1) {
		if target, err := url.PathUnescape(html.UnescapeString(string(m[1]))); err == nil {
			targets = append(targets, target)
		}
	}
	return anchors, targets
}
