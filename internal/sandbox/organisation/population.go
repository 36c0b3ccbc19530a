package organisation

import (
	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

const (
	msMinute = int64(60_000)
	msHour   = 60 * msMinute
	msDay    = 24 * msHour
)

// draw is the source of an object: its own dice and identity.
type draw struct {
	source
	o             *Organisation
	N, Generation int // place in the population, and number of predecessors there
	at            int64
	id            string // a UUID
	Name          string // of a tool
	Was           Object // before an edit
}

// Size returns a declared size, for templates.
func (d *draw) Size(name string) int { return d.o.size(name) }

// Organisation returns the id of the organisation, for templates.
func (d *draw) Organisation() string { return d.o.ID() }

// object returns a new object of a schema.
func (d *draw) object(schema string, drawn Object) Object {
	return operation.New(schema, drawn, Object{"id": d.id, "created_at": d.at, "updated_at": d.at})
}

// population is a number of places, each with one object at a time: some time after an object
// vanishes, another takes its place.
type population struct {
	resource string
	name     string                           // seeds its draws
	behind   bool                             // its places in cursors follow those of the resource's other population
	lifetime float64                          // mean, in days; 0: unlimited
	every    float64                          // mean days between two edits; 0: never edited
	born     func(d *draw) Object             // the drawn fields of a new object
	edit     func(d *draw, was Object) Object // the fields that change
	grow     func(d *draw, l *life)           // its other changes
}

// populate returns the objects of all places that existed until some time. The first of each place
// was created before world.Epoch. A prefix of the result does not depend on until.
func (o *Organisation) populate(p population, places int, until int64) []*life {
	var all []*life
	key, schema := o.key(p.name), Named(p.resource).Object
	for place := range places {
		at := world.Epoch - span(dice.Hash(key, uint64(place)), 300)
		for generation := int64(0); at <= until; generation++ {
			h := dice.Hash(dice.Hash(key, uint64(place)), uint64(generation))
			d := &draw{source: source{dice.New(h)}, o: o, N: place, Generation: int(generation), at: at, id: world.NewUUID(h).String()}
			l := &life{serial: int64(place)<<20 | generation, born: at, first: d.object(schema, p.born(d))}
			if p.behind {
				l.serial |= 1 << 50
			}
			all = append(all, l)
			if p.lifetime > 0 && o.cfg.Pace > 0 {
				l.died = max(at, world.Epoch) + span(dice.Hash(h, 1), p.lifetime/o.cfg.Pace)
			}
			if p.edit != nil {
				o.edits(l, dice.Hash(h, 2), p.every, until, func(x uint64, at int64) {
					l.steps = append(l.steps, step{at: at, do: func(was Object) Object { // with new dice each time
						return p.edit(&draw{source: source{dice.New(x)}, o: o, N: place, Generation: d.Generation, at: at, id: d.id}, was)
					}})
				})
			}
			if p.grow != nil {
				p.grow(d, l)
			}
			if l.died == 0 {
				break
			}
			at = l.died + span(dice.Hash(h, 3), 2)
		}
	}
	return all
}

// firstID returns the id of the first object of a place.
func (o *Organisation) firstID(name string, place int) string {
	return world.NewUUID(dice.Hash(dice.Hash(o.key(name), uint64(place)), 0)).String()
}

// edits calls do for each change of an object; every is the mean number of days between changes.
func (o *Organisation) edits(l *life, key uint64, every float64, until int64, do func(h uint64, at int64)) {
	if every <= 0 || o.cfg.Pace <= 0 {
		return
	}
	at := max(l.born, world.Epoch)
	for n := uint64(0); ; n++ {
		h := dice.Hash(key, n)
		if at += span(h, every/o.cfg.Pace); at > until || l.died > 0 && at >= l.died {
			return
		}
		do(dice.Mix(h), at)
	}
}

// span draws a duration around a mean number of days: a quarter of it to seven times.
func span(h uint64, days float64) int64 {
	return int64((.25 + 1.5*dice.Unit(h)) * days * float64(msDay))
}
