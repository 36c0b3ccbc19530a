package compare

import (
	"context"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"

	"callhouse/cmd/internal/cli"
	"callhouse/cmd/internal/runreport"
	"callhouse/internal/crawler/resources"
	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/words"
)

// Objects are the findings of one resource.
type Objects struct {
	Resource string `json:"resource"`
	Compared int64  `json:"objects_compared"`
	Records  int64  `json:"records_compared"`
	// New and Moved are not differences: New objects could not have been listed by any run yet, and
	// Moved objects may have changed since the last run.
	New   int64 `json:"new_at_the_service"`
	Moved int64 `json:"changed_since"`

	Gone      namedObjects `json:"no_longer_at_the_service"` // the warehouse keeps them
	Lacking   namedObjects `json:"lacking"`
	Different namedObjects `json:"different_records"`
	Changed   namedObjects `json:"changed_without_an_edit"`
	Problem   string       `json:"not_listed,omitempty"` // why it could not be listed
}

// namedObjects counts objects and names the first of them.
type namedObjects struct {
	Count   int64         `json:"count"`
	Objects []namedObject `json:"objects"`
}

// namedObject is an object, and the columns in which it differs.
type namedObject struct {
	Key    string   `json:"key"`
	Fields []string `json:"fields,omitempty"`
}

func (n *namedObjects) add(key string, fields []string) {
	if n.Count++; len(n.Objects) < namedCalls {
		n.Objects = append(n.Objects, namedObject{key, fields})
	}
}

// Comparable returns the resources to compare: those that were ever listed, except the calls of
// campaigns, which take a request per 100.
func Comparable(all []*resource.Resource, s *layout.Snapshot) (out []*resource.Resource) {
	for _, of := range all {
		if !of.Slim && s != nil && s.Manifest.Lists[of.Name].ListedAt > 0 {
			out = append(out, of)
		}
	}
	return out
}

// pair is an object in the warehouse and at the service; nil if missing.
type pair struct {
	key         string
	here, there *schema.Object
}

// pairs yields the objects of either side.
func pairs(ctx context.Context, of *resource.Resource, ours, heard *layout.Snapshot) iter.Seq2[pair, error] {
	return func(yield func(pair, error) bool) {
		here, stopHere := iter.Pull2(snapshot.Objects(ctx, ours, of))
		defer stopHere()
		there, stopThere := iter.Pull2(snapshot.Objects(ctx, heard, of))
		defer stopThere()
		a, errA, _ := here()
		b, errB, _ := there()
		for a != nil || b != nil || errA != nil || errB != nil {
			var p pair
			if a != nil {
				p = pair{key: of.KeyOf(a.Row), here: a}
			}
			if b != nil {
				switch key := of.KeyOf(b.Row); {
				case a == nil || key < p.key:
					p = pair{key: key, there: b}
				case key == p.key:
					p.there = b
				}
			}
			for _, err := range []error{errA, errB} {
				if err != nil {
					yield(p, err)
					return
				}
			}
			if !yield(p, nil) {
				return
			}
			if p.here != nil {
				a, errA, _ = here()
			}
			if p.there != nil {
				b, errB, _ = there()
			}
		}
	}
}

// objects compares one resource.
func (c *comparison) objects(ctx context.Context, of *resource.Resource, problem string) (*Objects, error) {
	empty := func() namedObjects { return namedObjects{Objects: []namedObject{}} }
	r := &Objects{Resource: of.Name, Gone: empty(), Lacking: empty(), Different: empty(), Changed: empty(), Problem: problem}
	for p, err := range pairs(ctx, of, c.ours, c.heard) {
		if err != nil {
			return nil, err
		}
		parent := of.ParentOf(p.key)
		listed := c.ours.Manifest.ListOf(of, parent).ListedAt
		switch {
		case p.there == nil:
			if !of.Deleted(p.here) && c.heard.Manifest.ListOf(of, parent).ListedAt > 0 {
				r.Gone.add(p.key, nil)
			}
		case p.here != nil && !of.Deleted(p.here):
			r.compare(of, p, listed)
		case of.Forgot(p.key, c.forgot):
		case p.here != nil:
			r.Moved++ // it will be listed again
		case of.Old(p.there, listed):
			r.Lacking.add(p.key, nil)
		default:
			r.New++
		}
	}
	return r, nil
}

// compare judges an object that both sides have.
func (r *Objects) compare(of *resource.Resource, p pair, listed int64) {
	r.Compared++
	switch {
	case of.Record == "":
	case of.Complete(p.there) > 0:
		r.Records++
	default:
		of.MergeItem(p.here, p.there, resource.Fetched{}) // its record was not fetched
	}
	verdict, fields := of.Judge(p.here, p.there, listed)
	switch verdict {
	case resource.Since:
		r.Moved++
	case resource.Edited:
		r.Changed.add(p.key, fields)
	case resource.Another:
		r.Different.add(p.key, fields)
	}
}

