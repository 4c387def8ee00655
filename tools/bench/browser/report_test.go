package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// openReport replays a log in which every value is markup or a script, and opens
// the page.
func openReport(t *testing.T, width int64, mode string) context.Context {
	t.Helper()
	dir := t.TempDir()
	var log strings.Builder
	for i, bad := range []string{
		`<script>window.hacked=1</script>`, `"><img src=x onerror="window.hacked=1">`, `</title></style></script><svg onload="window.hacked=1">`,
		`<iframe srcdoc="<script>parent.hacked=1</script>">`, `<style>body{display:none}</style>`, `<meta http-equiv=refresh content="0;url=about:blank">`,
	} {
		quoted, _ := json.Marshal(bad)
		for range 3 {
			fmt.Fprintf(&log, `{"time":%d,"path":"/x","ip":"192.0.2.1","status":200,"headers":{"user-agent":%s},"jwt":{"sub":%s}}`+"\n", 1_700_000_000+i, quoted, quoted)
		}
		fmt.Fprintf(&log, `{"time":1,"ip":%s}`+"\n", quoted)
		fmt.Fprintf(&log, `{"time":1700000000,"path":%s,"headers":{"user-agent":"a"},"jwt":{"sub":"b"}}`+"\n", quoted)
	}
	files := map[string]string{
		"access.jsonl": log.String(),
		"rules.yaml": "ambiguous_paths: clean\nrules:\n" +
			"  - {name: agents, key: '{header.user-agent}|{jwt.sub}', limit: 2/minute}\n" +
			"  - {name: hourly, mode: shadow, key: '{jwt.sub}', limit: 1/hour}\n" +
			"  - {name: never, when: {path: '/never/**'}, key: all, limit: 1/hour}\n",
	}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	replay := exec.Command(command, "replay", "access.jsonl", "--rules", "rules.yaml", "--report", "report.html")
	replay.Dir = dir
	if out, err := replay.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	ctx, cancel := chromedp.NewContext(browse)
	t.Cleanup(cancel)
	prefer := chromedp.Func(func(ctx context.Context, target *chromedp.Target) error {
		_, err := cdp.Call(ctx, target, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: mode}},
		})
		return err
	})
	if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900), prefer, chromedp.Navigate("file://"+filepath.Join(dir, "report.html"))); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// eval returns the value of an expression in the page.
func eval[T any](t *testing.T, ctx context.Context, expression string) T {
	t.Helper()
	v, err := chromedp.Run(ctx, chromedp.Evaluate[T](expression))
	if err != nil {
		t.Fatalf("%s: %v", expression, err)
	}
	return v
}

// Markup in a log is text on the page, the page's own script works under its
// policy, and nothing is wider than a phone.
func TestReportOfAHostileLog(t *testing.T) {
	for _, tc := range []struct {
		width int64
		mode  string
		back  string
	}{{1280, "light", "rgb(255, 255, 255)"}, {360, "dark", "rgb(13, 17, 23)"}} {
		t.Run(tc.mode, func(t *testing.T) {
			ctx := openReport(t, tc.width, tc.mode)
			if got := eval[string](t, ctx, `[typeof hacked, document.scripts.length, document.styleSheets.length, document.querySelectorAll('img,iframe,[onload],[onerror]').length].join()`); got != "undefined,1,1,0" {
				t.Errorf("the log is in the page: %s", got)
			}
			if text := eval[string](t, ctx, `document.body.textContent`); !strings.Contains(text, "script>window.hacked") {
				t.Error("the page does not show the log's keys")
			}
			if got := eval[string](t, ctx, `getComputedStyle(document.body).backgroundColor`); got != tc.back {
				t.Errorf("the background is %s, want %s", got, tc.back)
			}
			if got := eval[int](t, ctx, `document.documentElement.scrollWidth`); got > int(tc.width) {
				t.Errorf("the page is %d pixels wide of %d", got, tc.width)
			}
			const shown = `[...document.querySelectorAll('.scenario')].filter(f => f.getClientRects().length).map(f => f.dataset.name).join()`
			if got := eval[string](t, ctx, shown); got != "the limits as they are" {
				t.Errorf("the page shows %q first", got)
			}
			got := eval[string](t, ctx, `(() => {
				const step = document.getElementById('step')
				step.value = 0
				step.dispatchEvent(new Event('input'))
				return [step.getAttribute('aria-valuetext'), document.getElementById('shown').textContent, `+shown+`].join('; ')
			})()`)
			if got != "half the limits; half the limits; half the limits" {
				t.Errorf("the slider: %s", got)
			}
			got = eval[string](t, ctx, `(() => {
				const find = document.getElementById('find-keys')
				find.value = 'IFRAME agents'.split(' ')[0]
				find.dispatchEvent(new Event('input'))
				const rows = [...document.querySelectorAll('#keys-table tbody tr')].filter(r => !r.hidden)
				return rows.length + '; ' + rows.every(r => r.textContent.includes('iframe')) + '; ' + find.parentElement.querySelector('[role=status]').textContent.split(' ')[0]
			})()`)
			if got != "2; true; 2" {
				t.Errorf("the search: %s", got)
			}
		})
	}
}
