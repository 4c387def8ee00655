// Package report makes the page of a replay: one HTML file with its charts, its
// style and its script, which loads nothing.
//
// A log is written by strangers. Every value of it goes through html/template
// or the escaping of package chart, and the page's policy lets only the style
// and the script of this package run, by their hashes.
package report
