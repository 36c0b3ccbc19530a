package schema

import (
	"testing"

	"github.com/parquet-go/parquet-go"
)

// An added row is null, even in reused memory.
func TestAddedRowsAreNull(t *testing.T) {
	var few, rows Rows
	few.Empty(&Turns)
	few.Add()
	for name, less := range map[string]func(){
		"cut":   func() { rows.Cut(1) },
		"empty": func() { rows.Empty(&Items) },
		"set":   func() { rows.Set(&few) },
	} {
		rows.Empty(&Turns)
		for range 10 {
			row := rows.Add()
			for i := range row {
				row[i] = parquet.Int32Value(int32(i))
			}
		}
		less()
		for range 30 {
			for i, v := range rows.Add() {
				if !v.IsNull() {
					t.Errorf("%s: column %d of a new row is %v", name, i, v)
				}
			}
		}
	}
}
