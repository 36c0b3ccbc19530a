package publish

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/iceberg-go"
	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/sink"
)

// avroOf returns the content of an Avro file, its blocks decompressed.
func avroOf(raw []byte) ([]byte, error) {
	in := bytes.NewReader(raw[4:])
	long := func() int64 { n, _ := binary.ReadVarint(in); return n }
	text := func() []byte {
		b := make([]byte, max(long(), 0))
		_, _ = io.ReadFull(in, b)
		return b
	}
	codec := ""
	for n := long(); n != 0; n = long() {
		for range n {
			if key, value := text(), text(); string(key) == "avro.codec" {
				codec = string(value)
			}
		}
	}
	_, _ = in.Seek(16, io.SeekCurrent)
	out := bytes.Clone(raw)
	for in.Len() > 0 {
		_ = long()
		block := text()
		_, _ = in.Seek(16, io.SeekCurrent)
		switch codec {
		case "deflate":
			plain, err := io.ReadAll(flate.NewReader(bytes.NewReader(block)))
			if err != nil {
				return nil, err
			}
			out = append(out, plain...)
		case "", "null":
			out = append(out, block...)
		default:
			return nil, fmt.Errorf("unknown codec %q", codec)
		}
	}
	return out, nil
}

// valuesOf returns the content of a Parquet file with all values decoded.
func valuesOf(raw []byte) ([]byte, error) {
	in, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	if err != nil {
		return nil, err
	}
	out := bytes.Clone(raw)
	r := parquet.NewReader(in)
	defer r.Close()
	for row := make([]parquet.Row, 1); ; {
		n, err := r.ReadRows(row)
		for _, v := range row[0][:n*len(row[0])] {
			out = append(append(out, v.String()...), '\n')
		}
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
	}
}

// hits returns the files below a folder that contain any of some texts, decoded.
func hits(t *testing.T, dir string, texts ...string) (out []string) {
	t.Helper()
	files := 0
	err := filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		files++
		content, err := os.ReadFile(path)
		if err == nil && strings.HasSuffix(path, ".avro") {
			content, err = avroOf(content)
		}
		if err == nil && strings.HasSuffix(path, ".parquet") {
			content, err = valuesOf(content)
		}
		for _, text := range texts {
			if bytes.Contains(content, []byte(text)) {
				out = append(out, path+" has "+text)
			}
		}
		return err
	})
	if err != nil || files < 4 {
		t.Fatalf("%d files: %v", files, err)
	}
	return out
}

// TestForgottenInTheLake searches every byte of a lake for the id of a forgotten call and five
// spellings of its number, also if the publication after it was killed before its cleanup. It uses
// the real clock, so everything in the lake is recent.
func TestForgottenInTheLake(t *testing.T) {
	number, id := "+15550001111", "0f9d1c52-77aa-4c7a-9c4a-5dd0f1e2ab31"
	texts := []string{number, "15550001111"[1:], "555-000-1111", "(555) 000-1111", "0015550001111", id}
	secret := call{id, "x", 1, 1, 2}
	fields := map[string]string{"b": `"from_number":"+15559998888",`, id: `"from_number":"+15550001111","to_number":"+15550001111",` +
		`"summary":"call 555-000-1111","dynamic_variables":{"a":"(555) 000-1111","b":"0015550001111","c":"15550001111"},`}
	for _, whose := range []string{"", "acme"} {
		for _, killed := range []bool{false, true} {
			t.Run(fmt.Sprint(whose, killed), func(t *testing.T) {
				h, to := newTestWarehouse(t), t.TempDir()
				h.fields = fields
				h.night(secret, call{"b", "y", 1, 1, 0})
				_, err := h.publish(to, organization(whose), now)
				h.must(err)
				if found := hits(t, to, texts...); len(found) < len(texts) {
					t.Fatalf("before it is forgotten: %v", found)
				}
				for _, path := range hits(t, to, number, "+15559998888") {
					if strings.Contains(path, ".avro") {
						t.Errorf("%s", path)
					}
				}
				h.night(call{"c", "z", 2, 1, 0}, secret)
				_, err = h.publish(to, organization(whose), now)
				h.must(err)
				w := h.open(1)
				_, err = w.Forget(context.Background(), sink.Selection{CallIDs: []string{id}}, false, nil)
				h.must(errors.Join(err, w.Close()))
				if killed {
					l := newLake(h, to)
					m := &mortal{Store: l.store, left: 1 << 30, puts: map[string]int{}}
					_, err := h.publish(to, organization(whose), now, func(o *Options) { o.store = unable{m} })
					if !errors.Is(err, errKilled) {
						t.Fatal(err)
					}
				}
				_, err = h.publish(to, organization(whose), now)
				h.must(err)
				if found := hits(t, to, texts...); found != nil {
					t.Errorf("after it is forgotten:\n%s", strings.Join(found, "\n"))
				}
				newLake(h, to).check(whose)
			})
		}
	}
}

