package publish

// conditionError means that the store would let two publishers commit the same version of a table.
type conditionError struct{ to string }

func (e *conditionError) Error() string {
	return e.to + ": concurrent commits would go undetected, because this store ignores If-None-Match and replaces existing " +
		"objects"
}

// Hint returns advice for the operator.
func (e *conditionError) Hint() string { return "publish through a catalog: --catalog URL" }

// ForeignError means that a table belongs to another warehouse.
type ForeignError struct{ What string }

func (e *ForeignError) Error() string { return "another warehouse published it: " + e.What }

// Hint returns advice for the operator.
func (e *ForeignError) Hint() string {
	return "nothing was changed there; publish to another place or, to replace that warehouse, publish once with --adopt"
}
