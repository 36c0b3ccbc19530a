package publish

// conditionError means that the store would let two publishers commit the same version of a table.
type conditionError struct{ to string }

func (e *conditionError) Error() string {
	return e.to + ": concurrent commits would go undetected, because this store ignores If-None-Match and replaces existing " +
		"objects"
}

// Hint returns advice for the operator.
func (e *conditionError) Hint() string { return "publish through a catalog: --catalog URL" }

// OldFilesError means that a warehouse has files of an older format, whose times and amounts
// engines misread.
type OldFilesError struct{ Path string }

func (e *OldFilesError) Error() string {
	return e.Path + " has an older format, from which Spark would read no rows or no tool calls"
}

// Hint returns advice for the operator.
func (e *OldFilesError) Hint() string { return "run extract migrate once, which rewrites older files" }

// ForeignError means that a table belongs to another warehouse.
type ForeignError struct{ What string }

func (e *ForeignError) Error() string { return "another warehouse published it: " + e.What }

// Hint returns advice for the operator.
func (e *ForeignError) Hint() string {
	return "nothing was changed there; publish to another place or, to replace that warehouse, publish once with --adopt"
}
