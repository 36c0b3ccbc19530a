package catalog

import "errors"

// UseError means that the options are wrong.
type UseError struct{ What string }

func (e *UseError) Error() string { return e.What }

// BrokenError means that a table's metadata is missing, or cannot be read or extended.
type BrokenError struct{ What string }

func (e *BrokenError) Error() string { return e.What }

// Hint returns advice for the operator.
func (e *BrokenError) Hint() string {
	return "drop that table in its catalog, or remove its folder, and publish again"
}

// IsBroken reports whether an error is a BrokenError.
func IsBroken(err error) bool {
	_, broken := errors.AsType[*BrokenError](err)
	return broken
}
