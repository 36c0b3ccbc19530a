package querycmd

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"time"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/analytics"
	"callhouse/internal/analytics/question"
	"callhouse/internal/recording"
)

// longestPlay is the time limit for sending a recording: players fetch it while playing.
const longestPlay = 2 * time.Hour

// errNoRecording is the answer for calls without a recording. Readers who may not listen get it for
// every call.
var errNoRecording = cli.Fail(cli.ExitUsage, errors.Join(errNotThere, errors.New("no recording of this call")), "")

// held is a recording in the archive.
type held struct{ archive, path, sha256, format string }

// recordingOf returns the recording of a call, if there is one that the reader may listen to.
func (q *request) recordingOf(ctx context.Context, id string) (r held, ok bool, err error) {
	r.archive = q.warehouse.Snapshot().Manifest.Archive
	if r.archive == "" || !q.reader.rights.MayListen() {
		return r, false, nil
	}
	rows, err := q.warehouse.SQL(ctx, "SELECT path, sha256, format FROM recordings WHERE call_id = ? AND state = 'stored'", id)
	err = each(ctx, rows, err, func(row []any) {
		r.path, ok = row[0].(string)
		r.sha256, _ = row[1].(string)
		r.format, _ = row[2].(string)
	})
	return r, ok, err
}

// audio sets the address of a call's recording on its page.
func (q *request) audio(ctx context.Context, id string, on *card) error {
	_, ok, err := q.recordingOf(ctx, id)
	if ok {
		on.Audio = "/calls/" + url.PathEscape(id) + "/recording"
	}
	return err
}

// recording sends the audio of a call, or the part that the player requests. Readers without the
// right to listen cannot find out whether a recording exists.
func (s *liveServer) recording(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "private, no-store") // no copy must outlive the right to listen
	q, err := s.ask(r)
	var it held
	if err == nil {
		err = q.only()
	}
	if err == nil {
		it, err = s.findRecording(r.Context(), q)
	}
	if err != nil {
		s.explain(w, r, err)
		return
	}
	archive, err := s.archive(it.archive)
	if err == nil {
		err = s.play(w, r, archive, it)
	}
	if err == nil {
		return
	}
	s.Log.Error("the recording cannot be read", "archive", it.archive, "path", it.path, "error", err)
	if !errors.Is(err, fs.ErrNotExist) {
		err = errors.New("the archive of recordings cannot be read: see the server's log")
	} else {
		err = errNoRecording
	}
	s.explain(w, r, err)
}

// findRecording returns the recording that a request is for.
func (s *liveServer) findRecording(ctx context.Context, q *request) (it held, err error) {
	release, err := s.open(ctx, q)
	if err != nil {
		return it, err
	}
	defer release()
	ok := false
	id, _, err := q.warehouse.FindCall(ctx, q.id)
	if err == nil {
		it, ok, err = q.recordingOf(ctx, id)
	}
	if _, unknown := errors.AsType[*question.UnknownError](err); unknown || analytics.Denied(err) || err == nil && !ok {
		err = errNoRecording
	}
	return it, err
}

// archive returns the archive at an address.
func (s *liveServer) archive(address string) (a *recording.Archive, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a = s.archives[address]; a == nil {
		if a, err = recording.Open(recording.Config{To: address}); err == nil {
			s.archives[address] = a
		}
	}
	return a, err
}

// play sends a file. On an error nothing was sent.
func (s *liveServer) play(w http.ResponseWriter, r *http.Request, a *recording.Archive, it held) error {
	f, err := a.Open(r.Context(), it.path)
	if err != nil {
		return err
	}
	defer f.Close()
	if _, err := f.Seek(0, io.SeekEnd); err != nil { // in an object store, this looks the object up
		return fmt.Errorf("read %s: %w", it.path, err)
	}
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(longestPlay)) // ignored where unsupported
	w.Header().Set("Content-Type", recording.Format(it.format).MediaType())
	w.Header().Set("ETag", `"`+it.sha256+`"`)
	http.ServeContent(w, r, "", time.Time{}, f)
	return nil
}
