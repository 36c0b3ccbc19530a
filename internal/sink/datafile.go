package sink

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"strconv"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	pzstd "github.com/parquet-go/parquet-go/compress/zstd"
	"github.com/parquet-go/parquet-go/format"

	"callhouse/internal/calls"
	"callhouse/internal/layout"
	"callhouse/internal/schema"
	"callhouse/internal/sink/disk"
)

// A row group is closed when it has rowGroupRows rows or rowGroupBytes bytes of values: the first
// limit suits readers, the second bounds the writer's memory.
const (
	rowGroupRows  = 122_880
	rowGroupBytes = 32 << 20
	// pageBytes is the size at which a column's page is encoded. A writer holds one page per column;
	// half of it takes 3 % more space on the disk, and a third less memory.
	pageBytes = 1 << 20
)

const (
	// filterBits is the number of bits per call in the filter of call_id. One id in some hundred
	// thousand is a false positive, so a commit reads hardly any files without the night's new
	// calls. Look-ups benefit as well.
	filterBits = 40
	// longWord is the length from which a word of a dictionary counts towards a row group's size.
	longWord = 1 << 10
)

// pageCodec compresses pages. The library's default level takes more processor time for little less size.
var pageCodec = &checkedZstd{}

// checkedZstd makes zstd frames with a checksum, which DuckDB verifies, unlike that of Parquet: a changed
// byte of a page is an error, never another value.
type checkedZstd struct{ pzstd.Codec }

var pageEncoder = must(zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedDefault), zstd.WithZeroFrames(true),
	zstd.WithEncoderCRC(true)))

// Encode overwrites dst, as the library expects.
func (*checkedZstd) Encode(dst, src []byte) ([]byte, error) {
	return pageEncoder.EncodeAll(src, dst[:0]), nil
}

// dataFile writes one data file of a snapshot. The file is created with the first row; a table
// without rows has no file.
type dataFile struct {
	in    *builder
	table *schema.Table
	info  layout.File // Table, Period and Path are set; the rest is derived from the rows

	file   disk.File
	hash   hash.Hash
	rows   *parquet.GenericWriter[any]
	levels []int           // by column: the definition level of a value
	words  []bool          // by column: whether its values are in a dictionary
	column []parquet.Value // to be written
	held   int             // rows of the open row group, and the size of their values
	bytes  int
}

// Write implements io.Writer for the Parquet writer: it writes to the file, the checksum and the count.
func (t *dataFile) Write(p []byte) (int, error) {
	n, err := t.file.Write(p)
	t.hash.Write(p[:n])
	t.info.Bytes += int64(n)
	return n, err
}

// begin begins the Parquet file. A page ends when it has about pageBytes bytes before encoding.
func (t *dataFile) begin(pageBytes int) {
	t.hash = sha256.New()
	version := strconv.Itoa(layout.FormatVersion)
	s := schema.ParquetSchema(t.table)
	options := []parquet.WriterOption{s, parquet.PageBufferSize(pageBytes), parquet.DataPageStatistics(false), parquet.Compression(pageCodec),
		parquet.DataPageVersion(1), // within the frame are then the levels, too
		parquet.CreatedBy("callhouse", version, ""), parquet.KeyValueMetadata(layout.FormatKey, version)}
	for i, f := range s.Fields() {
		c := &t.table.Columns[i]
		level := 1
		if c.Required {
			level = 0
		}
		t.levels = append(t.levels, level)
		t.words = append(t.words, f.Encoding() != nil && f.Encoding().Encoding() == format.RLEDictionary)
		if c.Unbounded() {
			options = append(options, parquet.SkipPageBounds(c.Name))
		}
	}
	if t.table == &schema.Calls {
		options = append(options, parquet.BloomFilters(parquet.SplitBlockFilter(filterBits, "call_id")))
	}
	t.rows = parquet.NewGenericWriter[any](t, options...)
}

