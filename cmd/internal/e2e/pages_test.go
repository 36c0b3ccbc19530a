package e2e

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/analytics/duck"
	"callhouse/internal/longtest"
	"callhouse/internal/sandbox"
	"callhouse/internal/schema"
	"callhouse/internal/test"
)

var pageFlips = longtest.Int("page-flips", 8, 300, "at how many places in the pages of each table a bit is flipped")

// DuckDB never reads a changed bit of a page as another value: the checksum of the page's frame makes it an error.
func TestDuckDBVerifiesPages(t *testing.T) {
	longtest.Only(t)
	c := record(t, sandbox.Options{World: sandbox.Config{Seed: 8, Calls: 40, Days: 1}}, found)
	c.mustNight()
	s := current(t, c.warehouse)
	db, err := duck.Open(duck.Config{Threads: 1})
	test.OK(t, err)
	conn, err := db.Connect()
	test.OK(t, err)
	t.Cleanup(func() { conn.Close(); test.OK(t, db.Close()) })
	read := func(path string) (string, error) { // every value
		lines, err := conn.Column(t.Context(), fmt.Sprintf("SELECT count(*) || ' ' || sum(hash(t)) FROM read_parquet('%s', hive_partitioning = false) t", path))
		return strings.Join(lines, "\n"), err
	}
	random, dir := longtest.Rand(t), t.TempDir()
	for _, table := range schema.CallTables {
		f := s.Manifest.FilesOf(table.Name)[0]
		raw := test.Read(t, s.Path(f))
		want, err := read(s.Path(f))
		test.OK(t, err)
		pages, refused := pageData(t, raw), 0
		for n := range *pageFlips {
			page := pages[random.IntN(len(pages))]
			at, bit := page[0]+random.Int64N(page[1]-page[0]), byte(1)<<random.IntN(8)
			flipped := bytes.Clone(raw)
			flipped[at] ^= bit
			path := filepath.Join(dir, fmt.Sprintf("%s-%d.parquet", table.Name, n)) // a new name: DuckDB remembers files
			test.OK(t, os.WriteFile(path, flipped, 0o600))
			switch got, err := read(path); {
			case err != nil:
				refused++
			case got != want:
				t.Errorf("%s: with bit %#x of byte %d flipped DuckDB reads %q, not %q", table.Name, bit, at, got, want)
			}
		}
		if refused == 0 {
			t.Errorf("%s: no flip was noticed", table.Name)
		}
	}
}

// pageData returns where the compressed pages of a file begin and end, without their headers.
func pageData(t *testing.T, raw []byte) (pages [][2]int64) {
	t.Helper()
	f, err := parquet.OpenFile(bytes.NewReader(raw), int64(len(raw)))
	test.OK(t, err)
	for _, g := range f.Metadata().RowGroups {
		for _, c := range g.Columns {
			at := c.MetaData.DataPageOffset
			if d := c.MetaData.DictionaryPageOffset; d > 0 {
				at = d
			}
			for end := at + c.MetaData.TotalCompressedSize; at < end; {
				from := bytes.NewReader(raw[at:end])
				var header format.PageHeader
				test.OK(t, thrift.NewDecoder(new(thrift.CompactProtocol).NewReader(from)).Decode(&header))
				begin := end - int64(from.Len())
				at = begin + int64(header.CompressedPageSize)
				pages = append(pages, [2]int64{begin, at})
			}
		}
	}
	return pages
}
