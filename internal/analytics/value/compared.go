package value

// Names of the columns of a comparison: those of the report and, for each figure, its value in the
// previous period, the change, and the bounds of the change.
const (
	PreviousOf   = "previous_"
	ChangeOf     = "change_"
	ChangeLowOf  = "change_low_"
	ChangeHighOf = "change_high_"

	// The bounds of a figure itself, and the number of calls (or other things) in its denominator.
	LowOf   = "low_"
	HighOf  = "high_"
	WholeOf = "whole_"
)

// Weekdays are the days of the week in order, as the macro weekday_of names them.
var Weekdays = [...]string{"Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"}
