package rules

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/scanner"
	"github.com/goccy/go-yaml/token"
)

// parseYAML reads one document of plain YAML: maps, lists and values. empty says what one without any lacks. It has no File
// in its errors.
func parseYAML(document []byte, empty string) (ast.Node, Errors) {
	text, err := readText(document)
	if err != nil {
		return nil, Errors{err}
	}
	tokens := tokenize(text)
	if bad := checkStructure(tokens); len(bad) > 0 {
		return nil, bad
	}
	file, perr := parseTokens(tokens)
	if perr != nil {
		return nil, Errors{syntaxError(perr, text)}
	}
	for _, d := range file.Docs {
		if d.Body != nil {
			return d.Body, nil
		}
	}
	return nil, Errors{{Line: 1, Column: 1, Reason: "the document is empty: " + empty}}
}

// tokenize scans the text once, and leaves comments out. What cannot be scanned ends in an invalid token, which the parser
// reports; so nothing is lost by stopping there.
func tokenize(text string) token.Tokens {
	var s scanner.Scanner
	s.Init(text)
	scanned, _ := s.Scan()
	var tokens token.Tokens
	for _, tk := range scanned {
		if tk.Type != token.CommentType {
			tokens.Add(tk)
		}
	}
	return tokens
}

// parseTokens turns a panic of the parser, which reads other people's text, into an error.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cannot be read as YAML: %v", v)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // duplicates are reported with everything else
}

// unquotedKey finds a key template that YAML takes for a map.
var unquotedKey = regexp.MustCompile(`\bkey:[^"'#]*\{`)

func syntaxError(err error, text string) *Error {
	e := &Error{Line: 1, Column: 1, Reason: err.Error()}
	var at interface { // of all errors of the library
		GetToken() *token.Token
		GetMessage() string
	}
	if !errors.As(err, &at) || at.GetToken() == nil || at.GetToken().Position == nil {
		return e
	}
	place := at.GetToken().Position
	e.Line, e.Column, e.Reason = place.Line, place.Column, "not YAML: "+at.GetMessage()
	if unquotedKey.MatchString(lineOf(text, e.Line)) {
		e.Reason += "; put the key in quotes, such as key: \"ip:{ip}\""
	}
	return e
}

func lineOf(text string, line int) string {
	for range line - 1 {
		_, text, _ = strings.Cut(text, "\n")
	}
	text, _, _ = strings.Cut(text, "\n")
	return text
}
