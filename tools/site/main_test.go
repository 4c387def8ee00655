package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestSpaced: Python's Markdown takes a list or a table without a blank line before
// it for text, and any number with a dot for a list.
func TestSpaced(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"a list after text", "text:\n- a\n  more\n- b\n", "text:\n\n- a\n  more\n- b\n"},
		{"a list after code", "```sh\n- no list\n```\n- a\n", "```sh\n- no list\n```\n\n- a\n"},
		{"a list after a heading", "## A\n- a\n", "## A\n- a\n"},
		{"a table between texts", "text\n| a |\n|---|\n| b |\ntext\n", "text\n\n| a |\n|---|\n| b |\n\ntext\n"},
		{"a numbered list", "text\n1. a\n2. b\n", "text\n\n1. a\n2. b\n"},
		{"a number in text", "one of\n20. More\n- a\n", "one of\n20\\. More\n\n- a\n"},
		{"a number in a list", "- every request with\n  500. More\n- b\n", "- every request with\n  500\\. More\n- b\n"},
	} {
		if got := spaced(c.text); got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestWhole(t *testing.T) {
	got := whole("# `--a`\n`--b` and [`c-d`](e) `f` `--a-flag-that-has-more-than-thirty-letters` - `h`\n```sh\n`--g`\n```\n")
	want := "# `--a`\n`--b`{.whole} and [`c-d`{.whole}](e) `f` `--a-flag-that-has-more-than-thirty-letters` - `h`\n```sh\n`--g`\n```\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestThemed(t *testing.T) {
	const dark = "(prefers-color-scheme: dark)"
	source := func(media, file string) string {
		return "  <source media=\"" + media + "\" srcset=\"" + file + "\">\n"
	}
	const last = "  <img alt=\"A\" src=\"a.svg\">\n</picture>\n"
	for text, want := range map[string]string{
		"<picture>\n" + source(dark, "a-dark.svg") + last: "![A](a.svg#only-light)\n![A](a-dark.svg#only-dark)\n\n",
		"<picture>\n" + source(dark+" and (min-width: 601px)", "a-dark.svg") + source(dark, "a-phone-dark.svg") + source("(max-width: 600px)", "a-phone.svg") + last: "![A](a.svg#only-light){.wide}\n" +
			"![A](a-phone.svg#only-light){.phone}\n![A](a-phone-dark.svg#only-dark){.phone}\n![A](a-dark.svg#only-dark){.wide}\n\n",
	} {
		if got := themed(text); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// TestPrepare: the pages of a small repository, with links to what the site has and
// to what it has not.
func TestPrepare(t *testing.T) {
	repository, out := t.TempDir(), filepath.Join(t.TempDir(), "out")
	config := "site_name: Shop\nsite_description: Sells.\nsite_url: https://example.com/shop/\nslugs: !!python/name:x {}\nnav:\n" +
		"  - Start:\n      - index.md\n      - More:\n          - Deep: start/deep.md\n"
	for name, text := range map[string]string{
		"docs/site/mkdocs.yml":    config,
		"docs/site/assets/a.css":  "",
		"docs/site/theme/a.html":  "",
		"main.go":                 "",
		"docs/index.md":           "# Shop\n\n```sh\n[x](../main.go)\n```\n\n**It [sells](start/deep.md#a).** All.\n[x](../main.go#L1) [x](../examples) `[x](../main.go)` [x](x_test.go)\n<!-- end -->\n",
		"docs/x_test.go":          "",
		"docs/picture.svg":        "<svg/>",
		"doc" + "s/start/deep.md": "# Deep\n\nDown: [../index.md](../index.md) [x](../../main.go) [x](https://example.com) [x](#deep)\n",
		"examples/rules.yaml":     "",
	} {
		if err := save(filepath.Join(repository, name), []byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := prepare(repository, out); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"docs/index.md": "---\ndescription: \"It sells.\"\n---\n\n# Shop\n\n```sh\n[x](../main.go)\n```\n\n**It [sells](start/deep.md#a).** All.\n[x](" + source + "blob/main/main.go#L1) [x](" +
			source + "tree/main/examples) `[x](../main.go)` [x](" + source + "blob/main/docs/x_test.go)\n\n",
		"doc" + "s/start/deep.md": "---\ndescription: \"Down: ../index.md x x x.\"\n---\n\n# Deep\n\nDown: [Shop](../index.md) [x](" + source + "blob/main/main.go) [x](https://example.com) [x](#deep)\n",
		"docs/picture.svg":        "<svg/>",
		"docs/a.css":              "",
		"theme/a.html":            "",
		"raw/llms.txt": "# Shop\n\n> Sells.\n\n## Start\n\n- [Shop](https://example.com/shop/index.md): It sells.\n" +
			"- [Deep](https://example.com/shop/start/deep.md): Down: ../index.md x x x.\n",
	} {
		if got, err := os.ReadFile(filepath.Join(out, name)); err != nil || string(got) != want {
			t.Errorf("%s: %v\n%s\nwant\n%s", name, err, got, want)
		}
	}
	if _, err := os.Stat(filepath.Join(out, "docs/x_test.go")); err == nil {
		t.Error("the site has a test")
	}
	save(filepath.Join(repository, "doc"+"s/new.md"), []byte("# New\n"))
	os.Remove(filepath.Join(repository, "doc"+"s/start/deep.md"))
	for _, want := range []string{"mkdocs.yml does not name doc" + "s/new.md", "mkdocs.yml names start/deep.md, which docs has not"} {
		if err := prepare(repository, out); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
