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

	"github.com/parquet-go/parquet-go"

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
// spellings of its number, also if the publication after it was killed before its cleanup.
func TestForgottenInTheLake(t *testing.T) {
	number, id := "+15550001111", "0f9d1c52-77aa-4c7a-9c4a-5dd0f1e2ab31"
	texts := []string{number, "15550001111"[1:], "555-000-1111", "(555) 000-1111", "0015550001111", id}
	secret := call{id, "x", 1, 1, 2}
	fields := map[string]string{"b": `"from_number":"+15559998888",`, id: `"from_number":"+15550001111","to_number":"+15550001111",` +
		`"summary":"call 555-000-1111","dynamic_variables":{"a":"(555) 000-1111","b":"0015550001111","c":"15550001111"},`}
	for _, killed := range []bool{false, true} {
		t.Run(fmt.Sprint(killed), func(t *testing.T) {
			h, to := newTestWarehouse(t), t.TempDir()
			h.fields = fields
			h.night(secret, call{"b", "y", 1, 1, 0})
			_, err := h.publish(to)
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
			_, err = h.publish(to)
			h.must(err)
			w := h.open(1)
			_, err = w.Forget(context.Background(), sink.Selection{CallIDs: []string{id}}, false, nil)
			h.must(errors.Join(err, w.Close()))
			if killed {
				l := newLake(h, to)
				m := &mortal{Store: l.store, left: 1 << 30, puts: map[string]int{}}
				_, err := h.publish(to, func(o *Options) { o.store = unable{m} })
				if !errors.Is(err, errKilled) {
					t.Fatal(err)
				}
			}
			_, err = h.publish(to)
			h.must(err)
			if found := hits(t, to, texts...); found != nil {
				t.Errorf("after it is forgotten:\n%s", strings.Join(found, "\n"))
			}
			newLake(h, to).check()
		})
	}
}

// unable is a store that cannot remove anything.
type unable struct{ *mortal }

func (unable) Remove(context.Context, []string) error { return errKilled }
