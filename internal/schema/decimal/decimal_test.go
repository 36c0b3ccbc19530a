package decimal

import (
	"encoding/json"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

// units returns a decimal as an integer of units of 10^-18.
func (d Number) units() *big.Int {
	n := new(big.Int).Lsh(big.NewInt(d.hi), 64)
	return n.Add(n, new(big.Int).SetUint64(d.lo))
}

// A number is read exactly or not at all, and written unchanged.
func TestDecimal(t *testing.T) {
	t.Parallel()
	unit := new(big.Int).Exp(big.NewInt(10), big.NewInt(Places), nil)
	for text, fits := range map[string]bool{
		"0": true, "-0.00": true, "0.05": true, "0.04213": true, "0.1234567": true, "0.30000000000000004": true,
		"0.12345678901234567": true, "99999999999999.9999": true, "-999999999999999.999999999999999999": true,
		"0.000000000000000001": true, "1e-18": true, "1e14": true, "100e-20": true, "120000000000000000000e-18": true,
		"1000000000000000": false, "1e15": false, "0.0000000000000000001": false, "1e-19": false, "1.2345678901234567e-05": false,
		"12345678901234567890": false, "1e400": false, "1e-400": false, "340282366920938463463374607431768211456": false,
		"170141183460469231731687303715884105728e-18": false,
	} {
		n, ok := Parse([]byte(text), Places)
		if ok = ok && n.Within(Max); ok != fits {
			t.Errorf("%s fits: %v, want %v", text, ok, fits)
			continue
		}
		want, _ := new(big.Rat).SetString(text)
		if got := new(big.Rat).SetFrac(n.units(), unit); ok && got.Cmp(want) != 0 {
			t.Errorf("%s is read as %v", text, got)
		}
		for _, spelled := range [][]byte{AppendAmount(nil, n), Append(nil, n)} {
			if again, ok := Parse(spelled, Places); ok != json.Valid(spelled) || again != n && fits {
				t.Errorf("%s is written as %s", text, spelled)
			}
		}
	}
}

func TestDecimalSums(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, b := FromUnits(rapid.Int64().Draw(t, "a"), 4), FromUnits(rapid.Int64().Draw(t, "b"), 0)
		if got, want := a.Plus(b).units(), new(big.Int).Add(a.units(), b.units()); got.Cmp(want) != 0 {
			t.Fatalf("the sum is %v, want %v", got, want)
		}
		if got, want := a.minus().units(), new(big.Int).Neg(a.units()); got.Cmp(want) != 0 {
			t.Fatalf("the negative is %v, want %v", got, want)
		}
		if got, want := a.Within(b.abs()), a.units().CmpAbs(b.units()) <= 0; got != want {
			t.Fatalf("%v within %v: %v", a.units(), b.units(), got)
		}
		if FromBytes(a.AppendBytes(nil)) != a {
			t.Fatal("its bytes are not its own")
		}
	})
}
