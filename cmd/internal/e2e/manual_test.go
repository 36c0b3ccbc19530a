package e2e

import (
	"io/fs"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"callhouse/cmd/internal/extractcmd"
	"callhouse/cmd/internal/querycmd"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/test"
)

var (
	// A command in a line of code, or in a span of code within prose or a table.
	commandRE = regexp.MustCompile("(?m)(?:^ {4,}|[/;&$] ?|callhouse )((?:extract|query) [a-z][^\n`;|]*)|`((?:extract|query)\\s[a-z][^`;|]*)`")
	// A command to run, with the lines that a quotation goes on over,
	// and with the heading of the answer if it is shown.
	questionRE = regexp.MustCompile(`(?m)^    (?:\$ |bin/)?(query (?:[^"'#\n]|"[^"]*"|'[^']*')*)(?:\n    ([a-z][a-z ]*  .*))?`)
	flagRE     = regexp.MustCompile(` --([a-z][a-z-]*)`)
)

// Every command that the manual names exists, with its flags.
func TestManualCommands(t *testing.T) {
	roots := map[string]*cobra.Command{"extract": extractcmd.Command(), "query": querycmd.Command()}
	named := 0
	for _, page := range manual(t) {
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

// The manual's questions have answers: reports and SQL run over a warehouse of the sandbox. Those that
// serve, publish or mail, or name something of the reader's own, do not; tests of their own run examples/sql.
func TestManualQuestions(t *testing.T) {
	longtest.Only(t)
	c := foundNow(t, sandbox.Options{World: sandbox.Config{Seed: 3, Calls: 300, Days: 10}})
	c.mustExtract("--resources", "all")
	others := regexp.MustCompile(`^query (serve|mcp|publish|shell|call |alert|report .*--mail)|[/ ](srv|etc)/|…|-f \w|examples|0a7e|Bookings`)
	asked := 0
	var pages []string
	for _, page := range manual(t) {
		pages = append(pages, string(test.Read(t, page)))
	}
	t.Chdir(t.TempDir())
	for _, text := range pages {
		for _, m := range questionRE.FindAllStringSubmatch(text, -1) {
			if others.MatchString(m[1]) {
				continue
			}
			split, err := exec.CommandContext(t.Context(), "sh", "-c", `printf '%s\0' `+m[1]).Output()
			if err != nil {
				t.Fatalf("%v: %s", err, m[1])
			}
			asked++
			got := c.query(strings.Split(strings.TrimSuffix(string(split), "\x00"), "\x00")[1:]...)
			got.exits(t, 0)
			heading, _, _ := strings.Cut(got.stdout, "\n")
			if m[2] != "" && !slices.Equal(strings.Fields(heading), strings.Fields(m[2])) {
				t.Errorf("the answer to %s begins with\n%s\nand in the manual with\n%s", m[1], heading, m[2])
			}
		}
	}
	if asked < 40 {
		t.Errorf("the manual asks %d questions: was its markup changed?", asked)
	}
}

// manual returns the paths of all pages.
func manual(t *testing.T) []string {
	pages := []string{"../../../README.md", "../../../CONTRIBUTING.md", "../../../SECURITY.md"}
	for _, root := range []string{"../../../docs", "../../../examples"} {
		test.OK(t, filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		}))
	}
	return pages
}
