// Command lint adds two checks about errors to go vet. Run it by
// go vet -vettool=lint: go vet then caches the result of each package.
package main

import (
	"github.com/gostaticanalysis/nilerr"
	"github.com/polyfloyd/go-errorlint/errorlint"
	"golang.org/x/tools/go/analysis/unitchecker"
)

func main() {
	unitchecker.Main(
		// errorlint reports errors compared or asserted by type where
		// errors.Is and errors.As also find wrapped ones.
		errorlint.NewAnalyzer(),
		// nilerr reports a function that returns nil after it has seen an
		// error.
		nilerr.Analyzer,
	)
}