// Incomplete implements crawler.ObjectStore: a sample of the objects whose lists or record are
// stored. If an object changed since, the next run fetches them anyway.
func (l *Listener) Incomplete(ctx context.Context, of *resource.Resource, _ func(*resource.Resource, int64) bool) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		var keys []string
		heard := l.Store.Snapshot()
		if l.records == 0 || heard == nil || of.Record == "" && !slices.ContainsFunc(of.Children(), l.chosen) {
			return
		}
		for p, err := range pairs(ctx, of, l.asked, heard) {
			if err != nil {
				yield("", err)
				return
			}
			if p.here != nil && p.there != nil && !of.Deleted(p.here) && of.Complete(p.here) > 0 && of.SameItem(p.here, p.there) {
				keys = append(keys, p.key)
			}
		}
		if l.records != Everything && len(keys) > l.records {
			rand.Shuffle(len(keys), func(i, j int) { keys[i], keys[j] = keys[j], keys[i] })
			keys = keys[:l.records]
		}
		for _, key := range keys {
			if !yield(key, nil) {
				return
			}
		}
	}
}

// EachObject implements crawler.ObjectStore: references between objects come from the warehouse.
func (l *Listener) EachObject(ctx context.Context, of *resource.Resource, visit func(*schema.Object) error) error {
	for o, err := range snapshot.Objects(ctx, l.asked, of) {
		if err == nil {
			err = visit(o)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func (l *Listener) chosen(of *resource.Resource) bool { return slices.Contains(l.objects, of) }

// problemOf returns why a resource could not be fetched; empty if it was.
func problemOf(of *resource.Resource, all []resources.Report) string {
	i := slices.IndexFunc(all, func(r resources.Report) bool { return r.Name == of.Name })
	if i < 0 {
		return ""
	}
	return all[i].Problem
}

// objectSums are the findings of all resources.
type objectSums struct {
	resources, compared, records, fresh, moved, gone, lacking, different, changed int64
	gonePlaces, problems                                                          []string
}

func (r *Report) objectSums() (s objectSums) {
	for _, o := range r.Resources {
		s.resources++
		s.compared, s.records, s.fresh, s.moved = s.compared+o.Compared, s.records+o.Records, s.fresh+o.New, s.moved+o.Moved
		s.gone, s.lacking = s.gone+o.Gone.Count, s.lacking+o.Lacking.Count
		s.different, s.changed = s.different+o.Different.Count, s.changed+o.Changed.Count
		for _, g := range o.Gone.Objects {
			s.gonePlaces = append(s.gonePlaces, fmt.Sprintf("%s %q", o.Resource, g.Key))
		}
		if o.Problem != "" {
			s.problems = append(s.problems, o.Resource+": "+o.Problem)
		}
	}
	return s
}

// objectFindings prints the objects with findings.
func (r *Report) objectFindings(w io.Writer) {
	for _, o := range r.Resources {
		for _, kind := range []struct {
			what string
			*namedObjects
		}{
			{"the warehouse lacks it", &o.Lacking},
			{"its record differs from the service's: ", &o.Different},
			{"not edited, but the service sends it differently: ", &o.Changed},
		} {
			for _, f := range kind.Objects {
				words.Fprintf(w, "%s %q: %s%s\n", o.Resource, f.Key, kind.what, strings.Join(f.Fields, ", "))
			}
			if more := kind.Count - int64(len(kind.Objects)); more > 0 {
				words.Fprintf(w, "and %d more of %s\n", more, o.Resource)
			}
		}
	}
}

// writeObjects prints the comparison of resources.
func (r *Report) writeObjects(w io.Writer) {
	s := r.objectSums()
	if s.resources == 0 {
		return
	}
	words.Fprintf(w, "other resources: compared %s of %s, with %s; %s for their lists\n", cli.Plural(s.compared, "object"),
		cli.Plural(s.resources, "resource"), cli.Plural(s.records, "record"), cli.Plural(r.Side, "request"))
	if s.fresh > 0 {
		words.Fprintf(w, "%s new at the service since it was last listed\n", plural(s.fresh, "object", "is", "are"))
	}
	if s.moved > 0 {
		words.Fprintf(w, "%s changed since; the next run fetches the change\n", plural(s.moved, "object", "has", "have"))
	}
	if s.gone > 0 {
		words.Fprintf(w, "%s no longer at the service: %s\n", plural(s.gone, "object", "is", "are"), runreport.First(s.gonePlaces))
	}
	for _, p := range s.problems {
		words.Fprintf(w, "not completely compared: %s\n", p)
	}
}
