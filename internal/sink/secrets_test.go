package sink

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/layout"
	"callhouse/internal/resource"
	"callhouse/internal/schema"
	"callhouse/internal/sink/snapshot"
	"callhouse/internal/sink/verify"
)

// hush is part of every secret in testdata/secrets. An older callhouse, which withheld secrets by a
// list of names, made that warehouse: it holds an agent, its version, a tool and their changes,
// twice, and once more in the journal.
const hush = "hush-"

func storedSecrets(t *testing.T, withJournal bool) (root string) {
	t.Helper()
	root = filepath.Join(t.TempDir(), "w")
	if err := os.CopyFS(root, os.DirFS(filepath.Join("testdata", "secrets", "warehouse"))); err != nil {
		t.Fatal(err)
	}
	if !withJournal {
		if err := os.RemoveAll(filepath.Join(root, layout.JournalName)); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// texts returns the rows of resources and changes of a snapshot, and the bytes of its files.
func texts(t *testing.T, s *layout.Snapshot) (rows, files string) {
	t.Helper()
	var out bytes.Buffer
	r := snapshot.NewReader(anywhere, s, nil)
	for _, of := range resource.All {
		err := r.EachObject(of, func(o *schema.Object) error {
			out.Write(of.ItemJSON(o))
			out.Write(of.RecordJSON(o))
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	err := r.EachChange(func(row schema.Row) error {
		for _, v := range row {
			if !v.IsNull() {
				out.WriteString(v.String())
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var raw bytes.Buffer
	err = filepath.WalkDir(s.Dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		file, err := os.ReadFile(path)
		raw.Write(file)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return out.String(), raw.String()
}

// placesOf returns the places of secrets in a snapshot, and how many are in clear.
func placesOf(t *testing.T, s *layout.Snapshot) (all, clear int) {
	t.Helper()
	for p, err := range snapshot.NewReader(anywhere, s, nil).Secrets(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if all++; p.Clear {
			clear++
		}
		if text := p.Resource + p.Key + p.Name + p.Path + p.Why; strings.Contains(text, hush) || p.Path == "" || p.Why == "" {
			t.Errorf("%+v", p)
		}
	}
	return all, clear
}

// Secrets stored by an older callhouse are found without repeating them, and withheld in the
// objects and in both sides of their changes; nothing else changes. Superseded snapshots keep them.
func TestStoredSecretsAreWithheld(t *testing.T) {
	root := storedSecrets(t, false)
	look := func(all bool) *verify.Report {
		t.Helper()
		r, err := verify.Warehouse(context.Background(), verify.Options{Root: root, All: all})
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range r.Problems {
			if p.Kind != verify.Secret || strings.Contains(p.What, hush) {
				t.Errorf("%+v", p)
			}
		}
		return r
	}
	if r := look(false); r.Count != 4 || r.Whole() || r.Damaged() {
		t.Fatalf("%d problems: %v", r.Count, r.Problems)
	}
	w := night(t, nil, root, 9)
	before, _ := texts(t, w.Snapshot())
	was, clear := placesOf(t, w.Snapshot())
	if !strings.Contains(before, hush) || clear != was || clear < 100 {
		t.Fatalf("%d places, %d clear", was, clear)
	}
	rows, err := w.Withhold(context.Background())
	if err != nil || rows != 7 {
		t.Fatalf("%d rows, %v", rows, err)
	}
	after, files := texts(t, w.Snapshot())
	for _, text := range []string{after, files} {
		if i := strings.Index(text, hush); i >= 0 {
			t.Errorf("left: %q", text[max(0, i-40):min(len(text), i+40)])
		}
	}
	for _, kept := range []string{"kept-one", "kept-two", "Bookings", "https://x.example/a", "postgres://[withheld]@h/db"} {
		if strings.Count(before, kept) > strings.Count(after, kept) {
			t.Errorf("%s is gone", kept)
		}
	}
	if all, clear := placesOf(t, w.Snapshot()); all != was || clear != 0 {
		t.Errorf("%d places, %d clear; there were %d", all, clear, was)
	}
	if r := look(false); !r.Whole() {
		t.Errorf("%v", r.Problems)
	}
	if r := look(true); r.Count != 8 || r.Damaged() { // the two snapshots before
		t.Errorf("%d problems: %v", r.Count, r.Problems)
	}
	now := w.Snapshot()
	if rows, err := w.Withhold(context.Background()); err != nil || rows != 0 || w.Snapshot() != now {
		t.Errorf("again: %d rows, %v", rows, err)
	}
}

// Secrets in an older callhouse's journal are withheld at commit, and so are those stored of the
// same objects: the change of a secret is no change, and its row holds neither value.
func TestSecretsInTheJournalAreWithheld(t *testing.T) {
	w := night(t, nil, storedSecrets(t, true), 9)
	if _, err := w.Recover(context.Background()); err != nil {
		t.Fatal(err)
	}
	after, files := texts(t, w.Snapshot())
	for _, text := range []string{after, files} {
		if i := strings.Index(text, hush); i >= 0 {
			t.Errorf("left: %q", text[max(0, i-40):min(len(text), i+40)])
		}
	}
	if !strings.Contains(after, "kept-three") {
		t.Error("the journal was not committed")
	}
	if n := w.Notices(); len(n) != 1 || !strings.Contains(n[0], "in 7 objects and changes") {
		t.Errorf("%q", n)
	}
}

// A secret that changed at the service, or is withheld for the first time, makes no row of changes.
func TestAnotherSecretIsNoChange(t *testing.T) {
	root := storedSecrets(t, false)
	w := night(t, nil, root, 9)
	changes := w.Snapshot().Manifest.Rows(resource.Changes.Name)
	item := []byte(`{"id":"t1","name":"lookup","description":"Use token=hush-other here","api_configuration":{"url":"https://x.example/a",` +
		`"auth":{"type":"bearer","token":"hush-other"}}}`)
	clean, _ := resource.Tools.Withhold(objectOf(t, w, resource.Tools, "t1"))
	known := resource.Tools.ItemJSON(clean)
	item = append(item[:len(item)-1], known[bytes.Index(known, []byte(`,"unknown"`)):]...)
	rec := schema.Record{Resource: "tools", Kind: schema.KindItem, CallID: "t1", FetchedAt: w.opts.Now().UnixMilli(), Body: item}
	if err := w.Put(context.Background(), rec); err != nil {
		t.Fatal(err)
	}
	mustCommit(t, w)
	if got := w.Snapshot().Manifest.Rows(resource.Changes.Name); got != changes {
		t.Errorf("%d changes, there were %d", got, changes)
	}
	if _, places := resource.Tools.Withhold(objectOf(t, w, resource.Tools, "t1")); resource.AnyClear(places) {
		t.Errorf("%v", places)
	}
}

func objectOf(t *testing.T, w *Warehouse, of *resource.Resource, key string) (found *schema.Object) {
	t.Helper()
	err := w.EachObject(t.Context(), of, func(o *schema.Object) error {
		if of.KeyOf(o.Row) == key {
			found = o
		}
		return nil
	})
	if err != nil || found == nil {
		t.Fatalf("%s: %v", key, err)
	}
	return found
}
