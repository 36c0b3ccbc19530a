package sandbox

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"callhouse/internal/longtest"
	"callhouse/internal/sandbox/organisation"
	"callhouse/internal/test"
)

// tasksOf returns n tasks as JSON.
func tasksOf(n int) string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(`{"call_to":"0105555%04d","dynamic_variables":{"n":"%d"},"metadata":{"row":%d}}`, i, i, i)
	}
	return "[" + strings.Join(all, ",") + "]"
}

// newCampaign creates a campaign; more holds further members of the body.
func newCampaign(t testing.TB, s *Server, tasks int, more string) map[string]any {
	t.Helper()
	status, c := send(t, s, "POST", "/v2/campaigns", fmt.Sprintf(`{"name":"Spring","call_from":"0212345678","agent_id":%q,"tasks":%s%s}`,
		s.World().Agents()[0].ID, tasksOf(tasks), more))
	if status != 200 {
		t.Fatalf("%d %v", status, c)
	}
	return c
}

// made returns the times at which a campaign's calls were ordered, oldest first.
func made(s *Server, campaign string) []time.Time {
	var all []time.Time
	for v := range s.World().Ordered(s.Now().UnixMilli(), true) {
		if v.Order.Campaign == campaign {
			all = append(all, time.UnixMilli(v.Order.At))
		}
	}
	slices.SortFunc(all, time.Time.Compare)
	return all
}

func TestCampaignIsPendingUntilItBeginsAndEndsWithItsCalls(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60}, CampaignInCalls: true})
	c := newCampaign(t, s, 12, `,"presentation_number":"15880000"`)
	id := c["id"].(string)
	delete(c, "id")
	delete(c, "organization_id")
	same(t, "a valid request makes a campaign that is pending; total_calls equals the number of tasks; from_number is the given call_from; the default window", c,
		fmt.Sprintf(`{"name":"Spring","status":"pending","agent_id":%q,"agent_version":null,"from_number":"0212345678","presentation_number":"15880000","total_calls":12,
		"completed_calls":0,"failed_calls":0,"created_at":"2026-11-19T09:30:00.000Z","scheduled_at":null,"finished_at":null,"paused_at":null,"paused_by":null,
		"concurrency":5,"active_concurrency":0,"call_time_window":{"auto_resume":true,"timezone":"Asia/Seoul",
		"windows":[{"days":["Monday","Tuesday","Wednesday","Thursday","Friday","Saturday","Sunday"],"start_min":480,"end_min":1200}]}}`, s.World().Agents()[0].ID))
	s.opts.Clock.Advance(30 * time.Second)
	_, now := send(t, s, "GET", "/v2/campaigns/"+id, "")
	if now["status"] != "ongoing" || now["active_concurrency"] == 0.0 {
		t.Errorf("%v", now)
	}
	s.opts.Clock.Advance(80 * time.Minute)
	_, now = send(t, s, "GET", "/v3/campaigns/"+id, "")
	calls := getAll(t, s, "campaign_id="+id)
	ended, rows := 0.0, map[any]bool{}
	for _, c := range calls {
		if c["status"] == "ended" {
			ended++
		}
		rows[member(c, "metadata", "row")] = true
		if c["campaign_id"] != id || c["presentation_number"] != "15880000" || c["from_number"] != "0212345678" ||
			c["to_number"] != fmt.Sprintf("0105555%04d", int(member(c, "metadata", "row").(float64))) {
			t.Errorf("%v", c)
		}
	}
	if now["status"] != "success" || now["finished_at"] == nil || now["completed_calls"] != ended || now["failed_calls"] != 12-ended ||
		len(rows) != 12 || now["active_concurrency"] != 0.0 {
		t.Errorf("%d calls, %d tasks called, %v ended: %v", len(calls), len(rows), ended, now)
	}
	_, list := send(t, s, "POST", "/v2/campaigns/list", `{"limit":1}`)
	test.Same(t, any(id), member(list["campaigns"].([]any)[0], "id"), "%v", list)
}

