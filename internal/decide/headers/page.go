package headers

import (
	"cmp"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// PageType is the media type of pages for people.
const PageType = "text/html; charset=utf-8"

// page has a title, twice, and a sentence.
const page = `<!DOCTYPE html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>%[1]s</title>
<style>body { font: 1.1rem/1.5 system-ui, sans-serif; max-width: 32rem; margin: 20vh auto; padding: 0 1rem }</style>
<h1>%[1]s</h1>
<p>%[2]s</p>
</html>
`

// DenialFor returns the denial of a request with these fields: a page for a
// browser, which asks for text/html, and Denial for other clients. A body or a type
// of content that the rules state goes to all of them.
func (a *Answer) DenialFor(request http.Header) Denial {
	d := a.Denial()
	if own := a.Denied; (own == nil || own.Body+own.ContentType == "") && WantsPage(request) {
		d.ContentType, d.Body = PageType, Page(d.Status, a.Problem, a.RetryAfter)
	}
	return d
}

// Page returns the text of a page for a denial: what happened, and when to come
// back. retryAfter is the value of Retry-After, "" for none.
func Page(status int, p Problem, retryAfter string) string {
	text := p.Title + "."
	switch seconds, err := strconv.ParseInt(retryAfter, 10, 64); {
	case p.Detail != "":
		text = p.Detail
	case err == nil:
		text = "Please come back in " + inWords(time.Duration(seconds)*time.Second) + "."
	case p.Type == QuotaExceeded.Type:
		text = "This request is larger than the limit ever allows."
	}
	return fmt.Sprintf(page, html.EscapeString(cmp.Or(p.heading, http.StatusText(status))), html.EscapeString(text))
}

// WantsPage reports whether a client asks for HTML, and not for JSON.
func WantsPage(request http.Header) (page bool) {
	for entry := range strings.SplitSeq(strings.ToLower(strings.Join(request.Values("Accept"), ",")), ",") {
		kind, _, _ := strings.Cut(entry, ";")
		switch strings.TrimSpace(kind) {
		case "text/html":
			page = true
		case "application/json", ProblemType:
			return false
		}
	}
	return page
}

// inWords returns a wait in its largest unit, rounded up. Above two of a unit it
// takes that unit: 120 seconds, then 3 minutes.
func inWords(d time.Duration) string {
	unit, name := time.Second, "second"
	switch {
	case d > 48*time.Hour:
		unit, name = 24*time.Hour, "day"
	case d > 2*time.Hour:
		unit, name = time.Hour, "hour"
	case d > 2*time.Minute:
		unit, name = time.Minute, "minute"
	}
	if d > unit {
		name += "s"
	}
	return fmt.Sprintf("%d %s", (d+unit-1)/unit, name)
}
