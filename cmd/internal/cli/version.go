package cli

import (
	"runtime/debug"
	"strings"
)

// version and commit are set by the linker when a release is built.
var version, commit string

// Version returns the release's version, or else the commit recorded by the build.
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

// Versions is the output of --version after the program's name: its version, the release's commit,
// and versions of parts, such as "DuckDB v1.5.6".
func Versions(parts ...string) string {
	all := []string{Version()}
	if commit != "" {
		all = append(all, "commit "+short(commit))
	}
	return strings.Join(append(all, parts...), ", ")
}

func short(revision string) string { return revision[:min(12, len(revision))] }
