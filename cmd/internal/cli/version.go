package cli

import "runtime/debug"

// version is set by the linker when a release is built.
var version string

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
			revision = s.Value[:min(12, len(s.Value))]
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
