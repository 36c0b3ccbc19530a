package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
	"callhouse/internal/test"
)

const testRun = "20261119T020000Z-0000002a"

func diskAt(t *testing.T, root string) disk.FS {
	t.Helper()
	d, err := disk.Open(root)
	test.OK(t, err)
	return d
}

// journalIn makes a folder with an open journal in it.
func journalIn(t *testing.T) (root string, j *journal) {
	t.Helper()
	root = t.TempDir()
	test.OK(t, os.Mkdir(filepath.Join(root, layout.JournalName), 0o700))
	return root, newJournal(diskAt(t, root), root, testRun)
}

func readAll(t *testing.T, root string, ref layout.Segment) ([]schema.Record, error) {
	t.Helper()
	s, err := openSegment(diskAt(t, root), root, ref)
	test.OK(t, err)
	defer s.file.Close()
	var out []schema.Record
	broken, err := s.Scan(true, func(_ int64, _ int, r *schema.Record) error {
		c := *r
		c.Body = bytes.Clone(r.Body)
		out = append(out, c)
		return nil
	})
	if len(broken) > 0 {
		err = errors.New(strings.Join(broken, "; "))
	}
	return out, err
}

func TestJournalGivesBackWhatWasPut(t *testing.T) {
	root, j := journalIn(t)
	want := []schema.Record{
		{Kind: schema.KindItem, CallID: "a", FetchedAt: 1, Body: []byte(`{"id":"a"}`)},
		{Kind: schema.KindDetail, CallID: `b"\` + "\n\x00é", FetchedAt: 2, Body: []byte(`{"id":"b","x":["}\n",1]}`)},
		{Kind: schema.KindMissing, CallID: "c", FetchedAt: 3}, {Resource: "agents", Kind: schema.KindDetail, CallID: "none of it", FetchedAt: 3},
		{Kind: schema.KindCovered, FetchedAt: 4, Body: []byte(`{"from":1,"to":2,"listed_at":4}`)},
		{Kind: schema.KindItem, CallID: "d", Body: []byte("{\r\n \"id\": \"a\\n\"\n}")},
	}
	for _, r := range want {
		test.OK(t, j.Put(context.Background(), []schema.Record{r}))
	}
	want[5].Body = []byte(`{   "id": "a\n" }`) // without line ends between tokens
	ref, ok, err := j.Seal()
	if err != nil || !ok {
		t.Fatalf("seal: %v, %v", ok, err)
	}
	got, err := readAll(t, root, ref)
	test.OK(t, err)
	test.Same(t, want, got, "records differ (-put +read)")
	if _, ok, _ := j.Seal(); ok {
		t.Error("a second seal found a segment with nothing in it")
	}
}

func TestJournalUnderManyPutters(t *testing.T) {
	root, j := journalIn(t)
	const putters, each = 16, 50
	var wg sync.WaitGroup
	var refs []layout.Segment
	for p := range putters {
		wg.Go(func() {
			for i := range each {
				r := schema.Record{Kind: schema.KindItem, CallID: fmt.Sprint(p, "/", i), FetchedAt: int64(i),
					Body: []byte(`{"x":"` + strings.Repeat("y", i*100) + `"}`)}
				if err := j.Put(context.Background(), []schema.Record{r}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	for range 5 {
		if ref, ok, err := j.Seal(); err != nil {
			t.Error(err)
		} else if ok {
			refs = append(refs, ref)
		}
	}
	wg.Wait()
	if ref, ok, _ := j.Seal(); ok {
		refs = append(refs, ref)
	}
	next := map[string]int64{}
	var n int
	for _, ref := range refs {
		recs, err := readAll(t, root, ref)
		test.OK(t, err)
		for _, r := range recs {
			who, _, _ := strings.Cut(r.CallID, "/")
			if r.FetchedAt != next[who] {
				t.Fatalf("putter %s: record %d came where %d was due", who, r.FetchedAt, next[who])
			}
			next[who]++
			n++
		}
	}
	test.Same(t, putters*each, n, "records that were put (-) and came back (+)")
}

// Every prefix of a segment returns only complete records, in order, and all whose frame it contains.
func TestJournalCutAtAnyByte(t *testing.T) {
	root, j := journalIn(t)
	ends := []int64{0}
	for i := range 6 {
		r := schema.Record{Kind: schema.KindItem, CallID: fmt.Sprint(i), Body: []byte(`{"n":` + strings.Repeat("1", i*7+1) + `}`)}
		test.OK(t, j.Put(context.Background(), []schema.Record{r}))
		st, err := j.file.Stat()
		test.OK(t, err)
		ends = append(ends, st.Size())
	}
	ref, _, _ := j.Seal()
	whole := test.Read(t, segmentPath(root, ref))
	for cut := range len(whole) {
		test.OK(t, os.WriteFile(segmentPath(root, ref), whole[:cut], 0o600))
		recs, err := readAll(t, root, ref)
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		want := 0
		for _, end := range ends[1:] {
			if int64(cut) >= end {
				want++
			}
		}
		if len(recs) != want {
			t.Fatalf("cut at %d of %d: %d records, want %d", cut, len(whole), len(recs), want)
		}
	}
	// Damage before complete frames is not the torn end of a write.
	broken := bytes.Clone(whole)
	broken[ends[2]+frameHeader+3] ^= 1
	test.OK(t, os.WriteFile(segmentPath(root, ref), broken, 0o600))
	recs, err := readAll(t, root, ref)
	if err == nil || !strings.Contains(err.Error(), fmt.Sprintf("damaged from byte %d to its end, byte %d", ends[2], ends[6])) || len(recs) != 2 {
		t.Errorf("a broken frame in the middle gave %d records and %v, want the 2 before and where it is", len(recs), err)
	}
	// A file that grew, but was not written before a power cut.
	test.OK(t, os.WriteFile(segmentPath(root, ref), append(whole[:ends[3]:ends[3]], make([]byte, 100)...), 0o600))
	if recs, err := readAll(t, root, ref); err != nil || len(recs) != 3 {
		t.Errorf("zeros at the end gave %d records and %v", len(recs), err)
	}
}

func TestJournalIsReadableWithZstd(t *testing.T) {
	if _, err := exec.LookPath("zstd"); err != nil {
		t.Skip("no zstd on this machine")
	}
	root, j := journalIn(t)
	r := schema.Record{Kind: schema.KindItem, CallID: "a", FetchedAt: 7, Body: []byte(`{"id":"a"}`)}
	for range 2 {
		test.OK(t, j.Put(context.Background(), []schema.Record{r}))
	}
	ref, _, _ := j.Seal()
	out, err := exec.Command("zstd", "-dcq", segmentPath(root, ref)).Output()
	test.OK(t, err)
	line := `{"kind":"item","at":7,"id":"a"}` + "\t" + `{"id":"a"}` + "\n"
	test.Same(t, line+line, string(out), "zstd prints")
}

// The specification has a row for each kind of record.
func TestFormatNamesTheKinds(t *testing.T) {
	_, spec, _ := strings.Cut(string(test.Read(t, "../layout/FORMAT.md")), "## Journal segments")
	for _, word := range kindWords[1:] {
		if word == "" || !strings.Contains(spec, "\n| `"+word+"` | ") {
			t.Errorf("FORMAT.md has no row for the kind %q", word)
		}
	}
}

func TestRecordLines(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := schema.Record{
			Resource:  rapid.SampledFrom([]string{"", "agents"}).Draw(t, "resource"),
			Kind:      schema.Kind(rapid.IntRange(1, len(kindWords)-1).Draw(t, "kind")),
			CallID:    rapid.String().Draw(t, "id"),
			FetchedAt: rapid.Int64().Draw(t, "at"),
			Body:      []byte(`{"a":` + fmt.Sprintf("%q", rapid.StringMatching(`[a-z",:{}]*`).Draw(t, "text")) + `}`),
		}
		line, err := appendRecord(nil, &want)
		test.OK(t, err)
		got, err := parseRecord(line[:len(line)-1])
		test.OK(t, err)
		if d := cmp.Diff(want, got); d != "" {
			t.Fatal(d)
		}
	})
}

// A line without its body, or with an unknown member, is no record.
func TestOtherLines(t *testing.T) {
	for _, line := range []string{`{"kind":"item","at":7,"id":"a"}`, `{"kind":"item","at":7,"id":"a","more":1}` + "\t{}", `{"kind":"missing","id":"a"} {}`} {
		if r, err := parseRecord([]byte(line)); err == nil {
			t.Errorf("%s: %+v", line, r)
		}
	}
}

// waiting is a file of which each read waits.
type waiting struct {
	disk.File
	turn chan<- bool
}

func (f waiting) ReadAt(b []byte, at int64) (int, error) {
	f.turn <- true
	return f.File.ReadAt(b, at)
}

// While a frame is read, others are.
func TestFramesTogether(t *testing.T) {
	path, line := filepath.Join(t.TempDir(), "1"), appendFrame(nil, []byte(`{"kind":"missing","id":"a"}`))
	test.OK(t, os.WriteFile(path, line, 0o600))
	file, err := os.Open(path)
	test.OK(t, err)
	turn := make(chan bool)
	frames := journalFrames{Segments: []*segment{{file: file, Size: int64(len(line))},
		{file: waiting{file, turn}, Size: int64(len(line))}}}
	go func() {
		<-turn // it reads the header
		_, _ = frames.Record(framePlace{Segment: 0}, 0)
		<-turn
	}()
	_, err = frames.Record(framePlace{Segment: 1}, 0)
	test.OK(t, errors.Join(err, file.Close()))
}

func FuzzSegment(f *testing.F) {
	frame := appendFrame(nil, []byte(`{"kind":"item","at":7,"id":"a"}`+"\t"+`{"id":"a"}`+"\n"))
	f.Add(frame)
	f.Add(append(frame, frame...))
	f.Add(frame[:20])
	f.Fuzz(func(t *testing.T, raw []byte) {
		path := filepath.Join(t.TempDir(), "000001.zst")
		test.OK(t, os.WriteFile(path, raw, 0o600))
		file, err := os.Open(path)
		test.OK(t, err)
		defer file.Close()
		s := &segment{Path: path, file: file, Size: int64(len(raw))}
		// Any outcome except a panic or a hang.
		_, _ = s.Scan(true, func(int64, int, *schema.Record) error { return nil })
	})
}

// If a segment of a run's journal is missing, its coverage is not believed: calls could be lost silently.
func TestSegmentIsMissing(t *testing.T) {
	run := layout.RunID(testDay, 1)
	committed := &layout.Snapshot{Manifest: &layout.Manifest{}}
	committed.Manifest.RunID, committed.Manifest.Journal = run, []layout.Segment{{Run: run, Number: 1}}
	for _, c := range []struct {
		numbers []int64
		current *layout.Snapshot
		missing int
	}{
		{[]int64{1, 2, 3}, nil, 0}, {[]int64{2, 3}, nil, 1}, {[]int64{1, 3, 4, 6}, nil, 2}, {[]int64{2, 3}, committed, 0}, {[]int64{3}, committed, 1},
	} {
		var refs []layout.Segment
		for _, n := range c.numbers {
			refs = append(refs, layout.Segment{Run: run, Number: n})
		}
		if got := missingSegments(refs, c.current); len(got) != c.missing {
			t.Errorf("of %v are missing: %v", c.numbers, got)
		}
	}

	root := filepath.Join(t.TempDir(), "w")
	w := aRun(t, nil, root, 0)
	for _, n := range []int64{1, 3} {
		test.OK(t, os.MkdirAll(filepath.Join(root, layout.JournalName, run), 0o700))
		test.OK(t, os.WriteFile(segmentPath(root, layout.Segment{Run: run, Number: n}), nil, 0o600))
	}
	test.OK(t, w.Close())
	w = aRun(t, nil, root, 2)
	defer w.Close()
	if !w.incomplete[run] {
		t.Error("the coverage of a run without its second segment is believed")
	}
}
