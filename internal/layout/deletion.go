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
	// Snapshot is the first one without the call. Until it is current, the call is not forgotten,
	// and nothing is deleted.
	Snapshot int64  `json:"snapshot"`
	Archive  string `json:"archive"` // as in the manifest
	CallID   string `json:"call_id"`
	// Path is the path in the call's row. It is empty if Start is given: a killed run may have
	// stored a file without a row, which is then where the archive puts recordings of calls that
	// started at Start (ms UTC; 0: no start).
	Path  string `json:"path,omitempty"`
	Start int64  `json:"start,omitempty"`
}
