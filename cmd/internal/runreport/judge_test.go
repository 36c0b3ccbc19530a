package runreport

import (
	"bytes"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/crawler"
	"callhouse/internal/schema"
)

// A run that lost a listed call is not done, and says so everywhere.
func TestLostCallsAreTold(t *testing.T) {
	rep := &crawler.Report{}
	rep.CallsListed, rep.ItemsStored, rep.ItemsRepeated, rep.ItemsBefore, rep.ItemsAside = 10, 5, 2, 1, 1
	outcome, err := Judge(rep, nil)
	if outcome != schema.OutcomeIncomplete || cli.Code(err) != cli.ExitIncomplete || !strings.Contains(err.Error(), "neither stored nor set aside: 1") {
		t.Errorf("%s, %v", outcome, err)
	}
	var out bytes.Buffer
	(&Report{Row: &schema.Run{}, Crawl: rep}).Write(&out)
	if !strings.Contains(out.String(), "1 call listed, but neither") {
		t.Errorf("the report says:\n%s", &out)
	}
	rep.ItemsStored++
	if outcome, err := Judge(rep, nil); outcome != schema.OutcomeDone || err != nil {
		t.Errorf("%s, %v", outcome, err)
	}
}
