package publish

// conditionError means that two publishers could commit the same version of a table.
type conditionError struct{ to string }

func (e *conditionError) Error() string {
	return e.to + ": two programs could commit at once without noticing, since this store replaces an object that is to be created " +
		"only if it is not there (If-None-Match)"
}

// Hint returns advice for the operator.
func (e *conditionError) Hint() string { return "publish through a catalog: --catalog URL" }

// OldFilesError means that a warehouse has files of an older format, whose times and amounts
// engines misread.
type OldFilesError struct{ Path string }

func (e *OldFilesError) Error() string {
	return e.Path + " is of an older format, in which times have milliseconds: Spark finds no rows by those"
}

// Hint returns advice for the operator.
func (e *OldFilesError) Hint() string { return "extract migrate rewrites older files, once" }

// ForeignError means that a table belongs to another warehouse.
type ForeignError struct{ What string }

func (e *ForeignError) Error() string { return "another warehouse published it: " + e.What }

// Hint returns advice for the operator.
func (e *ForeignError) Hint() string {
	return "nothing was changed there; publish to another place, or, if this warehouse is to take its place, publish once with --adopt"
}
