package sandbox

import (
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/sandbox/operation"
	"callhouse/internal/test"
)

var clientsDir = flag.String("clients", "", "a folder with the programs oapi-codegen and bin/openapi-python-client: generate clients there and use them (make clients)")

// TestGeneratedClients generates clients from the OpenAPI documents with stock generators. Two
// programs use them to create an agent and a campaign, wait for its calls, and read them. Both
// print the same.
func TestGeneratedClients(t *testing.T) {
	if *clientsDir == "" {
		t.Skip("needs -clients")
	}
	run := func(dir, name string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), name, args...)
		c.Dir, c.Env = dir, append(os.Environ(), "GOFLAGS=-mod=mod", "PATH="+*clientsDir+"/bin:"+os.Getenv("PATH"))
		said, err := c.CombinedOutput()
		t.Logf("%s %s\n%s", filepath.Base(name), strings.Join(args, " "), said)
		test.OK(t, err)
		return string(said)
	}
	write := func(name string, text []byte) {
		t.Helper()
		name = filepath.Join(*clientsDir, name)
		test.OK(t, os.MkdirAll(filepath.Dir(name), 0o755))
		test.OK(t, os.WriteFile(name, text, 0o644))
	}
	for _, name := range []string{"go/main.go", "go/sandbox_test.go", "python/client.py"} {
		text, err := os.ReadFile("testdata/clients/" + name)
		test.OK(t, err)
		write(name, text)
	}
	write("go/go.mod", []byte("module clients\n\ngo 1.26\n"))
	for _, v := range []string{"v3", "v2"} {
		write(v+".json", operation.Document(v == "v2"))
		write("go/"+v+"/.keep", nil)
		run(*clientsDir, *clientsDir+"/oapi-codegen", "-generate", "types,client", "-package", v, "-o", "go/"+v+"/client.go", v+".json")
		said := run(*clientsDir, *clientsDir+"/bin/openapi-python-client", "generate", "--meta", "none", "--overwrite", "--path",
			v+".json", "--output-path", "python/"+v)
		if strings.Contains(said, "Warning") {
			t.Errorf("openapi-python-client leaves something out of %s", v)
		}
	}
	run(*clientsDir+"/go", "go", "mod", "tidy")
	use := func(dir, name string, args ...string) string {
		t.Helper()
		r, err := Listen(t.Context(), "127.0.0.1:0", newServer(t, Options{World: Config{Calls: 300}}))
		test.OK(t, err)
		defer r.Close()
		return run(*clientsDir+"/"+dir, name, append(args, r.URL)...)
	}
	ofGo := use("go", "go", "run", ".")
	if ofPython := use("python", *clientsDir+"/bin/python", "client.py"); ofPython != ofGo {
		t.Error("the programs differ in what they say")
	}
	docs, err := os.ReadFile("../../docs/reference/sandbox.md")
	test.OK(t, err)
	if shown := "    " + strings.ReplaceAll(strings.TrimSpace(ofGo), "\n", "\n    ") + "\n"; !strings.Contains(string(docs), shown) {
		t.Errorf("docs/reference/sandbox.md does not show what they say:\n%s", shown)
	}
	test.OK(t, os.Setenv("SANDBOX", *clientsDir+"/sandbox"))
	run(*clientsDir+"/go", "go", "test", "-count=1", ".")
}
