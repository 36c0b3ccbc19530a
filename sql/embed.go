// Package sqlfiles holds the warehouse's views and reports, as the .sql files
// next to this file, and reads their headers.
//
// Each file is one SELECT (macros.sql: several statements) under a header of
// comment lines in a fixed form, from which lists and descriptions are made:
//
//	-- name: what it answers, in one line
//	--
//	-- Text for people, in as many lines as it needs.
//	--
//	-- Grain: what one row stands for
//	-- Reads: relations, comma-separated; counted_calls of COLUMNS, which it is grouped by;
//	   with "from N days before", the N days before those asked for are read as well
//	-- Needs: facts without which the numbers are not complete (reports)
//	-- Flags: flags that the report has in addition to those of all (reports)
//	-- Keys: the columns that distinguish a row from the others of its group; without this line
//	   those that have no unit; none: two periods have no rows in common (reports)
//	-- Main: the figure that stands for a group where people compare groups, and its row, as in
//	   "answered_percent of stage completed"; without this line the first shown one that is judged, and
//	   the row in which it changed most clearly (reports)
//	-- Empty: what it means that there are no rows; without it no calls match (reports)
//	-- Example: a command line, for its help (reports)
//	-- Columns:
//	--   name  TYPE  unit  meaning; two spaces or more between the fields,
//	--       and a deeper indent where the meaning goes on
//	-- * name  TYPE  unit  a column that people see unless they ask for others: at most seven (reports)
//	--   *  the columns of the stored table that the view reads (views)
//
// The first line has the arguments after the name, as in "search WORD...: ...". A column whose meaning
// begins with "with --field: " exists with that flag alone.
//
// The unit of a share names its denominator in words and, for comparisons, in SQL over the report's
// columns, as in "percent of answered: answered_calls": of the row or, with an aggregate, of the group's
// rows. The unit of a mean names the column of its spread, which is not shown: spread_of in macros.sql.
//
// A column with the unit hidden is not shown. A column of a view that is never null says NOT NULL behind its
// type. The package runs nothing and knows no database; what the stored tables hold it
// takes from package schema.
package sqlfiles

import (
	"embed"
	"fmt"
	"path"
	"slices"
	"sort"
	"strings"
	"sync"
)

//go:embed *.sql views/*.sql reports/*.sql steps/*.sql checks/*.sql
var files embed.FS

// Macros returns the statements that all views and reports use.
func Macros() string { return mustRead("macros.sql") }

// The files are parsed once. The results must not be changed.
var (
	views   = sync.OnceValue(func() []*File { return inOrder(append(mustParseAll("views"), resourceViews()...)) })
	reports = sync.OnceValue(func() []*File { return mustParseAll("reports") })
	steps   = sync.OnceValue(func() []*File { return mustParseAll("steps") })
)

// Views returns the views, each after those that it reads.
func Views() []*File { return slices.Clone(views()) }

// ViewsByName returns the views in alphabetical order.
func ViewsByName() []*File {
	all := Views()
	slices.SortFunc(all, func(a, b *File) int { return strings.Compare(a.Name, b.Name) })
	return all
}

// Reports returns the named reports, by name.
func Reports() []*File { return slices.Clone(reports()) }

// Report returns a named report.
func Report(name string) (*File, bool) { return find(reports(), name) }

// Steps returns what the flag steps makes of a report.
func Steps(name string) (*File, bool) { return find(steps(), name) }

// View returns a named view.
func View(name string) (*File, bool) { return find(views(), name) }

func find(in []*File, name string) (*File, bool) {
	for _, f := range in {
		if f.Name == name {
			return f, true
		}
	}
	return nil, false
}

// The files are embedded, so an invalid one is a bug that the first test finds.

func mustRead(name string) string {
	raw, err := files.ReadFile(name)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

func mustParse(name string) *File {
	f, err := Parse(strings.TrimSuffix(path.Base(name), ".sql"), mustRead(name))
	if err != nil {
		panic(fmt.Sprintf("%s: %v", name, err))
	}
	return f
}

func mustParseAll(dir string) []*File {
	entries, err := files.ReadDir(dir)
	if err != nil {
		panic(err)
	}
	out := make([]*File, len(entries))
	for i, e := range entries {
		out[i] = mustParse(path.Join(dir, e.Name()))
	}
	sort.Slice(out, func(i, j int) bool { return out[i].Name < out[j].Name })
	return out
}

// inOrder sorts views after those that they read.
func inOrder(views []*File) []*File {
	out := make([]*File, 0, len(views))
	done := map[string]bool{}
	var add func(f *File)
	add = func(f *File) {
		if done[f.Name] {
			return
		}
		done[f.Name] = true
		for _, r := range f.Reads {
			if dep, ok := find(views, r); ok {
				add(dep)
			}
		}
		out = append(out, f)
	}
	for _, f := range views {
		add(f)
	}
	return out
}