// ready makes room for n rows, which are then added.
func (t *dataFile) ready(n int) (err error) {
	if t.rows == nil {
		if t.file, err = t.in.Create(t.info.Path); err != nil {
			return fmt.Errorf("make %s: %w", t.info.Path, err)
		}
		t.begin(pageBytes)
	}
	if t.held >= rowGroupRows || t.bytes >= rowGroupBytes {
		if err := t.endGroup(); err != nil {
			return fmt.Errorf("write %s: %w", t.info.Path, err)
		}
	}
	t.info.Rows += int64(n)
	t.held += n
	return nil
}

// endGroup writes the row group.
func (t *dataFile) endGroup() error {
	t.held, t.bytes = 0, 0
	return t.rows.Flush()
}

// Add adds a row.
func (t *dataFile) Add(row parquet.Row) error {
	if err := t.ready(1); err != nil {
		return err
	}
	for i := range row {
		t.put(i, &row[i])
		if err := t.write(i); err != nil {
			return err
		}
	}
	return nil
}

// addList adds the rows of one of an object's lists, a column at a time. Columns that repeat one of
// the object's take their values from there.
func (t *dataFile) addList(o *schema.Object, list int) error {
	rows := &o.Lists[list]
	if err := t.ready(rows.Len()); err != nil {
		return err
	}
	cells := rows.Cells()
	for i, from := range o.Of.Repeats(list) {
		for n := range rows.Len() {
			switch from {
			default:
				t.put(i, &o.Row[from])
			case schema.OwnPlace:
				place := parquet.Int32Value(int32(n))
				t.put(i, &place)
			case schema.OwnValue:
				t.put(i, &cells[n*len(t.levels)+i])
			}
		}
		if err := t.write(i); err != nil {
			return err
		}
	}
	return nil
}

// put adds a value of a column to those that write writes.
func (t *dataFile) put(column int, v *parquet.Value) {
	if v.IsNull() {
		t.column = append(t.column, parquet.Value{})
		return
	}
	size := 8
	if v.Kind() == parquet.ByteArray {
		size = len(v.ByteArray()) + 4
		if t.words[column] && size < longWord {
			size = 4
		}
	}
	t.bytes += size
	t.column = append(t.column, v.Level(0, t.levels[column], column))
}

