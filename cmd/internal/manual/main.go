// Command manual writes the man pages and completions of a release:
//
//	go run ./cmd/internal/manual DIR
package main

import (
	"os"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/manual/pages"
	"callhouse/internal/words"
)

func main() {
	stderr := words.NewWriter(os.Stderr, nil)
	root := pages.Command()
	root.SetErr(stderr)
	os.Exit(cli.Report(stderr, "manual", root.Execute()))
}
