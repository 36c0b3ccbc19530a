package format

import (
	"time"

	"callhouse/internal/analytics/value"
)

// Cell returns a value of a column as people read it, on one line: what a table
// shows. Instants are in loc.
func Cell(v any, c value.Column, loc *time.Location) string { return cell(v, c, loc) }
