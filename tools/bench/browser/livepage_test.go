package browser_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"
)

// document has rules for the page of serve.
const document = `rules:
- {name: per-user, when: {path: /v1/**}, key: 'user:{header.x-user}', limit: 2/hour}
- {name: posts, when: {methods: [POST]}, key: all, limit: 9/hour}
- {name: per-ip, key: 'ip:{ip}', limit: 900/hour}
`

// visit sends requests of a user through the gateway, and returns the last status.
func visit(t *testing.T, url, user string, n int) (status int) {
	t.Helper()
	for range n {
		r, _ := http.NewRequest("GET", url, nil)
		r.Header.Set("X-User", user)
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
		status = answer.StatusCode
	}
	return status
}

// TestLivePage: the page of serve shows a denial that happened while it was open,
// and explains it; its form tries requests, and charges nothing. What a client
// sends is text. A keyboard alone does it all.
func TestLivePage(t *testing.T) {
	addresses, stop := start(t, document, "--admin", "127.0.0.1:0")
	gateway, page := addresses["url"], addresses["admin"]
	const hostile = `<img src=x onerror="document.title='owned'">`
	tab, cancel := chromedp.NewContext(browse)
	t.Cleanup(cancel)
	ask := func(what, expression, want string) {
		t.Helper()
		got, err := chromedp.Run(tab, chromedp.Evaluate[string](expression))
		if err != nil || !strings.Contains(got, want) {
			t.Errorf("%s: %q, %v; want %q", what, got, err, want)
		}
	}
	await := func(condition string) {
		t.Helper()
		if _, err := chromedp.Run(tab, chromedp.Poll[bool]("!!("+condition+")", chromedp.WithPollingTimeout(10*time.Second))); err != nil {
			t.Fatalf("%s: %v", condition, err)
		}
	}
	press := func(keys string) {
		t.Helper()
		if err := chromedp.Do(tab, chromedp.KeyEvent(keys)); err != nil {
			t.Fatal(err)
		}
	}
	// to moves the focus by Tab to an element.
	to := func(selector string) {
		t.Helper()
		for range 40 {
			press("\t")
			there, err := chromedp.Run(tab, chromedp.Evaluate[bool](fmt.Sprintf("document.activeElement.matches(%q)", selector)))
			if err != nil {
				t.Fatal(err)
			}
			if there {
				return
			}
		}
		t.Fatalf("Tab does not reach %s", selector)
	}
	if err := chromedp.Do(tab, chromedp.Navigate(page)); err != nil {
		t.Fatal(err)
	}
	await(`document.getElementById("state").textContent === "live"`)
	ask("before", `document.getElementById("denials").textContent`, "No request was denied so far")

	if visit(t, gateway+"/v1/items", "ada", 3) != 429 || visit(t, gateway+"/v1/items", hostile, 3) != 429 {
		t.Fatal("the gateway denied nothing")
	}
	await(`document.querySelectorAll("#denials details").length === 2`)
	ask("hostile", `document.getElementById("denials").textContent`, hostile)
	ask("elements of a client", `String(document.querySelectorAll("main img").length)`, "0")
	ask("the title", `document.title`, "Slidegate, live")

	to(`summary[id$="-1"]`)
	press("\r")
	await(`document.querySelector('details[id$="-1"] .verdict')`)
	ask("explained", `document.querySelector('details[id$="-1"]').textContent`, "denied by per-user, again allowed in")
	ask("explained", `document.querySelector('details[id$="-1"]').textContent`, "posts does not cover it: method GET is not among POST")
	visit(t, gateway+"/v1/items", "grace", 3)
	await(`document.querySelectorAll("#denials details").length === 3`)
	ask("open after an update", `String(document.querySelector('details[id$="-1"]').open)+document.querySelector('details[id$="-1"] .verdict').textContent`, "truedenied")
	ask("the focus after an update", `document.activeElement.id.replace(/[0-9]+-/, "")`, "summary1")

	to("[name=path]")
	press("v1/items") // after the slash
	ask("the path", `document.querySelector("[name=path]").value`, "v1/items")
	if err := chromedp.Do(tab, chromedp.SetValue(chromedp.CSS("[name=path]"), "/v1/items")); err != nil {
		t.Fatal(err)
	}
	to("[name=headers]")
	press("X-User: eve")
	to("#try button")
	for range 4 { // twice the limit
		press("\r")
		await(`document.querySelector("#tried .verdict")?.textContent.includes("allowed")`)
		ask("tried", `document.getElementById("tried").textContent`, "user:eve")
		if _, err := chromedp.Run(tab, chromedp.Evaluate[any](`document.getElementById("tried").replaceChildren()`)); err != nil {
			t.Fatal(err)
		}
	}
	if visit(t, gateway+"/v1/items", "eve", 2) != 200 {
		t.Error("the form has charged what it tried")
	}
	to("#yamls")
	press("\r")
	await(`document.querySelector("#document details[open] pre").textContent.includes("capacity: 2, window: 1h")`)

	stop()
	await(`document.getElementById("state").textContent === "connection lost, retrying"`)
}

// TestLivePageIsForItsOwnOrigin: a page of another origin, also of this machine,
// gets nothing of the admin address.
func TestLivePageIsForItsOwnOrigin(t *testing.T) {
	addresses, _ := start(t, document, "--admin", "127.0.0.1:0")
	other := openPage(t)
	for _, path := range []string{"/", "/live/events", "/live/try", "/metrics", "/v1/status"} {
		for _, init := range []string{`{}`, `{method: "POST", mode: "no-cors", body: new URLSearchParams({method: "GET", path: "/"})}`} {
			if got := other.fetch(t, addresses["admin"]+path, init); got.Status != 0 || got.Body != "" {
				t.Errorf("%s %s: a page of another origin reads %+v", path, init, got)
			}
		}
	}
}

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
