package dynamomodel

import "strings"

// tokenKind is the kind of a token in an expression. A placeholder's kind is
// its first character, # or :, and a symbol of one character is its own kind.
type tokenKind byte

const (
	end        tokenKind = iota
	word                 // a keyword, a function, or a bare attribute name
	comparator           // < <= <> > or >=
	stray                // a character that no expression has
)

// token is a piece of an expression's text.
type token struct {
	kind      tokenKind
	at, after int // where it begins, and where the text goes on
}

// scan returns the token that begins at or after an offset.
func scan(text string, at int) token {
	for at < len(text) && strings.IndexByte(" \t\r\n", text[at]) >= 0 {
		at++
	}
	if at == len(text) {
		return token{end, at, at}
	}
	switch c := text[at]; {
	case c == '#' || c == ':':
		if after := wordEnd(text, at+1); after > at+1 {
			return token{tokenKind(c), at, after}
		}
	case c == '<' || c == '>':
		switch text[at:min(at+2, len(text))] {
		case "<>", "<=", ">=":
			return token{comparator, at, at + 2}
		}
		return token{comparator, at, at + 1}
	case strings.IndexByte("=(),+-", c) >= 0:
		return token{tokenKind(c), at, at + 1}
	case isLetter(c):
		return token{word, at, wordEnd(text, at)}
	}
	return token{stray, at, at + 1}
}

// wordEnd returns where a word or the name of a placeholder ends. The latter
// may begin with a digit.
func wordEnd(text string, at int) int {
	for at < len(text) && (isLetter(text[at]) || text[at] == '_' || '0' <= text[at] && text[at] <= '9') {
		at++
	}
	return at
}

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
