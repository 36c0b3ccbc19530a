package schema

import (
	"encoding/json"
	"math/big"
	"testing"

	"github.com/parquet-go/parquet-go"
	"pgregory.net/rapid"

	"callhouse/internal/test"
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

// A number is read exactly or not at all, and written unchanged.
func TestExact(t *testing.T) {
	t.Parallel()
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(ExactPlaces), nil)
	for text, fits := range map[string]bool{
		"0": true, "-0.00": true, "0.05": true, "0.04213": true, "0.1234567": true, "0.30000000000000004": true,
		"0.12345678901234567": true, "99999999999999.9999": true, "-999999999999999.999999999999999999": true,
		"0.000000000000000001": true, "1e-18": true, "1e14": true, "100e-20": true, "120000000000000000000e-18": true,
		"1000000000000000": false, "1e15": false, "0.0000000000000000001": false, "1e-19": false, "1.2345678901234567e-05": false,
		"12345678901234567890": false, "1e400": false, "1e-400": false, "340282366920938463463374607431768211456": false,
		"170141183460469231731687303715884105728e-18": false, "1e999999999": false, "1E-1000000": false,
	} {
		n, ok := ParseNumber([]byte(text), ExactPlaces)
		test.Same(t, fits, ok, "%s fits", text)
		if !ok {
			continue
		}
		want, _ := new(big.Rat).SetString(text)
		if got := new(big.Rat).SetFrac(n, unit); got.Cmp(want) != 0 {
			t.Errorf("%s is read as %v", text, got)
		}
		for least := range 5 {
			spelled := AppendExact(nil, ExactValue(n), least)
			if again, ok := ParseNumber(spelled, ExactPlaces); !ok || !json.Valid(spelled) || again.Cmp(n) != 0 {
				t.Errorf("%s is written as %s", text, spelled)
			}
		}
	}
}

func TestExactBytes(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := big.NewInt(rapid.Int64().Draw(t, "n"))
		n.Mul(n, big.NewInt(rapid.Int64Range(-1e14, 1e14).Draw(t, "by")))
		if again := ExactOf(ExactValue(n)); again.Cmp(n) != 0 {
			t.Fatalf("%v becomes %v", n, again)
		}
	})
}
