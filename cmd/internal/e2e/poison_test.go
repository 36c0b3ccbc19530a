package e2e

import (
	"testing"

	"callhouse/cmd/internal/cmdtest"
)

// Whole runs of programs, in this process and as children, read no settings but
// those that their tests give them.
func TestSettingsOfTheMachine(t *testing.T) {
	cmdtest.Poison(t, "^(TestKeyPlaces|TestErrorsSayWhatToDo|TestPlanForetells)$")
}
