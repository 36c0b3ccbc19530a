package e2e

import (
	"testing"

	"callhouse/cmd/internal/cmdtest"
)

// Whole runs, in this process and as children, read only the settings that their tests give them.
func TestSettingsOfTheMachine(t *testing.T) {
	cmdtest.Poison(t, "^(TestKeyPlaces|TestErrorsSayWhatToDo|TestPlanForetells)$")
}
