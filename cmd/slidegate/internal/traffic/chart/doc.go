// Package chart draws the charts of reports, of the live page and of the docs
// as SVG, by itself and without a script.
//
// Each drawing has two renderings. Inline is for a page: its shapes have
// classes, and the page's own style sheet (Style) says their colours, in light
// and in dark. Light and Dark are for files: they carry their style.
//
// A drawing is in pixels of its own width, so text has its real size if the
// page shows it at that width. A page has a second, narrow drawing for phones
// instead of one that shrinks.
//
// Times are shown in UTC. Values are finite, and at least 0. All text is escaped.
package chart
