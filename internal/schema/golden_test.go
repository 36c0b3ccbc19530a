package schema

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/parquet-go/parquet-go"

	"callhouse/internal/golden"
	"callhouse/internal/schema/decimal"
)

const testdata = "../../testdata"

// fetchedAt is when the payloads were fetched, and settledAt when their calls'
// life is looked at: two hours later.
var (
	fetchedAt = time.Date(2026, 11, 19, 9, 30, 0, 0, time.UTC).UnixMilli()
	settledAt = fetchedAt + 2*time.Hour.Milliseconds()
)

// payloads returns the names of testdata/payloads, and what kind each is.
func payloads(t testing.TB) map[string]Kind {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(testdata, "payloads", "*.json"))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no payloads: %v", err)
	}
	kinds := map[string]Kind{}
	for _, path := range paths {
		name := strings.TrimSuffix(filepath.Base(path), ".json")
		kinds[name] = KindItem
		if strings.Contains(name, "_detail") {
			kinds[name] = KindDetail
		}
	}
	return kinds
}

func payload(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(filepath.Join(testdata, "payloads", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	return body
}

// decoded returns the call that a body becomes, on its own.
func decoded(t testing.TB, body []byte, kind Kind) *Call {
	t.Helper()
	var d Decoder
	var c Call
	if err := d.Decode(body, kind, &c); err != nil {
		t.Fatalf("%v in %s", err, body)
	}
	c.Fetched(fetchedAt, fetchedAt, []byte("20261119T093000Z-00000001"))
	return &c
}

// Every payload becomes the rows in its golden file.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, kind := range payloads(t) {
		t.Run(name, func(t *testing.T) {
			var d Decoder
			var c Call
			if err := d.Decode(payload(t, name), kind, &c); err != nil {
				t.Fatal(err)
			}
			c.Fetched(fetchedAt, fetchedAt, []byte("20261119T093000Z-00000001"))
			c.Settle(settledAt)
			got := rowsText(&c, d.Drift)
			golden.Check(t, filepath.Join(testdata, "rows", name+".golden"), got)
		})
	}
}

// Every golden file has its payload.
func TestGoldenOrphans(t *testing.T) {
	t.Parallel()
	paths, err := filepath.Glob(filepath.Join(testdata, "rows", "*"))
	if err != nil {
		t.Fatal(err)
	}
	kinds := payloads(t)
	for _, path := range paths {
		if _, ok := kinds[strings.TrimSuffix(filepath.Base(path), ".golden")]; !ok {
			t.Errorf("%s has no payload", path)
		}
	}
}

// Every payload comes back from its rows.
func TestGoldenRebuild(t *testing.T) {
	t.Parallel()
	var d Decoder
	var c Call
	for name, kind := range payloads(t) {
		checkRebuild(t, &d, payload(t, name), kind, &c)
	}
}

// rowsText shows a call's rows, leaving nulls out.
func rowsText(c *Call, drift []Drift) string {
	var b strings.Builder
	at := map[*Table]int{}
	for table, row := range rows(c) {
		if table == &Calls {
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
	slices.SortFunc(drift, func(a, b Drift) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), int(a.Kind)-int(b.Kind))
	})
	fmt.Fprintln(&b, "drift")
	for _, d := range drift {
		fmt.Fprintf(&b, "  %-30s  %s %d\n", d.Path, d.Kind, d.Count)
	}
	return b.String()
}

func valueText(t Type, v parquet.Value) string {
	switch t {
	case Timestamp:
		return time.UnixMicro(v.Int64()).UTC().Format("2006-01-02T15:04:05.000Z")
	case Exact:
		return string(decimal.AppendPlaces(nil, decimal.FromBytes(v.ByteArray()), 4))
	case Text, Word:
		return fmt.Sprintf("%q", v.ByteArray())
	case JSON:
		return string(v.ByteArray())
	}
	return v.String()
}
