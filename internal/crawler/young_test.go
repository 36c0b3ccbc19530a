package crawler

import (
	"context"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"callhouse/internal/calls"
	"callhouse/internal/longtest"
	"callhouse/internal/test"
)

// page answers with a status and a body.
func page(status int, kind, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", kind)
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

// notYet are answers about a recording that is not there yet, or never comes, with the state once the call is old.
var notYet = map[string]struct {
	answer http.HandlerFunc
	state  string
}{
	"404":          {page(404, "text/plain", ""), "gone"},
	"410":          {page(410, "text/plain", ""), "gone"},
	"403 in XML":   {page(403, "application/xml", "<Error><Code>AccessDenied</Code></Error>"), "gone"},
	"400 in XML":   {page(400, "application/xml", "<Error><Code>ExpiredToken</Code></Error>"), "gone"},
	"202":          {page(202, "application/json", `{"status":"processing"}`), "refused"},
	"204":          {page(204, "audio/mpeg", ""), "refused"},
	"423":          {page(423, "text/plain", "locked"), "refused"},
	"a page":       {page(200, "text/html", "<html>sign in</html>"), "refused"},
	"XML":          {page(200, "audio/mpeg", "<?xml version='1.0'?><Error><Code>NoSuchKey</Code></Error>"), "refused"},
	"JSON":         {page(200, "audio/mpeg", `{"error":"not ready"}`), "refused"},
	"an empty 200": {page(200, "audio/mpeg", ""), "refused"},
}

// In the first days no answer about a recording is final, and the next run asks again. After that the
// recording is given up, without a request in the nights that follow.
func TestNotThereYet(t *testing.T) {
	t.Parallel()
	kinds := slices.Sorted(maps.Keys(notYet))
	young := func() *archive { // with a call for each kind of answer
		a := open(t)
		for i := range kinds {
			a.call(fmt.Sprint("c", i), a.now.Add(-time.Minute), fmt.Sprint("/x", i))
			a.renew[fmt.Sprint("c", i)] = renewal{Answered: true, Link: a.host.URL + fmt.Sprint("/x", i)}
		}
		a.commit()
		a.answer = func(w http.ResponseWriter, r *http.Request) {
			i, err := strconv.Atoi(r.URL.Path[2:])
			test.OK(t, err)
			notYet[kinds[i]].answer(w, r)
		}
		return a
	}
	a := young()
	_, r := a.run(0)
	if r.Failed != int64(len(kinds)) || r.Gone+r.Refused != 0 || r.Problem != "" {
		t.Errorf("%+v", r)
	}
	for i, kind := range kinds {
		if row := a.row(fmt.Sprint("c", i)); !strings.HasPrefix(row, "due 1 ") {
			t.Errorf("%s: %q", kind, row)
		}
	}
	a.answer = nil
	if _, r := a.run(time.Second); r.Stored != int64(len(kinds)) {
		t.Errorf("and then the recordings: %+v", r)
	}

	a = young()
	states, asked, renewed := make([]string, len(kinds)), make([]int, len(kinds)), make([]int, len(kinds))
	for range 9 {
		got, _ := a.run(24 * time.Hour)
		requested := strings.Split(got, ", ")
		for i := range kinds {
			id := fmt.Sprint("c", i)
			state, _, _ := strings.Cut(a.row(id), " ")
			states[i] += state + " "
			if slices.Contains(requested, fmt.Sprint("/x", i)) || slices.Contains(requested, "renew "+id) {
				asked[i]++
			}
			if slices.Contains(requested, "renew "+id) {
				renewed[i]++
			}
		}
	}
	for i, kind := range kinds {
		if rejected := strings.HasPrefix(kind, "40") && strings.HasSuffix(kind, "XML"); renewed[i] > 1 && !rejected {
			t.Errorf("%s: %d new links requested", kind, renewed[i])
		}
		if !strings.HasPrefix(states[i], "due due ") || !strings.HasSuffix(states[i], notYet[kind].state+" ") || asked[i] > 4 {
			t.Errorf("%s: asked in %d nights, states %s", kind, asked[i], states[i])
		}
	}
}

// follows archives a recording whose call has just ended, as a process that follows the service, until
// it is stored. It returns when the host was asked, after the call's end. The answers are those of
// notYet until an age of the call.
func follows(t *testing.T, notYet http.HandlerFunc, until time.Duration) (requested []time.Duration) {
	t.Helper()
	a := open(t)
	end := a.now.Add(-30 * time.Second)
	a.call("c", end, "/x")
	a.commit()
	ctx, stop := context.WithCancel(t.Context())
	c := a.crawl(archiveStore{a.w})
	c.look = time.Microsecond
	c.cfg.Now = func() time.Time { // each look takes five seconds
		a.mu.Lock()
		defer a.mu.Unlock()
		a.now = a.now.Add(5 * time.Second)
		return a.now
	}
	a.answer = func(w http.ResponseWriter, r *http.Request) {
		a.mu.Lock()
		age := a.now.Sub(end)
		requested = append(requested, age)
		a.mu.Unlock()
		if age < until {
			notYet(w, r)
			return
		}
		_, _ = w.Write([]byte("ID3"))
		stop()
	}
	test.OK(t, c.run(ctx, newSignal()))
	return requested
}

// A process that follows the service asks again after pauses that grow with the time since the call's
// end, without a commit in between, and not before the host allows it.
func TestNotThereYetWhileFollowing(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	for name, c := range notYet {
		requested := follows(t, c.answer, 100*time.Minute)
		for i := range requested[1:] {
			if pause := requested[i+1] - requested[i]; pause < max(time.Minute, requested[i]-15*time.Second) || pause > requested[i]+6*time.Minute {
				t.Errorf("%s: asked %v after the end", name, requested)
				break
			}
		}
		if len(requested) < 5 || len(requested) > 9 {
			t.Errorf("%s: asked %v after the end", name, requested)
		}
	}
	busy := func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Retry-After", "3000")
		page(503, "application/xml", "<Error><Code>SlowDown</Code></Error>")(w, r)
	}
	if requested := follows(t, busy, time.Minute); len(requested) != 2 || requested[1] < 50*time.Minute || requested[1] > 56*time.Minute {
		t.Errorf("busy: asked %v after the end", requested)
	}
}

