package yamlfile

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

// parse reads one document of plain YAML; nil is one without a value. Its errors
// name no file.
func parse(document []byte) (ast.Node, Errors) {
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
	return nil, nil
}

// tokenize scans the text once, and leaves comments out. It stops at text that
// it cannot scan, where it adds an invalid token, which the parser reports.
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

// parseTokens parses tokens. A panic of the library becomes an error, for the
// text can come from anyone.
func parseTokens(tokens token.Tokens) (file *ast.File, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("cannot be read as YAML: %v", v)
		}
	}()
	return parser.Parse(tokens, 0, parser.AllowDuplicateMapKey()) // the decoder reports duplicates
}

// unquotedKey finds a key such as {ip} that YAML reads as a map.
var unquotedKey = regexp.MustCompile(`\bkey:[^"'#]*\{`)

func syntaxError(err error, text string) *Error {
	e := &Error{Line: 1, Column: 1, Reason: err.Error()}
	var at interface { // all errors of the library have these methods
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
