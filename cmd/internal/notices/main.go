// Command notices prints the licences and notices of everything linked into the released programs,
// as listed by go list and found in the module cache.
//
//	go run ./cmd/internal/notices > THIRD_PARTY_NOTICES.txt
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

const head = `THIRD-PARTY NOTICES

callhouse is linked with the modules below. Each text appears once, under the names
of the modules that it came with.

These parts have no module of their own:

- The DuckDB library contains third-party code: ICU, RE2, fmt, Mbed TLS, utf8proc,
  miniz, zstd, yyjson, jemalloc, FSST, FastPFor, HyperLogLog, skiplist, libpg_query,
  Thrift, Snappy, LZ4, Brotli. Their licences are in the folders third_party and
  extension of DuckDB's source, https://github.com/duckdb/duckdb.
- The static programs contain the GNU C library (LGPL 2.1 or later), libstdc++ and
  libgcc (GPL 3 with the GCC Runtime Library Exception).
`

// module is a module linked into our packages.
type module struct{ Path, Version, Dir string }

type goPackage struct {
	Dir      string
	Standard bool
	Module   *module
}

var (
	noticeRE = regexp.MustCompile(`(?i)(licen[cs]e|notice|copying|patents)`)
	codeRE   = regexp.MustCompile(`\.(go|s|c|h)$`)
)

func main() {
	if err := write(context.Background(), os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "notices:", err)
		os.Exit(1)
	}
}

// write prints the notices of the programs on Linux, where they are released.
func write(ctx context.Context, out io.Writer) error {
	packages, err := linked(ctx, "./cmd/extract", "./cmd/query", "./cmd/sandbox")
	if err != nil {
		return err
	}
	n := notices{texts: map[string][]string{}, seen: map[string]bool{}}
	root, err := exec.CommandContext(ctx, "go", "env", "GOROOT").Output()
	if err != nil {
		return fmt.Errorf("go env GOROOT: %w", err)
	}
	if found, err := n.add("the Go standard library", strings.TrimSpace(string(root))); err != nil || !found {
		return errors.Join(fmt.Errorf("there is no Go licence in %s", root), err)
	}
	for _, p := range packages {
		if p.Standard || p.Module == nil || p.Module.Version == "" { // the main module has no version
			continue
		}
		if err := n.addPackage(p); err != nil {
			return err
		}
	}
	var all []string
	for text, whose := range n.texts {
		slices.Sort(whose)
		all = append(all, strings.Join(whose, "\n")+"\n\n"+text+"\n")
	}
	slices.Sort(all)
	_, err = io.WriteString(out, head+"\n"+strings.Repeat("=", 80)+"\n"+strings.Join(all, "\n"+strings.Repeat("=", 80)+"\n"))
	return err
}

// notices are the texts found so far.
type notices struct {
	texts map[string][]string // by text, the modules that have it
	seen  map[string]bool     // folders
}

// addPackage adds the texts of a package and its module.
func (n *notices) addPackage(p goPackage) error {
	// A package may have its own licence, in a folder below the module's.
	for dir := p.Dir; !n.seen[dir]; dir = filepath.Dir(dir) {
		n.seen[dir] = true
		below, err := filepath.Rel(p.Module.Dir, dir)
		if err != nil {
			return err
		}
		found, err := n.add(strings.TrimSuffix(p.Module.Path+" "+p.Module.Version+", "+filepath.ToSlash(below), ", ."), dir)
		switch {
		case err != nil:
			return err
		case below != ".":
			continue
		case !found:
			return fmt.Errorf("%s has no licence file in %s: check whether it may be linked", p.Module.Path, dir)
		}
		return nil
	}
	return nil
}

// add adds the texts in a folder.
func (n *notices) add(who, dir string) (found bool, err error) {
	entries, err := os.ReadDir(dir)
	for _, e := range entries {
		if !e.Type().IsRegular() || !noticeRE.MatchString(e.Name()) || codeRE.MatchString(e.Name()) {
			continue
		}
		raw, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			return found, err
		}
		found = true
		text := strings.TrimSpace(strings.ReplaceAll(string(raw), "\r\n", "\n"))
		if line := who + ": " + e.Name(); !slices.Contains(n.texts[text], line) {
			n.texts[text] = append(n.texts[text], line)
		}
	}
	return found, err
}

// linked returns the packages linked into programs.
func linked(ctx context.Context, programs ...string) (out []goPackage, err error) {
	cmd := exec.CommandContext(ctx, "go", append([]string{"list", "-deps", "-tags=netgo,osusergo", "-json=Dir,Standard,Module"},
		programs...)...)
	cmd.Env = append(os.Environ(), "GOOS=linux", "GOARCH=amd64", "CGO_ENABLED=1")
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for d := json.NewDecoder(bytes.NewReader(raw)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return out, nil
		} else if err != nil {
			return nil, fmt.Errorf("go list: %w", err)
		}
		out = append(out, p)
	}
}
