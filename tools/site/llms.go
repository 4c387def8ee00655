package main

import (
	"errors"
	"fmt"
	"path"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v4"
)

var (
	title  = regexp.MustCompile(`(?m)^# (.+)$`)
	prose  = regexp.MustCompile("^[\\w*`][^`\n]") // and no fence
	linked = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// index returns llms.txt: the pages of the navigation, each with its address as
// Markdown and its first sentence. A page that the navigation lacks is an error.
func index(config []byte, pages map[string]string) ([]byte, error) {
	var site struct {
		Name        string                 `yaml:"site_name"`
		Description string                 `yaml:"site_description"`
		Address     string                 `yaml:"site_url"`
		Nav         []map[string]yaml.Node `yaml:"nav"`
	}
	if err := yaml.Unmarshal(config, &site); err != nil {
		return nil, fmt.Errorf("docs/site/mkdocs.yml: %w", err)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n\n> %s\n", site.Name, site.Description)
	listed, errs := map[string]bool{}, []error(nil)
	for _, section := range site.Nav {
		for name, content := range section {
			fmt.Fprintf(&b, "\n## %s\n\n", name)
			for _, page := range leaves(&content) {
				text, ok := pages[page]
				if !ok {
					errs = append(errs, fmt.Errorf("docs/site/mkdocs.yml names %s, which docs has not", page))
					continue
				}
				listed[page] = true
				fmt.Fprintf(&b, "- [%s](%s%s): %s\n", titleOf(text), site.Address, page, summary(text))
			}
		}
	}
	for page := range pages {
		if !listed[page] && path.Dir(page) != "decisions" {
			errs = append(errs, fmt.Errorf("docs/site/mkdocs.yml does not name docs/%s", page))
		}
	}
	return []byte(b.String()), errors.Join(errs...)
}

// leaves returns the pages below a part of the navigation.
func leaves(node *yaml.Node) (pages []string) {
	if node.Kind == yaml.ScalarNode {
		return []string{node.Value}
	}
	for i, child := range node.Content {
		if node.Kind == yaml.MappingNode && i%2 == 0 {
			continue // a name
		}
		pages = append(pages, leaves(child)...)
	}
	return pages
}

func titleOf(text string) string {
	if found := title.FindStringSubmatch(text); found != nil {
		return found[1]
	}
	return ""
}

// summary returns the first sentence of a page, without links and emphasis.
func summary(text string) string {
	for block := range strings.SplitSeq(text, "\n\n") {
		if prose.MatchString(block) {
			plain := strings.ReplaceAll(linked.ReplaceAllString(block, "$1"), "**", "")
			sentence, _, _ := strings.Cut(strings.Join(strings.Fields(plain), " "), ". ")
			return strings.TrimRight(sentence, ".:") + "."
		}
	}
	return ""
}
