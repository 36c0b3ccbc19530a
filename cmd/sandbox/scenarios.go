package main

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/pflag"
	"go.yaml.in/yaml/v3"

	"callhouse/cmd/internal/cli"
	"callhouse/internal/sandbox"
)

//go:embed scenarios.yaml
var scenariosYAML []byte

// scenario is a named company to start from.
type scenario struct {
	Name, Says string
	Flags      map[string]string
	Asks       []struct {
		As, Post string
		Body     map[string]any
	}
}

// scenarios returns the built-in scenarios.
func scenarios() []scenario {
	var all []scenario
	d := yaml.NewDecoder(bytes.NewReader(scenariosYAML))
	d.KnownFields(true)
	if err := d.Decode(&all); err != nil {
		panic("sandbox: scenarios: " + err.Error()) // built-in
	}
	return all
}

// chooseScenario finds the scenario of --scenario and sets its flags, except those given
// explicitly.
func (f *serveFlags) chooseScenario(flags *pflag.FlagSet) (*scenario, error) {
	if f.scenario == "" {
		return &scenario{}, nil
	}
	all := scenarios()
	i := slices.IndexFunc(all, func(s scenario) bool { return s.Name == f.scenario })
	if i < 0 {
		var names []string
		for _, s := range all {
			names = append(names, s.Name)
		}
		return nil, cli.Usage("sandbox --scenario list describes the scenarios",
			"unknown scenario %q; available: %s", f.scenario, strings.Join(names, ", "))
	}
	for name, value := range all[i].Flags {
		if flags.Changed(name) {
			continue
		}
		if err := flags.Set(name, value); err != nil {
			return nil, fmt.Errorf("scenario %s: %w", f.scenario, err)
		}
	}
	return &all[i], nil
}

// listScenarios prints the scenarios.
func listScenarios(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	for _, s := range scenarios() {
		fmt.Fprintf(t, "%s\t%s\n", s.Name, s.Says)
	}
	if err := t.Flush(); err != nil {
		return cli.Fail(cli.ExitFailed, err, "the output is incomplete")
	}
	return nil
}

// play sends a scenario's initial requests.
func (s *scenario) play(server *sandbox.Server) error {
	ids := []string{}
	for _, ask := range s.Asks {
		body, err := json.Marshal(ask.Body)
		if err != nil {
			return fmt.Errorf("scenario %s: %w", s.Name, err)
		}
		status, text := server.Do(http.MethodPost, ask.Post, strings.NewReplacer(ids...).Replace(string(body)))
		var answer struct{ ID string }
		if err := json.Unmarshal(text, &answer); err != nil || status >= http.StatusMultipleChoices {
			return fmt.Errorf("scenario %s: POST %s: %d %s", s.Name, ask.Post, status, text)
		}
		if ask.As != "" {
			ids = append(ids, "$"+ask.As, answer.ID)
		}
	}
	return nil
}
