// The tests follow every link in the manual, find every page in the manual's list, and check that prose is
// wrapped.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"callhouse/internal/test"
)

var (
	linkRE    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	fenceRE   = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	headingRE = regexp.MustCompile(`(?m)^#+ (.*)$`)
	makeRE    = regexp.MustCompile("`make ([a-z-]+)|`((?:interop|bench|\\.ci)/[a-z.]+)")
	markupRE  = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

// allPages returns the paths of all pages.
func allPages(t *testing.T) []string {
	pages := []string{"../README.md", "../CONTRIBUTING.md", "../SECURITY.md", "../CHANGELOG.md"}
	for _, root := range []string{".", "../examples"} {
		err := filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
			if filepath.Ext(path) == ".md" {
				pages = append(pages, path)
			}
			return err
		})
		test.OK(t, err)
	}
	return pages
}

// Prose is wrapped at 100 characters, so that changes are readable as lines.
func TestProseIsWrapped(t *testing.T) {
	for _, page := range allPages(t) {
		for line := range strings.SplitSeq(prose(t, page), "\n") {
			isCode, isRow := strings.HasPrefix(line, "    "), strings.HasPrefix(line, "|")
			if utf8.RuneCountInString(line) > 100 && !isCode && !isRow && strings.Contains(strings.TrimSpace(line), " ") {
				t.Errorf("%s has a line of over 100 characters: %s", page, line)
			}
		}
	}
}

// TestLinks follows the links of every page to the file and heading they name.
func TestLinks(t *testing.T) {
	links, pages := 0, allPages(t)
	for _, page := range pages {
		for _, m := range linkRE.FindAllStringSubmatch(prose(t, page), -1) {
			file, anchor, _ := strings.Cut(m[1], "#")
			if strings.Contains(file, ":") {
				continue // another site's
			}
			links++
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s links to %s, which does not exist", page, m[1])
			} else if anchor != "" && !anchors(t, target)[anchor] {
				t.Errorf("%s links to %s, but %s has no such heading", page, m[1], target)
			}
		}
	}
	if links < 50 {
		t.Errorf("found %d links in %d pages", links, len(pages))
	}
}

// Every target of make, and every script, that a page names exists.
func TestTargets(t *testing.T) {
	makefile, named := string(test.Read(t, "../Makefile")), 0
	for _, page := range allPages(t) {
		for _, m := range makeRE.FindAllStringSubmatch(prose(t, page), -1) {
			named++
			if _, err := os.Stat("../" + m[2]); m[1] != "" && !strings.Contains(makefile, "\n"+m[1]+":") || err != nil {
				t.Errorf("%s names %s, which does not exist", page, m[0])
			}
		}
	}
	if named < 20 {
		t.Errorf("the pages name %d targets and scripts", named)
	}
}

// The manual's list leads to every page, and each begins with what it is for and for whom.
func TestManualNamesEveryPage(t *testing.T) {
	manual := prose(t, "README.md")
	for _, folder := range []string{"guide", "reference", "design"} {
		pages, err := filepath.Glob(folder + "/*.md")
		if err != nil || len(pages) == 0 {
			t.Fatal(pages, err)
		}
		for _, page := range pages {
			if !strings.Contains(manual, "]("+filepath.ToSlash(page)+")") {
				t.Errorf("docs/README.md does not link to %s", page)
			}
			if first := strings.SplitN(prose(t, page), "\n\n", 3); len(first) < 3 || !strings.HasPrefix(first[1], "This page ") {
				t.Errorf("%s does not begin with what it is for", page)
			}
		}
	}
}

// prose returns a page without its code blocks.
func prose(t *testing.T, page string) string {
	raw := test.Read(t, page)
	return fenceRE.ReplaceAllString(string(raw), "")
}

// anchors returns the names that GitHub gives to the headings of a page.
func anchors(t *testing.T, page string) map[string]bool {
	out := map[string]bool{}
	for _, m := range headingRE.FindAllStringSubmatch(prose(t, page), -1) {
		name := markupRE.ReplaceAllString(strings.ToLower(m[1]), "")
		out[strings.ReplaceAll(name, " ", "-")] = true
	}
	return out
}
