package sandbox

import (
	"bytes"
	"flag"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"callhouse/internal/test"
)

var (
	schemathesis = flag.String("schemathesis", "", "the program schemathesis: try every operation with it (make contract)")
	examples     = flag.Int("examples", 30, "how many requests it makes of each kind")
)

// TestSchemathesis tests every operation of the OpenAPI documents with valid and invalid requests
// of an independent tool.
func TestSchemathesis(t *testing.T) {
	if *schemathesis == "" {
		t.Skip("needs -schemathesis")
	}
	s := newServer(t, Options{World: Config{Calls: 300}})
	r, err := Listen(t.Context(), "127.0.0.1:0", s)
	test.OK(t, err)
	defer r.Close()
	config, err := filepath.Abs("testdata/schemathesis.toml")
	test.OK(t, err)
	for _, document := range []string{"/v3/openapi.json", "/v2/openapi.json"} {
		c := exec.CommandContext(t.Context(), *schemathesis, "--config-file", config, "run", r.URL+document,
			"--header", "Authorization: Bearer sandbox-key", "--max-examples", strconv.Itoa(*examples), "--seed", "1", "--phases",
			"examples,coverage,fuzzing,stateful", "--checks", "all", "--no-color")
		c.Dir = t.TempDir() // it writes a cache
		var said bytes.Buffer
		c.Stdout, c.Stderr = &said, &said
		err := c.Run()
		t.Logf("%s\n%s", document, said.Bytes())
		if err != nil {
			t.Errorf("%s: %v", document, err)
		}
	}
}
