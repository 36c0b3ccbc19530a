package extractcmd

import (
	"testing"

	"callhouse/cmd/internal/cmdtest"
)

// In tests, the program reads only the settings that they give it.
func TestSettingsOfTheMachine(t *testing.T) {
	cmdtest.Poison(t, "^(TestExtractWithoutACommand|TestMaintenanceWithoutAWarehouse)$")
}
