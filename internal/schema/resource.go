package schema

// Resource is one kind of object that the service has, and the tables that its
// JSON becomes: one row of Table, and rows of each of Lists.
type Resource struct {
	Table *Table
	Lists []*Table

	source int // the column for the version of the API that it came from, or -1
	// repeats are, for each list and each of its columns, the column of Table that it
	// repeats; OwnPlace for the row's position, or OwnValue.
	repeats [][]int
}

// What Resource.Repeats says of columns that repeat none.
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

// CallResource is what a call's JSON becomes.
var CallResource = NewResource(&Calls, &Turns, &Items)