// unable is a store that cannot remove anything.
type unable struct{ *mortal }

func (unable) Remove(context.Context, []string) error { return errKilled }

// TestOlderManifests publishes to a table whose manifests, like those of earlier versions, have
// bounds of numbers: they are rewritten without bounds.
func TestOlderManifests(t *testing.T) {
	h, to := newTestWarehouse(t), t.TempDir()
	number := "+15559998888"
	h.fields = map[string]string{"a": `"from_number":"` + number + `",`}
	h.night(call{"a", "y", 1, 1, 0})
	p, err := prepare(t.Context(), h.options(to))
	h.must(err)
	defer p.dir.Close()
	w := p.workOf(&schema.Calls)
	h.must(w.load(t.Context()))
	h.must(w.look(t.Context()))
	h.must(p.upload(t.Context(), []*work{w}))
	bound := map[int][]byte{schema.Calls.Columns[schema.Calls.Column("from_number")].ID: []byte(number)}
	for _, f := range w.files {
		desc, err := w.dataFile(f)
		h.must(err)
		b, err := iceberg.NewDataFileBuilder(w.spec(int(desc.SpecID()), false), desc.ContentType(), desc.FilePath(), desc.FileFormat(),
			desc.Partition(), nil, nil, desc.Count(), desc.FileSizeBytes())
		h.must(err)
		w.described[desc.FilePath()] = b.LowerBoundValues(bound).UpperBoundValues(bound).Build()
	}
	h.must(w.publication.commit(t.Context(), w))
	inManifest := func() bool { return strings.Contains(fmt.Sprint(hits(t, to, number)), ".avro") }
	if !inManifest() {
		t.Fatal("the older manifest has no bounds of numbers")
	}
	for range 2 { // the second publication removes the manifests replaced by the first
		if found := h.problems(to); len(found) == 0 {
			t.Error("the check finds nothing")
		}
		_, err = h.publish(to)
		h.must(err)
		h.night(call{"b", "z", 2, 1, 0})
	}
	_, err = h.publish(to)
	h.must(err)
	h.now = h.now.Add(48 * time.Hour)
	for n := range 4 {
		h.night(call{"c", fmt.Sprint(n), 3, 1, 0})
		h.now = h.now.Add(48 * time.Hour)
		_, err = h.publish(to)
		h.must(err)
	}
	if inManifest() {
		t.Errorf("%v", hits(t, to, number))
	}
}

// TestForeignFiles reports files written by other programs.
func TestForeignFiles(t *testing.T) {
	h, to := newTestWarehouse(t), t.TempDir()
	h.night(call{"a", "y", 1, 1, 0})
	_, err := h.publish(to)
	h.must(err)
	for _, name := range []string{"calls/data/start_at_month=2026-09/00000-0-f00.parquet", "calls/metadata/snap-1-x.avro", "calls/metadata/x.stats"} {
		path := filepath.Join(to, filepath.FromSlash(name))
		h.must(errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte("x"), 0o600)))
	}
	made, err := h.publish(to)
	h.must(err)
	if len(made.Foreign) != 3 || len(h.problems(to)) != 3 {
		t.Errorf("%v, %v", made.Foreign, h.problems(to))
	}
}