func (t *dataFile) write(column int) error {
	_, err := t.rows.ColumnWriters()[column].WriteRowValues(t.column)
	clear(t.column)
	if t.column = t.column[:0]; err != nil {
		return fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	return nil
}

// Close makes the file durable and returns its manifest entry, or nil if it has no rows.
func (t *dataFile) Close() (*layout.File, error) {
	if t.rows == nil {
		return nil, nil
	}
	err := t.rows.Close()
	if err == nil {
		err = t.file.Sync()
	}
	if err = errors.Join(err, t.file.Close()); err != nil {
		return nil, fmt.Errorf("write %s: %w", t.info.Path, err)
	}
	t.info.SHA256 = hex.EncodeToString(t.hash.Sum(nil))
	return &t.info, nil
}

// Discard removes the file, which has no new data.
func (t *dataFile) Discard() error {
	if t.rows == nil {
		return nil
	}
	return errors.Join(t.file.Close(), t.in.Remove(t.info.Path))
}

// dataFiles writes the data files of one part of a snapshot.
type dataFiles []*dataFile

// newDataFiles returns writers, in a snapshot, of tables' files for a period; an empty period means none.
func newDataFiles(in *builder, period string, tables ...*schema.Table) (fs dataFiles) {
	for _, t := range tables {
		path := layout.RunsFile
		if t != &schema.Runs {
			path = layout.DataFile(t.Name, period, disk.NewID())
		}
		fs = append(fs, &dataFile{in: in, table: t, info: layout.File{Table: t.Name, Period: period, Path: path}})
	}
	return fs
}

// ReadIn records the region in which the national telephone numbers of the first table were read.
func (fs dataFiles) ReadIn(country string) dataFiles {
	fs[0].info.Country = country
	return fs
}

// Write writes an object with all its rows.
func (fs dataFiles) Write(o *schema.Object) error {
	err := fs[0].Add(o.Row)
	for i := range o.Lists {
		if err == nil && o.Lists[i].Len() > 0 {
			err = fs[i+1].addList(o, i)
		}
	}
	return err
}

// Close makes the files durable and returns their manifest entries.
func (fs dataFiles) Close() (out []layout.File, err error) {
	for _, f := range fs {
		info, ferr := f.Close()
		if err = errors.Join(err, ferr); info != nil {
			out = append(out, *info)
		}
	}
	return out, err
}

// Discard removes the files.
func (fs dataFiles) Discard() (err error) {
	for _, f := range fs {
		err = errors.Join(err, f.Discard())
	}
	return err
}

// periodWriter writes the files of one period.
type periodWriter struct {
	dataFiles                // of schema.CallTables
	tools     calls.ToolRows // of the call being written
}

// countCall adds a call to the manifest's figures for a file of calls.
func countCall(info *layout.File, call *calls.Call) {
	widen(info, call.StartAt())
	if !call.StartAt().OK {
		info.Undated++
	}
	if call.Waits() {
		info.Due++
	}
	if call.Unsure() {
		info.Unsure++
	}
	if call.TranscriptState() == calls.Unreadable {
		info.Unreadable++
	}
	if call.TranscriptState() == calls.Skipped {
		if info.Skipped == nil {
			info.Skipped = map[string]int64{}
		}
		info.Skipped[string(call.Kind())]++
	}
	if call.InBulk() {
		info.Bulk++
	}
	if call.CostUnheld() {
		info.UnheldCosts++
	}
	if call.RecordingDue() {
		info.Unarchived++
		if since := call.EndOrFirstSeen(); info.OldestUnarchived == nil || since < *info.OldestUnarchived {
			info.OldestUnarchived = &since
		}
	}
	if !call.Unsettled() {
		return
	}
	info.Unsettled++
	if !call.StartAt().OK {
		info.Unstarted++
	}
	since := call.Began()
	if info.OldestUnsettled == nil || since < *info.OldestUnsettled {
		info.OldestUnsettled = &since
	}
	if expiry := call.ExpiresAt(); info.NextExpiry == nil || expiry < *info.NextExpiry {
		info.NextExpiry = &expiry
	}
}

// countRecording adds a call's recording to the manifest's figures for a file of recordings.
func countRecording(info *layout.File, call *calls.Call) {
	r, ok := call.Recording()
	if !ok {
		return
	}
	if info.Recordings == nil {
		info.Recordings = map[string]int64{}
	}
	info.Recordings[r.State]++
	if r.Undeleted() {
		info.Recordings[schema.RecordingUndeleted]++
	}
	if r.State == schema.RecordingStored {
		info.AudioBytes += r.Bytes
	}
}

// widen widens a file's bounds of start_at.
func widen(info *layout.File, start schema.Opt[int64]) {
	if !start.OK {
		return
	}
	v := start.V
	if info.MinStart == nil {
		lo, hi := v, v
		info.MinStart, info.MaxStart = &lo, &hi
		return
	}
	*info.MinStart = min(*info.MinStart, v)
	*info.MaxStart = max(*info.MaxStart, v)
}

// Write writes a call with all its rows. It completes one that is not unchanged.
func (w *periodWriter) Write(call *calls.Call, unchanged bool) error {
	if tools := w.tools.Of(call); !unchanged {
		call.Complete(tools)
	}
	countCall(&w.dataFiles[0].info, call)
	if err := w.dataFiles[0].Add(call.Row); err != nil {
		return err
	}
	for i := range call.Lists {
		t, rows := w.dataFiles[i+1], &call.Lists[i]
		if rows.Len() == 0 {
			continue
		}
		widen(&t.info, call.StartAt())
		if t.table == &schema.Recordings {
			countRecording(&t.info, call)
		}
		if err := t.addList(&call.Object, i); err != nil {
			return err
		}
	}
	return w.tools.Each(call, func(row schema.Row) error {
		t := w.dataFiles[len(call.Lists)+1]
		widen(&t.info, call.StartAt())
		return t.Add(row)
	})
}
