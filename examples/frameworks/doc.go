// Package frameworks holds the code of docs/library-frameworks.md, tested: one
// net/http middleware serves chi, gin, echo and fiber. It is a module of its
// own, so that none of them becomes a dependency of Slidegate.
package frameworks
