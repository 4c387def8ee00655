package browser_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

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
