package value

import (
	"math/big"
	"testing"
)

func TestDuration(t *testing.T) {
	for ms, want := range map[int64]string{
		0: "0ms", 1: "1ms", 999: "999ms", 1000: "1.0s", 59_949: "59.9s", 59_950: "1m 00s", 60_000: "1m 00s", 83_211: "1m 23s",
		3_599_499: "59m 59s", 3_599_500: "1h 00m", 3_600_000: "1h 00m", 45_000_000: "12h 30m", 3_600_000_000_000: "1,000,000h 00m", -1500: "-1.5s",
	} {
		if got := Duration(big.NewInt(ms)); got != want {
			t.Errorf("Duration(%d) = %s, want %s", ms, got, want)
		}
	}
}
