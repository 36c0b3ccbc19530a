package e2e

import (
	"testing"

	"callhouse/cmd/internal/cmdtest"
)

// Whole runs, in this process and as child processes, read only the settings given by their tests.
func TestSettingsOfTheMachine(t *testing.T) {
	cmdtest.Poison(t, "^(TestKeyPlaces|TestErrorsSayWhatToDo|TestPlanForetells)$")
}
