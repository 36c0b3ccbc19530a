package schema

// Resource is one kind of the service's objects, and the tables for its JSON: one row of Table, and
// rows of each of Lists.
type Resource struct {
	Table *Table
	Lists []*Table

	source int // the column for the source version of the API, or -1
	// repeats holds, for each column of each list, the column of Table that it repeats, or OwnPlace
	// for the row's position, or OwnValue.
	repeats [][]int
}

// Values of Resource.Repeats for columns that do not repeat one of Table.
const (
	OwnValue = -1 // it has a value of its own
	OwnPlace = -2 // it is the row's position
)

// NewResource declares a resource by its tables.
func NewResource(t *Table, lists ...*Table) *Resource {
	r := &Resource{Table: t, Lists: lists, source: t.Column("source")}
	for _, l := range lists {
		from := make([]int, len(l.Columns))
		for i, c := range l.Columns {
			switch c.Parent {
			case "":
				from[i] = OwnValue
			case Position:
				from[i] = OwnPlace
			default:
				from[i] = t.Column(c.Parent)
			}
		}
		r.repeats = append(r.repeats, from)
	}
	return r
}

// Repeats returns, for each column of a list, the column of Table that it repeats,
// or one of OwnValue and OwnPlace.
func (r *Resource) Repeats(list int) []int { return r.repeats[list] }

// CallResource has the tables of a call's JSON, and that of its recording.
var CallResource = NewResource(&Calls, &Turns, &Items, &Recordings)
