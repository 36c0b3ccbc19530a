package settings

import (
	"path/filepath"
	"slices"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/layout"
	"callhouse/internal/recording"
	"callhouse/internal/sink"
)

// recordingsOff is the value of the setting recordings without an archive.
const recordingsOff = "off"

// bytesPerSecond bounds the downloads of recordings of a run.
const bytesPerSecond = 8 << 20

// Archives reports whether recordings are archived.
func (s *Settings) Archives() bool { return s.Recordings != recordingsOff && s.Recordings != "" }

// OpenArchive returns the archive of recordings of a warehouse that is open for writing, after
// StartMask; nil if there is none. It removes incomplete downloads of killed processes.
func (s *Settings) OpenArchive(w *sink.Warehouse) (*recording.Archive, error) {
	if !s.Archives() {
		return nil, nil
	}
	if slices.Contains(s.maskFields(maskOf(w)), "recording_url") {
		return nil, cli.Usage("remove recording_url from --mask, or set recordings = \"off\"",
			"--recordings needs the links to recordings, but recording_url is masked")
	}
	cfg := recording.Config{To: s.Recordings, Scratch: filepath.Join(s.Warehouse, layout.PartsName), Private: s.RecordingsPrivate,
		BytesPerSecond: bytesPerSecond, UserAgent: "callhouse/" + cli.Version()}
	if s.GroupReadable {
		cfg.Mode = 0o640
	}
	if err := recording.Sweep(cfg.Scratch); err != nil {
		return nil, Explain(err)
	}
	a, err := recording.Open(cfg)
	if err != nil {
		return nil, cli.Usage("use a folder, or s3://bucket/prefix", "--recordings: %w", err)
	}
	w.Archive(a.Address())
	return a, nil
}