// Recordings that are not there yet do not stop the others of their host.
func TestOthersOfTheHost(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	const each = 30
	a := open(t)
	kinds := slices.Sorted(maps.Keys(notYet))
	for n := range each * len(kinds) { // newest first: one kind after the other
		a.call(fmt.Sprintf("c%03d", n), a.now.Add(-time.Second*time.Duration(n)), fmt.Sprint("/not/", n))
	}
	a.call("last", a.now.Add(-time.Hour), "/ok")
	a.commit()
	a.answer = func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/not/"))
		if err != nil {
			_, _ = w.Write([]byte("ID3"))
			return
		}
		notYet[kinds[n/each]].answer(w, r)
	}
	if _, r := a.run(0); r.Problem != "" || r.Failed != int64(each*len(kinds)) || a.row("last") != "stored 1" {
		t.Errorf("%+v, %s", r, a.row("last"))
	}
}

// A new link makes a recording due at once, even if it was given up, as does another signature unless
// many were tried.
func TestNewLink(t *testing.T) {
	longtest.Only(t)
	t.Parallel()
	a := open(t)
	old := a.now.AddDate(0, 0, -10)
	link := func(path string) string {
		a.now = a.now.Add(time.Second)
		a.call("c", old, path)
		a.commit()
		requested, _ := a.run(0)
		return requested
	}
	if requested := link("/404/1"); requested != "/404/1" || !strings.HasPrefix(a.row("c"), "gone 1 ") {
		t.Fatalf("%s: %s", requested, a.row("c"))
	}
	if requested, _ := a.run(24 * time.Hour); requested != "" {
		t.Errorf("without a new link: %s", requested)
	}
	a.answer = page(200, "text/html", "<html>")
	for n := 2; n <= calls.RecordingAttempts; n++ {
		if requested := link(fmt.Sprint("/404/1?signature=", n)); requested != "/404/1" || !strings.HasPrefix(a.row("c"), fmt.Sprint("refused ", n)) {
			t.Errorf("signature %d: %s, %s", n, requested, a.row("c"))
		}
	}
	test.Same(t, "", link("/404/1?signature=0"), "one signature too many")
	a.answer = nil
	if requested := link("/ok"); requested != "/ok" || a.row("c") != "stored 1" {
		t.Errorf("another place: %s, %s", requested, a.row("c"))
	}
	test.Same(t, "", link("/ok/2"), "a new link to a stored recording")

	a = open(t) // a recording that is due does not wait, either
	for range 3 {
		link("/404/1")
	}
	if requested, _ := a.run(time.Second); requested != "" {
		t.Errorf("in the pause: %s", requested)
	}
	test.Same(t, "/ok", link("/ok?signature=1"), "a new link in the pause")
}
