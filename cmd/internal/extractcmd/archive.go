package extractcmd

import (
	"context"
	"errors"
	"io/fs"
	"math"
	"path"
	"path/filepath"
	"slices"
	"time"

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

// lookFor is how many of the newest recordings are checked at a new address.
const lookFor = 20

// moved fails if the recordings of a warehouse were stored in another archive, and none of the newest
// is in this one: their rows would refer to missing files.
func moved(ctx context.Context, w *sink.Warehouse, a *recording.Archive) error {
	if w.Snapshot() == nil || w.Snapshot().Manifest.Archive == "" || w.Snapshot().Manifest.Archive == a.Address() {
		return nil
	}
	m := w.Snapshot().Manifest
	looked := 0
	for r, err := range w.RecordingsBefore(ctx, time.UnixMilli(math.MaxInt64/2)) {
		if err != nil {
			return explain(err)
		}
		if r.Known.State != schema.RecordingStored {
			continue
		}
		sizes, err := a.Sizes(ctx, path.Dir(r.Known.Path))
		switch {
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return cli.Usage("check the setting recordings", "look for the recordings of this warehouse in %s: %w",
				layout.ArchivePlace(a.Address()), err)
		case err == nil && sizes[r.Known.Path] == r.Known.Bytes:
			return nil
		}
		if looked++; looked == lookFor {
			break
		}
	}
	if looked == 0 {
		return nil
	}
	return cli.Usage("move the files there, under the same paths, or set recordings back",
		"--recordings names %s, but the files of %s are in %s", layout.ArchivePlace(a.Address()),
		cli.Plural(m.Recordings().States[schema.RecordingStored], "recording"), layout.ArchivePlace(m.Archive))
}

// openArchive returns the archive of recordings for a warehouse that is open for writing; nil if
// there is none. It must follow startMask. It removes incomplete downloads of killed processes.
func (s *settings) openArchive(ctx context.Context, w *sink.Warehouse) (*recording.Archive, error) {
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
	if err := moved(ctx, w, a); err != nil {
		a.Close()
		return nil, err
	}
	w.Archive(a.Address())
	return a, nil
}
