package dynamomodel

// tokenKind is the kind of a word in an expression. A symbol of one character
// is its own kind.
type tokenKind byte

const (
	end      tokenKind = iota
	word               // a keyword, a function, or a bare attribute name
	nameRef            // #name
	valueRef           // :value
	unequal            // <>
	atMost             // <=
	atLeast            // >=
	stray              // a character that no expression has
)

// token is a piece of an expression's text.
type token struct {
	kind      tokenKind
	at, after int // where it begins, and where the text goes on
}

// scan returns the token that begins at or after an offset.
func scan(text string, at int) token {
	for at < len(text) && space(text[at]) {
		at++
	}
	if at == len(text) {
		return token{end, at, at}
	}
	switch c := text[at]; c {
	case '#':
		return reference(nameRef, text, at)
	case ':':
		return reference(valueRef, text, at)
	case '=', '(', ')', ',', '+', '-':
		return token{tokenKind(c), at, at + 1}
	case '<', '>':
		return comparator(text, at)
	default:
		if isLetter(c) {
			return token{word, at, wordEnd(text, at)}
		}
	}
	return token{stray, at, at + 1}
}

// comparator scans < <= <> > or >=.
func comparator(text string, at int) token {
	if at+1 < len(text) {
		switch text[at : at+2] {
		case "<>":
			return token{unequal, at, at + 2}
		case "<=":
			return token{atMost, at, at + 2}
		case ">=":
			return token{atLeast, at, at + 2}
		}
	}
	return token{tokenKind(text[at]), at, at + 1}
}

// reference scans a placeholder, whose name may begin with a digit too.
func reference(kind tokenKind, text string, at int) token {
	after := wordEnd(text, at+1)
	if after == at+1 {
		kind = stray
	}
	return token{kind, at, after}
}

func wordEnd(text string, at int) int {
	for at < len(text) && (isLetter(text[at]) || text[at] == '_' || '0' <= text[at] && text[at] <= '9') {
		at++
	}
	return at
}

func space(c byte) bool { return c == ' ' || c == '\t' || c == '\n' || c == '\r' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
