// Command manual writes a man page, and completions for bash, zsh and fish, for each program from its
// commands: man/NAME.1 and completions/NAME.SHELL below a folder. It has no texts of its own.
//
//	go run ./cmd/internal/manual DIR
package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
)

func main() {
	if len(os.Args) != 2 || strings.HasPrefix(os.Args[1], "-") {
		fmt.Fprintln(os.Stderr, "usage: go run ./cmd/internal/manual DIR")
		os.Exit(cli.ExitUsage)
	}
	if err := write(os.Args[1], released()); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(cli.ExitFailed)
	}
}

// released is the date on the pages: that of the commit from SOURCE_DATE_EPOCH, so that builds are
// reproducible.
func released() time.Time {
	if seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64); err == nil {
		return time.Unix(seconds, 0).UTC()
	}
	return time.Now().UTC()
}

// write fills dir with man/NAME.1, completions/NAME.bash, NAME.zsh and NAME.fish.
func write(dir string, date time.Time) error {
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	for _, root := range []*cobra.Command{extractcmd.Command(), querycmd.Command()} {
		root.DisableAutoGenTag = true
		header := &doc.GenManHeader{Section: "1", Date: &date, Source: "callhouse " + cli.Version(), Manual: "callhouse"}
		if err := doc.GenManTree(root, header, man); err != nil {
			return err
		}
		name := filepath.Join(completions, root.Name())
		if err := errors.Join(root.GenBashCompletionFileV2(name+".bash", true), root.GenZshCompletionFile(name+".zsh"),
			root.GenFishCompletionFile(name+".fish", true)); err != nil {
			return err
		}
	}
	return nil
}
