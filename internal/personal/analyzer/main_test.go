package analyzer

import (
	"testing"

	"callhouse/internal/loopback"
)

func TestMain(m *testing.M) { loopback.Main(m) }
