package compare

import (
	"bytes"
	"strings"
	"testing"

	"callhouse/cmd/internal/cli"
)

// A list that could not be read to its end is not called consistent with the service.
func TestListWithAGap(t *testing.T) {
	r := &Report{Calls: 400, Problems: []string{"the list ends after 400 calls, but the service counts 480"}}
	var out bytes.Buffer
	r.Write(&out)
	if strings.Contains(out.String(), "consistent with the service") || !strings.Contains(out.String(), "the list ends after 400 calls") {
		t.Errorf("it says:\n%s", &out)
	}
	if code := cli.Code(r.Err()); code != cli.ExitIncomplete {
		t.Errorf("exit code %d", code)
	}
}
