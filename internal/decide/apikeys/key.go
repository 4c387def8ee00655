// Package apikeys makes, reads and verifies API keys such as
//
//	sg_59b94cffe8b34dbf_7DQ4PWBHSX2LKNAVGTC3MRE6YF
//
// The last part is the secret: 130 random bits. The part in the middle names
// the key: it is the first 16 hexadecimal digits of the secret's SHA-256. So any
// program, such as a scanner for leaked secrets, can tell a real key from text
// that only looks like one, and from a typing error, without the table:
//
//	printf %s 7DQ4PWBHSX2LKNAVGTC3MRE6YF | sha256sum | cut -c1-16
//
// The rules table holds the SHA-256, by the name, and never the secret. A hash
// without salt is enough: 130 bits cannot be guessed.
package apikeys

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"strings"
)

const (
	// prefix begins every key.
	prefix = "sg_"
	// nameDigits is the length of a name without its prefix.
	nameDigits = 16
	// secretLength is the length of crypto/rand.Text: 130 bits. Should a later
	// Go write more, New cuts them off.
	secretLength = 26
	secretLetter = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
)

// ErrForm is the error of text that is no key or no name.
var ErrForm = errors.New("want an API key's name, such as sg_59b94cffe8b34dbf; `slidegate apikeys list` shows those there are")

// Key is a key as a client sends it. Its text is secret.
type Key struct {
	name   string
	secret string
	hash   [sha256.Size]byte
}

// New returns a new random key.
func New() Key { return of(rand.Text()[:secretLength]) }

func of(secret string) Key {
	hash := sha256.Sum256([]byte(secret))
	return Key{prefix + hex.EncodeToString(hash[:nameDigits/2]), secret, hash}
}

// Parse reads a key. It refuses all text but that of keys whose name and secret
// belong together. The time that this takes says nothing about other keys.
func Parse(sent string) (k Key, ok bool) {
	const nameLength = len(prefix) + nameDigits
	if len(sent) != nameLength+1+secretLength || sent[nameLength] != '_' || strings.Trim(sent[nameLength+1:], secretLetter) != "" {
		return Key{}, false
	}
	k = of(sent[nameLength+1:])
	return k, k.name == sent[:nameLength]
}

// Name returns the public name of the key, such as sg_59b94cffe8b34dbf.
func (k Key) Name() string { return k.name }

// Hash returns what the table stores of the key: the SHA-256 of its secret, in
// hexadecimal digits.
func (k Key) Hash() string { return hex.EncodeToString(k.hash[:]) }

// Secret returns the whole key, to print it once.
func (k Key) Secret() string { return k.name + "_" + k.secret }

// String returns the name, so that no log holds the secret.
func (k Key) String() string { return k.name }

// GoString is String for the verb %#v.
func (k Key) GoString() string { return k.name }

// ParseName reads the name of a key, with or without its prefix sg_, or a whole
// key, such as one that has leaked.
func ParseName(given string) (name string, err error) {
	if k, ok := Parse(given); ok {
		return k.name, nil
	}
	digits := strings.TrimPrefix(given, prefix)
	if len(digits) != nameDigits || strings.Trim(digits, "0123456789abcdef") != "" {
		return "", ErrForm // without the text, which may be a part of a secret
	}
	return prefix + digits, nil
}
