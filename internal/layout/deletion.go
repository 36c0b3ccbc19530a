package layout

// DeletionsName is the file at the top of a warehouse that lists recordings of forgotten calls whose
// files are still to be deleted; it is absent if there are none.
const DeletionsName = "deletions.json"

// Deletions is the content of that file.
type Deletions struct {
	FormatVersion int        `json:"format_version"`
	List          []Deletion `json:"deletions"`
}

// Deletion is the recording of a forgotten call.
type Deletion struct {
	// Snapshot is the one without the call: before it is the current one, the call is not forgotten,
	// and nothing is deleted.
	Snapshot int64  `json:"snapshot"`
	Archive  string `json:"archive"` // as in the manifest
	CallID   string `json:"call_id"`
	// Path is that of the call's row. It is empty if Start is given: then a file can also be where the
	// archive puts those of calls that began then (ms UTC; 0: without a start), since a run that was
	// killed may have stored one without a row.
	Path  string `json:"path,omitempty"`
	Start int64  `json:"start,omitempty"`
}
