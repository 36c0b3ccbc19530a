package serve_test

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"callhouse/internal/analytics/analyticstest"
)

// Programs that people point at a database read the tables with their default settings. make postgres
// installs them into the folder of CALLHOUSE_PROGRAMS, and what is not there is skipped.
func TestPrograms(t *testing.T) {
	dir := os.Getenv("CALLHOUSE_PROGRAMS")
	if dir == "" {
		t.Skip("make postgres runs it")
	}
	h := start(t, nil)
	analyticstest.Write(t, h.root, 2, someData())
	host, port, _ := net.SplitHostPort(h.address)
	dsn := "postgres://somebody@" + h.address + "/callhouse"
	java := filepath.Join(dir, "java", "*")
	out := t.TempDir()
	for _, p := range []struct {
		name, needs string
		command     []string
		stdin       string
		wants       []string // in what it says, or writes to the folder
	}{
		{"pgcli", "pgcli/bin/pgcli", []string{"-w", dsn},
			"\\dt\n\\d calls\nSELECT status, count(*) AS how_many FROM calls GROUP BY 1 ORDER BY 1;\n\\q\n",
			[]string{"transcript_turns", `"calls_pkey" PRIMARY KEY`, "| status | how_many |", "| ended  | 2        |"}},
		{"kysely-codegen", "node/node_modules/.bin/kysely-codegen", []string{"--dialect", "postgres", "--url", dsn, "--print"}, "",
			[]string{"export interface Calls {", "calls: Calls;", "transcript_turns: TranscriptTurns;", "its agent"}},
		{"Liquibase", "java/liquibase-core-*.jar", []string{"java", "-cp", java, "liquibase.integration.commandline.LiquibaseCommandLine",
			"--url=jdbc:postgresql://" + h.address + "/callhouse", "--username=somebody", "snapshot", "--snapshot-format=json"}, "",
			[]string{`"name": "calls_pkey"`, `"name": "calls_agent_id_fkey"`, `"remarks": "its agent`}},
		{"SchemaSpy", "schemaspy/schemaspy-*.jar", []string{"java", "-jar", "schemaspy", "-t", "pgsql11",
			"-dp", filepath.Join(dir, "java"), "-host", host, "-port", port,
			"-db", "callhouse", "-u", "somebody", "-s", "public", "-o", out, "-nohtml"}, "",
			[]string{`name="calls"`, `foreignKey="calls_agent_id_fkey"`}},
	} {
		t.Run(p.name, func(t *testing.T) {
			found, err := filepath.Glob(filepath.Join(dir, p.needs))
			if err != nil || len(found) == 0 {
				t.Skipf("%s could not be installed", p.name)
			}
			if p.command[0] != "java" {
				p.command = append(found[:1], p.command...)
			} else if p.command[1] == "-jar" {
				p.command[2] = found[0]
			}
			cmd := exec.CommandContext(t.Context(), p.command[0], p.command[1:]...)
			cmd.Dir, cmd.Stdin = out, strings.NewReader(p.stdin)
			cmd.Env = append(os.Environ(), "HOME="+out, "COLUMNS=200", "PAGER=cat")
			said, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, clip(string(said)))
			}
			text := string(said)
			written, _ := filepath.Glob(filepath.Join(out, "*.xml"))
			for _, path := range written {
				raw, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				text += string(raw)
			}
			for _, want := range p.wants {
				if !strings.Contains(text, want) {
					t.Errorf("it says no %q:\n%s", want, clip(text))
				}
			}
		})
	}
}
