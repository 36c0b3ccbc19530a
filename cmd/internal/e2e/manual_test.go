package e2e

import (
	"io/fs"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/test"
)

var (
	// A command in a line of code, or in a span of code within prose or a table.
	commandRE = regexp.MustCompile("(?m)(?:^ {4,}|[/;&$] ?|callhouse )((?:extract|query) [a-z][^\n`;|]*)|`((?:extract|query)\\s[a-z][^`;|]*)`")
	flagRE    = regexp.MustCompile(` --([a-z][a-z-]*)`)
)

// Every command that the manual names exists, with its flags.
func TestManualCommands(t *testing.T) {
	roots := map[string]*cobra.Command{"extract": extractcmd.Command(), "query": querycmd.Command()}
	pages := []string{"../../../README.md", "../../../CONTRIBUTING.md", "../../../SECURITY.md"}
	for _, root := range []string{"../../../docs", "../../../examples"} {
		test.OK(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		}))
	}
	named := 0
	for _, page := range pages {
		for _, m := range commandRE.FindAllStringSubmatch(strings.ReplaceAll(string(test.Read(t, page)), "\\\n", " "), -1) {
			words := strings.Fields(m[1] + m[2])
			root := roots[words[0]]
			command, rest, err := root.Find(words[1:])
			if err != nil || command == root && words[1] != "help" {
				t.Errorf("%s: there is no command %s: %v", page, m[0], err)
				continue
			}
			named++
			for _, flag := range flagRE.FindAllStringSubmatch(" "+strings.Join(rest, " "), -1) {
				var known *pflag.Flag
				for _, flags := range []*pflag.FlagSet{command.Flags(), command.InheritedFlags()} {
					if known == nil {
						known = flags.Lookup(flag[1])
					}
				}
				if known == nil && flag[1] != "help" {
					t.Errorf("%s: %s has no flag --%s: %s", page, command.CommandPath(), flag[1], m[0])
				}
			}
		}
	}
	if named < 200 {
		t.Errorf("the manual names %d commands: was its markup changed?", named)
	}
}
