package status

import (
	"testing"

	"callhouse/cmd/internal/cmdtest"
)

func TestMain(m *testing.M) { cmdtest.Main(m) }
