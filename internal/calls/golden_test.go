package calls

import (
	"cmp"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/schema"
	"callhouse/internal/test"
	"callhouse/internal/wire"
)

const testdata = "../../testdata"

// fetchedAt is when the payloads were fetched, and settledAt, two hours later, when their calls are judged.
var (
	fetchedAt = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC).UnixMilli()
	settledAt = fetchedAt + 2*time.Hour.Milliseconds()
)

// decoded returns the call of a body, in its own memory.
func decoded(t testing.TB, body []byte, kind schema.Kind) *Call {
	t.Helper()
	var d Decoder
	var c Call
	if err := d.Decode(body, kind, &c); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	c.Fetched(fetchedAt, fetchedAt, []byte("20261119T093000Z-00000001"))
	return &c
}

// Every payload gives the rows in its golden file.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, kind := range payloads(t) {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			var c Call
			test.OK(t, d.Decode(payload(t, name), kind, &c))
			c.Fetched(fetchedAt, fetchedAt, []byte("20261119T093000Z-00000001"))
			c.Settle(settledAt)
			got := rowsText(&c, d.Drift)
			test.Golden(t, filepath.Join(testdata, "rows", name+".golden"), got)
		})
	}
}

// Every golden file has its payload.
func TestGoldenOrphans(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(testdata, "rows", "*"))
	test.OK(t, err)
	kinds := payloads(t)
	for _, path := range paths {
		if _, ok := kinds[strings.TrimSuffix(filepath.Base(path), ".golden")]; !ok {
			t.Errorf("%s has no payload", path)
		}
	}
}

// rowsText prints a call's rows without nulls.
func rowsText(c *Call, drift []wire.Drift) string {
	var b strings.Builder
	at := map[*schema.Table]int{}
	for table, row := range rows(c) {
		if table == &schema.Calls {
			fmt.Fprintln(&b, table.Name)
		} else {
			fmt.Fprintln(&b, table.Name, at[table])
		}
		at[table]++
		for i, v := range row {
			if !v.IsNull() {
				fmt.Fprintf(&b, "  %-30s  %s\n", table.Columns[i].Name, valueText(table.Columns[i].Type, v))
			}
		}
	}
	slices.SortFunc(drift, func(a, b wire.Drift) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), int(a.Kind)-int(b.Kind))
	})
	fmt.Fprintln(&b, "drift")
	for _, d := range drift {
		fmt.Fprintf(&b, "  %-30s  %s %d\n", d.Path, d.Kind, d.Count)
	}
	return b.String()
}

func valueText(t schema.Type, v parquet.Value) string {
	switch t {
	case schema.Timestamp:
		return time.UnixMicro(v.Int64()).UTC().Format("2006-01-02T15:04:05.000Z")
	case schema.Exact:
		return string(schema.AppendExact(nil, v, 4))
	case schema.Text, schema.Word:
		return fmt.Sprintf("%q", v.ByteArray())
	case schema.JSON:
		return string(v.ByteArray())
	}
	return v.String()
}

// payloads returns the names of testdata/payloads, and the kind of each.
func payloads(t testing.TB) map[string]schema.Kind {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(testdata, "payloads", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	kinds := map[string]schema.Kind{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		kinds[name] = schema.KindItem
		if strings.Contains(name, "_detail") {
			kinds[name] = schema.KindDetail
		}
	}
	return kinds
}

// payload returns one payload.
func payload(t testing.TB, name string) []byte {
	t.Helper()
	return test.Read(t, filepath.Join(testdata, "payloads", name+".json"))
}
