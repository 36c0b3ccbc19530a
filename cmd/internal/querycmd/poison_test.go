package querycmd_test

import (
	"testing"

	"callhouse/cmd/internal/cmdtest"
)

// The program reads no settings in tests but those that they give it.
func TestSettingsOfTheMachine(t *testing.T) {
	cmdtest.Poison(t, "^(TestWarehouseFromEnvironment)$")
}
