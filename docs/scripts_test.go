package docs

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"callhouse/internal/test"
)

var (
	runRE  = regexp.MustCompile(`go test .*?-run '?([^\s']+)`)
	funcRE = regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
)

// go test passes if -run names no test: every name in a script is that of one.
func TestScriptsNameTests(t *testing.T) {
	var tests []string
	err := filepath.WalkDir("..", func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, "_test.go") {
			for _, m := range funcRE.FindAllSubmatch(test.Read(t, path), -1) {
				tests = append(tests, string(m[1]))
			}
		}
		return err
	})
	test.OK(t, err)
	scripts, err := filepath.Glob("../.ci/*")
	test.OK(t, err)
	interop, err := filepath.Glob("../interop/*.sh")
	test.OK(t, err)
	named := 0
	for _, script := range append(append(scripts, interop...), "../Makefile") {
		text := strings.ReplaceAll(strings.ReplaceAll(string(test.Read(t, script)), "\\\n", " "), "$$", "$")
		for _, m := range runRE.FindAllStringSubmatch(text, -1) {
			for name := range strings.SplitSeq(m[1], "|") {
				name, _, _ = strings.Cut(name, "/")
				if name == "^$" || strings.HasPrefix(name, `"`) {
					continue
				}
				named++
				if !slices.ContainsFunc(tests, regexp.MustCompile(name).MatchString) {
					t.Errorf("%s runs %s, and no test has that name", script, name)
				}
			}
		}
	}
	if named < 20 {
		t.Errorf("the scripts name %d tests", named)
	}
}
