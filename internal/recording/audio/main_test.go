package audio_test

import (
	"testing"

	"callhouse/internal/loopback"
)

func TestMain(m *testing.M) { loopback.Main(m) }
