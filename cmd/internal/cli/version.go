package cli

import (
	"runtime/debug"
	"strings"
)

// version and commit are set by the linker when a release is built.
var version, commit string

// Version returns the program's version: that of the release, or else what the
// build recorded of its commit.
func Version() string {
	if version != "" {
		return version
	}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "dev"
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = short(s.Value)
		case "vcs.modified":
			if s.Value == "true" {
				modified = "+changes"
			}
		}
	}
	if revision == "" {
		return "dev"
	}
	return "dev-" + revision + modified
}

// Versions is what --version prints after the program's name: its version, the
// release's commit, and the versions of parts, as in "DuckDB v1.5.6".
func Versions(parts ...string) string {
	all := []string{Version()}
	if commit != "" {
		all = append(all, "commit "+short(commit))
	}
	return strings.Join(append(all, parts...), ", ")
}

func short(revision string) string { return revision[:min(12, len(revision))] }
