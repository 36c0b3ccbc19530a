package value

// What the columns of a comparison are called: those of the report, and with
// each figure the same of the period before, the change and its bounds.
const (
	PreviousOf   = "previous_"
	ChangeOf     = "change_"
	ChangeLowOf  = "change_low_"
	ChangeHighOf = "change_high_"
)