func TestCampaignCanBeModifiedOnlyInDraftOrPending(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60}})
	id := newCampaign(t, s, 3, `,"scheduled_at":"2026-11-19T10:00:00Z"`)["id"].(string)
	for path, v3 := range map[string]bool{"/v3/campaigns/" + id: true, "/v2/campaigns/" + id: false} {
		empty, null, invalid := 200, 200, 422
		if v3 {
			empty, null, invalid = 400, 400, 400
		}
		for body, want := range map[string]int{
			`{}`: empty, `{"name":"Summer"}`: 200, `{"name":null}`: null, `{"name":7}`: invalid, `{"name":""}`: invalid,
			`{"concurrency":7}`:                             invalid,
			`{"call_time_window":{"timezone":"Mars/Base"}}`: invalid,
			`{"call_time_window":{"timezone":""}}`:          invalid,
			`{"call_time_window":{"windows":[{"days":["Monday"],"start_min":600,"end_min":600}]}}`:                   invalid,
			`{"call_time_window":{"windows":[{"days":["Mon"],"start_min":600,"end_min":700}]}}`:                      invalid,
			`{"call_time_window":{"windows":[{"days":["Thursday"],"start_min":0,"end_min":1440}],"timezone":"UTC"}}`: 200,
		} {
			if status, o := send(t, s, "PATCH", path, body); status != want {
				t.Errorf("%s %s: %d %v", path, body, status, o)
			}
		}
	}
	_, c := send(t, s, "GET", "/v3/campaigns/"+id, "")
	if c["name"] != "Summer" || c["status"] != "pending" || member(c, "call_time_window", "timezone") != "UTC" ||
		member(c, "call_time_window", "auto_resume") != true {
		t.Errorf("%v", c)
	}
	s.opts.Clock.Advance(31 * time.Minute)
	for _, version := range []string{"/v3", "/v2"} {
		status, o := send(t, s, "PATCH", version+"/campaigns/"+id, `{"name":"Autumn"}`)
		if status != 409 || version == "/v3" && member(o, "error", "code") != "CONFLICT" {
			t.Errorf("while it is ongoing: %d %v", status, o)
		}
		if status, _ := send(t, s, "PATCH", version+"/campaigns/7", `{"name":"Autumn"}`); status != 404 {
			t.Errorf("one that is not there: %d", status)
		}
	}
}

func TestPausedByUser(t *testing.T) {
	s := newServer(t, Options{World: Config{Calls: 60}})
	id := newCampaign(t, s, 40, `,"concurrency":2`)["id"].(string)
	s.opts.Clock.Advance(3 * time.Minute)
	_, before := send(t, s, "GET", "/v2/campaigns/"+id, "")
	calls := len(made(s, id))
	status, p := send(t, s, "POST", "/v2/campaigns/"+id+"/pause", "")
	if status != 200 {
		t.Fatal(status, p)
	}
	same(t, "the answer", p, fmt.Sprintf(`{"success":true,"campaign_id":%q,"status":"paused","paused_at":"2026-11-19T09:33:00.000Z","paused_by":"user","ongoing_calls":%v}`, id, before["active_concurrency"]))
	if status, o := send(t, s, "POST", "/v2/campaigns/"+id+"/pause", ""); status != 409 {
		t.Errorf("paused again: %d %v", status, o)
	}
	s.opts.Clock.Advance(100 * time.Hour)
	_, after := send(t, s, "GET", "/v2/campaigns/"+id, "")
	if len(made(s, id)) != calls || after["status"] != "paused" || after["paused_by"] != "user" || after["active_concurrency"] != 0.0 ||
		after["completed_calls"].(float64)+after["failed_calls"].(float64) != float64(calls) || calls == 0 || calls == 40 {
		t.Errorf("%d calls were made before, %d after: %v", calls, len(made(s, id)), after)
	}
	if status, o := send(t, s, "POST", "/v3/campaigns/"+id+"/cancel", ""); status != 200 || o["status"] != "canceled" ||
		o["finished_at"] != float64(s.Now().UnixMilli()) {
		t.Errorf("cancelled: %d %v", status, o)
	}
	s.opts.Clock.Advance(100 * time.Hour)
	test.Same(t, calls, len(made(s, id)), "calls before it was cancelled (-) and after (+)")
	for _, what := range []string{"/pause", "/resume", "/cancel"} {
		for of, want := range map[string]int{id: 409, "7": 404} {
			if status, o := send(t, s, "POST", "/v3/campaigns/"+of+what, ""); status != want {
				t.Errorf("%s of %s: %d %v", what, of, status, o)
			}
		}
	}
	for _, c := range s.Organisation().Truth("campaigns", s.Now()) {
		if st := c.Object["status"]; st == "success" || st == "canceled" || st == "draft" {
			if status, o := send(t, s, "POST", "/v2/campaigns/"+c.ID+"/pause", ""); status != 409 {
				t.Errorf("one that is %v: %d %v", st, status, o)
			}
		}
	}
}

