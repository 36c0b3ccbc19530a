package extractcmd

import (
	"path/filepath"
	"slices"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/recording"
	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// recordingsOff is the value of the setting recordings that turns the archive off.
const recordingsOff = "off"

// bytesPerSecond is the maximum download rate of recordings in a run.
const bytesPerSecond = 8 << 20

// archives reports whether recordings are archived.
func (s *settings) archives() bool { return s.Recordings != recordingsOff && s.Recordings != "" }

// openArchive returns the archive of recordings for a warehouse that is open for writing; nil if
// there is none. It must follow startMask. It removes incomplete downloads of killed processes.
func (s *settings) openArchive(w *sink.Warehouse) (*recording.Archive, error) {
	if !s.archives() {
		return nil, nil
	}
	if slices.Contains(s.maskFields(maskOf(w)), "recording_url") {
		return nil, cli.Usage("remove recording_url from --mask, or set recordings = \"off\"",
			"--recordings needs the links to recordings, but recording_url is masked")
	}
	cfg := recording.Config{To: s.Recordings, Scratch: filepath.Join(s.Warehouse, layout.PartsName), Private: s.RecordingsPrivate,
		BytesPerSecond: bytesPerSecond, UserAgent: "callhouse/" + cli.Version()}
	if err := recording.Sweep(cfg.Scratch); err != nil {
		return nil, explain(err)
	}
	a, err := recording.Open(cfg)
	if err != nil {
		return nil, cli.Usage("use a folder, or s3://bucket/prefix", "--recordings: %w", err)
	}
	if now := w.Snapshot(); now != nil && !s.Adopt {
		stored := now.Manifest.Recordings().States[schema.RecordingStored]
		if was := now.Manifest.Archive; stored > 0 && was != a.Address() {
			a.Close()
			return nil, cli.Usage("set recordings back; or move the files there, under the same paths, and use extract run --adopt",
				"--recordings names %s, but the files of %s are in %s", layout.ArchivePlace(a.Address()), cli.Plural(stored, "recording"),
				layout.ArchivePlace(was))
		}
	}
	w.Archive(a.Address())
	return a, nil
}
