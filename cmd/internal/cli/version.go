package cli

import (
	"runtime/debug"
	"strings"
)

// version is that of the release; the linker replaces it in snapshots between releases. commit is
// set by the linker.
var version, commit = "1.0.0", ""

// Version returns the version and, unless the linker set a commit, the one that the build recorded:
// 1.0.0+0123456789ab, or 1.0.0+0123456789ab.changes.
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || commit != "" {
		return version
	}
	revision, modified := "", ""
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			revision = "+" + short(s.Value)
		case "vcs.modified":
			if s.Value == "true" {
				modified = ".changes"
			}
		}
	}
	if revision == "" {
		return version
	}
	return version + revision + modified
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
