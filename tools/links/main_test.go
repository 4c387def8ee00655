package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestRepository(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"pages/page.md": "# The `a_b` of it, twice?\n# The a_b of it twice\n## Naïve — *yes*\n" +
			"[x](#the-a_b-of-it-twice) [x](#the-a_b-of-it-twice-1) [x](page.md#naïve--yes) [x](../main.go#L1) [x](https://example.com/gone#x)\n" +
			"`[x](code.md)`\n\n<a href=\"../pages\">x</a>\n",
		"main.go":           "// See doc" + "s/none.md and https://example.com/blob/main/doc" + "s/some.md#yes.",
		"doc" + "s/some.md": "# Yes\n\n- a\n\n```sh\ntext\n- b\n```\n[x](https://github.com/slidegate/slidegate/tree/main/pages) [x](https://github.com/slidegate/slidegate/blob/main/none.go#L1)\n",
		"doc" + "s/bad.md":  "text\n- a\n\n[x](../main.go)\n",
		"pages/bad.md":      "| [a](gone.md) | [b](page.md#no) | [c](#none) |\n\n<img src=\"gone.svg\">\n",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("git", "init", "--quiet", dir).CombinedOutput(); err != nil {
		t.Fatalf("%s", out)
	}
	got := repository(dir).Error()
	for _, want := range []string{
		"pages/bad.md links to gone.md: stat ", "pages/bad.md links to page.md#no: no such heading",
		"pages/bad.md links to #none: no such heading", "pages/bad.md links to gone.svg: stat ", "main.go links to doc" + "s/none.md: stat ",
		"doc" + "s/some.md links to https://github.com/slidegate/slidegate/blob/main/none.go#L1: stat ", "doc" + "s/bad.md: the site needs an empty line before - a",
		"doc" + "s/bad.md links to ../main.go, which the site has not: link to https://github.com/slidegate/slidegate/blob/main/main.go",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("no error has %q", want)
		}
	}
	if n := strings.Count(got, " links to "); n != 7 {
		t.Errorf("%d dead links:\n%s", n, got)
	}
}