// TestCallTimeWindows checks the UTC spans in which campaigns call, when Berlin's clocks change,
// and in Kolkata with its half-hour offset.
func TestCallTimeWindows(t *testing.T) {
	longtest.Only(t)
	type span struct{ from, to string }
	for name, c := range map[string]struct {
		created, window string
		spans           []span // the spans with calls, each fully used
	}{
		"the hour that comes twice": {
			"2026-10-24T20:00:00Z", `{"timezone":"Europe/Berlin","windows":[{"days":["Sunday"],"start_min":120,"end_min":180}]}`,
			[]span{{"2026-10-25T00:00:00Z", "2026-10-25T02:00:00Z"}, {"2026-11-01T01:00:00Z", "2026-11-01T02:00:00Z"}},
		},
		"the hour that does not come": {
			"2027-03-20T20:00:00Z", `{"timezone":"Europe/Berlin","windows":[{"days":["Sunday"],"start_min":120,"end_min":180}]}`,
			[]span{{"2027-03-21T01:00:00Z", "2027-03-21T02:00:00Z"}, {"2027-04-04T00:00:00Z", "2027-04-04T01:00:00Z"}},
		},
		"a morning before and after": {
			"2026-10-24T12:00:00Z", `{"timezone":"Europe/Berlin","windows":[{"days":["Saturday","Sunday"],"start_min":480,"end_min":540}]}`,
			[]span{{"2026-10-25T07:00:00Z", "2026-10-25T08:00:00Z"}, {"2026-10-31T07:00:00Z", "2026-10-31T08:00:00Z"}},
		},
		"a morning that comes an hour earlier": {
			"2027-03-27T06:30:00Z", `{"timezone":"Europe/Berlin","windows":[{"days":["Saturday","Sunday"],"start_min":480,"end_min":540}]}`,
			[]span{{"2027-03-27T07:00:00Z", "2027-03-27T08:00:00Z"}, {"2027-03-28T06:00:00Z", "2027-03-28T07:00:00Z"}},
		},
		"Kolkata": {
			"2026-10-25T00:00:00Z", `{"timezone":"Asia/Kolkata","windows":[{"days":["Sunday","Monday"],"start_min":480,"end_min":540}]}`,
			[]span{{"2026-10-25T02:30:00Z", "2026-10-25T03:30:00Z"}, {"2026-10-26T02:30:00Z", "2026-10-26T03:30:00Z"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			at := func(text string) time.Time {
				when, err := time.Parse(time.RFC3339, text)
				test.OK(t, err)
				return when
			}
			clock := NewManualClock(at(c.created))
			s := newServer(t, Options{World: Config{Calls: 20}, Clock: clock})
			id := newCampaign(t, s, 400, `,"concurrency":1,"call_time_window":`+c.window)["id"].(string)
			state := func(when time.Time) string {
				clock.Set(when)
				_, o := send(t, s, "GET", "/v2/campaigns/"+id, "")
				return fmt.Sprint(o["status"], " ", o["paused_by"])
			}
			var got []string
			for i, w := range c.spans {
				before := "paused system"
				if i == 0 {
					before = "pending <nil>"
				}
				test.Same(t, before, state(at(w.from).Add(-time.Millisecond)), "before %s", w.from)
				test.Same(t, "ongoing <nil>", state(at(w.from)), "at %s", w.from)
				test.Same(t, "ongoing <nil>", state(at(w.to).Add(-time.Millisecond)), "before %s", w.to)
				test.Same(t, "paused system", state(at(w.to)), "at %s", w.to)
			}
			// Calls follow each other within seven and a half minutes.
			for _, when := range made(s, id) {
				got = append(got, when.UTC().Format(time.RFC3339))
			}
			rest := made(s, id)
			for _, w := range c.spans {
				last := at(w.from)
				for len(rest) > 0 && rest[0].Before(at(w.to)) {
					if rest[0].Before(last) || rest[0].Sub(last) > 8*time.Minute {
						t.Fatalf("a call at %s, after %s: %v", rest[0], last, got)
					}
					last, rest = rest[0], rest[1:]
				}
				if at(w.to).Sub(last) > 8*time.Minute {
					t.Errorf("no call from %s to %s: %v", last, w.to, got)
				}
			}
			if len(rest) > 0 {
				t.Errorf("calls outside: %v", rest)
			}
		})
	}
	s := newServer(t, Options{World: Config{Calls: 20}})
	id := newCampaign(t, s, 400, `,"call_time_window":{"auto_resume":false,"timezone":"UTC","windows":[{"days":["Thursday"],"start_min":0,"end_min":600}]}`)["id"].(string)
	s.opts.Clock.Advance(30 * 24 * time.Hour)
	if _, c := send(t, s, "GET", "/v2/campaigns/"+id, ""); c["status"] != "paused" || c["paused_by"] != "system" ||
		c["paused_at"] != "2026-11-19T10:00:00.000Z" {
		t.Errorf("without auto_resume: %v", c)
	}
}

// TestComputedCampaignsAddUp performs random actions on computed campaigns over time. The past does
// not change; the counts match the calls; a campaign makes no calls while a user holds it or
// outside its hours; and unless cancelled it calls as many people as planned at creation.
func TestComputedCampaignsAddUp(t *testing.T) {
	longtest.Only(t)
	checks(t, 4)
	type look struct {
		at    time.Time
		truth []organisation.Record
		calls map[string][]string
	}
	done := map[string]int{}
	rapid.Check(t, func(rt *rapid.T) {
		monday := time.Date(2026, 11, 16, 1, 0, 0, 0, time.UTC) // some campaigns are created today
		clock := NewManualClock(monday)
		s := newServer(t, Options{
			World: Config{Seed: rapid.Uint64Range(0, 40).Draw(rt, "seed"), Calls: 300, Days: 15, Agents: 4, Campaigns: 2,
				Origin: monday}, CampaignInCalls: true,
			Clock: clock, Organisation: organisation.Config{Pace: -1},
		})
		var looks []look
		calls := func(id string) (all []string) {
			for _, c := range getAll(t, s, "sort_order=asc&limit=100&campaign_id="+id) {
				all = append(all, fmt.Sprint(c["id"], c["to_number"]))
			}
			return all
		}
		see := func() {
			campaignsAndCalls(t, s, map[string]bool{})
			before := s.Now().Add(-time.Millisecond) // the current millisecond may still change
			now := look{before, s.Organisation().Truth("campaigns", before), map[string][]string{}}
			for _, c := range now.truth {
				now.calls[c.ID] = calls(c.ID)
			}
			for _, was := range looks {
				if diff := cmp.Diff(was.truth, s.Organisation().Truth("campaigns", was.at)); diff != "" {
					rt.Fatalf("what was at %s is now otherwise:\n%s", was.at, diff)
				}
				for id, before := range was.calls {
					if is := now.calls[id]; len(is) < len(before) || !slices.Equal(is[:len(before)], before) {
						rt.Fatalf("campaign %s: of the calls of %s some are gone", id, was.at)
					}
				}
			}
			looks = append(looks, now)
		}
		for range rapid.IntRange(2, 6).Draw(rt, "steps") {
			see()
			there := s.Organisation().Truth("campaigns", s.Now())
			c := rapid.SampledFrom(there[max(len(there)-2, 0):]).Draw(rt, "campaign")
			path, held := "/v3/campaigns/"+c.ID, c.Object["status"] == "paused"
			what := rapid.SampledFrom([]string{"pause", "pause", "resume", "resume", "resume", "cancel", "hours", "", ""}).Draw(rt, "what")
			status, o := 0, map[string]any(nil)
			switch what {
			case "hours":
				status, o = send(t, s, "PATCH", path,
					fmt.Sprintf(`{"call_time_window":{"timezone":%q,"auto_resume":%t,"windows":[{"days":["Monday","Thursday","Friday","Saturday"],"start_min":%d,"end_min":1440}]}}`,
						rapid.SampledFrom([]string{"Asia/Seoul", "Europe/Berlin", "Asia/Kolkata"}).Draw(rt, "zone"),
						rapid.Bool().Draw(rt, "auto"), rapid.IntRange(0, 1400).Draw(rt, "from")))
			case "":
			default:
				status, o = send(t, s, "POST", path+"/"+what, "")
			}
			want := map[string]bool{
				"pause":  c.Object["status"] == "pending" || c.Object["status"] == "ongoing" || c.Object["paused_by"] == "system",
				"resume": held,
				"cancel": c.Object["finished_at"] == nil, "hours": c.Object["status"] == "pending" || c.Object["status"] == "draft",
			}[what]
			if want != (status == 200) || !want && what != "" && status != 409 {
				rt.Fatalf("%s of one that is %v: %d %v", what, c.Object["status"], status, o)
			}
			if want {
				done[what]++
			}
			clock.Advance(time.Duration(rapid.SampledFrom([]int{0, 7, 600, 3600, 14000, 90000, 300000}).Draw(rt, "seconds")) * time.Second)
		}
		see()
		// Resume the campaigns that a user still holds.
		there := s.Organisation().Truth("campaigns", s.Now())
		for _, c := range there {
			send(t, s, "POST", "/v3/campaigns/"+c.ID+"/resume", "")
		}
		clock.Advance(30 * 24 * time.Hour)
		see()
		for _, c := range s.Organisation().Truth("campaigns", s.Now())[:len(there)] {
			hours, _ := c.Object["call_time_window"].(map[string]any)
			over := c.Object["completed_calls"].(int64) + c.Object["failed_calls"].(int64)
			switch status := c.Object["status"]; {
			case status == "success" || status == "fail":
				done["over"]++
				if over != c.Object["total_calls"] {
					rt.Fatalf("%v", c)
				}
			case status != "canceled" && status != "draft" && hours["auto_resume"] == true &&
				hours["windows"].([]any)[0].(map[string]any)["start_min"] == 540:
				rt.Fatalf("%v", c)
			}
		}
	})
	t.Log(done)
}
