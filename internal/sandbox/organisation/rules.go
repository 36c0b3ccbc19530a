package organisation

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"text/template"

	"callhouse/internal/sandbox/dice"
	"callhouse/internal/sandbox/operation"
	"callhouse/internal/sandbox/world"
)

// Secret is part of every value that clients must not store: tokens in headers of tools and in
// addresses of webhooks and channels.
const Secret = "hush-hush-"

// source is what the templates of the resources draw from.
type source struct{ dice.Dice }

// Pick draws one of some texts.
func (s *source) Pick(of ...string) string { return of[s.Below(len(of))] }

// Secret draws a secret.
func (s *source) Secret() string { return fmt.Sprintf("%s%016x", Secret, dice.Mix(s.Next())) }

var functions = template.FuncMap{
	"add": func(all ...int) (sum int) {
		for _, n := range all {
			sum += n
		}
		return sum
	},
	"mul":   func(a, b int) int { return a * b },
	"div":   func(a, b int) int { return a / b },
	"mod":   func(a, b int) int { return a % b },
	"per":   func(a, b int) float64 { return float64(a) / float64(b) },
	"nth":   func(n int, of ...string) string { return of[n%len(of)] },
	"words": func(name string) string { return strings.ReplaceAll(name, "_", " ") },
	"json": func(value any) (string, error) {
		b, err := json.Marshal(value)
		return string(b), err
	},
	"topic": topic, "knowledge": knowledgeID,
	"customerName": world.CustomerName, "customerPhone": world.CustomerPhone, "customerNumber": world.CustomerNumber,
}

// templates are the rules of the resources by resource and of an agent's settings by name, parsed on
// first use.
var templates = sync.OnceValue(func() map[string]*template.Template {
	all := map[string]*template.Template{}
	for _, r := range All() {
		if r.Draw != nil {
			all[r.Name] = template.Must(template.New("new").Funcs(functions).Parse(r.Draw.New))
			template.Must(all[r.Name].New("edit").Parse(r.Draw.Edit))
		}
		for _, s := range r.Settings {
			all["data."+s.Name] = template.Must(template.New("new").Funcs(functions).Parse(s.Draw))
		}
	}
	return all
})

// drawn returns the value of a rule.
func drawn(of, rule string, from any) (value any) {
	var b bytes.Buffer
	err := templates()[of].ExecuteTemplate(&b, rule, from)
	if err == nil {
		d := json.NewDecoder(&b)
		d.UseNumber()
		err = d.Decode(&value)
	}
	if err != nil {
		panic(fmt.Sprintf("sandbox: %s of %s: %v", rule, of, err)) // built-in
	}
	return operation.Whole(value)
}

// populationOf returns that of a resource with rules, of the resource's size.
func populationOf(r *Resource) population {
	return population{
		resource: r.Name, name: strings.ReplaceAll(r.Name, "_", " "), lifetime: r.Draw.Lifetime, every: r.Draw.Every,
		born: func(d *draw) Object { return drawn(r.Name, "new", d).(Object) },
		edit: func(d *draw, was Object) Object {
			d.Was = was
			return drawn(r.Name, "edit", d).(Object)
		},
	}
}
