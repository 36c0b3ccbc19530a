package organisation

import (
	"fmt"
	"slices"
	"strings"

	"callhouse/internal/sandbox/operation"
)

// schemas is the registry of JSON Schemas. Lists omit the bodies unless requested; an entry is
// requested by namespace and type.
func init() {
	populated("schemas", population{
		every: 120,
		born: func(d *draw) Object {
			r := registry[d.n]
			return Object{
				"namespace": r.namespace, "schema_type": r.kind, "name": strings.ReplaceAll(r.kind, "_", " "),
				"source": pick(&d.Dice, "db", "code", "override"), "schema": r.body(1),
			}
		},
		edit: func(d *draw, was Object) Object {
			var n int
			_, _ = fmt.Sscanf(fmt.Sprint(was["version"]), "v%d", &n) // one of ours
			return Object{"version": fmt.Sprintf("v%d", n+1), "schema": registry[d.n].body(n + 1)}
		},
	})
}

// registered is an entry of the registry: a definition, or its own schema.
type registered struct {
	namespace, kind string
	schema          Object
}

// builtIn are the types of built-in tools and their own settings, from the contract except the last
// one.
var builtIn = [][2]string{
	{"transfer_call", "transferConfigurations transferType displayedCallerId transferMessageType warmTransferPrompt " +
		"warmTransferStaticSentence sipHeaders"},
	{"transfer_agent", "agent preserveChatContext"},
	{"send_sms", "smsMessageType smsMessagePrompt smsMessageStaticSentence smsMessageStaticTitle smsMessageStaticImageFileKeys smsFromNumber"},
	{"send_dtmf", "allowInterruption"},
	{"skill", "skill"},
	{"end_call", ""},
}

func isBuiltIn(tool string) bool {
	return slices.ContainsFunc(builtIn, func(b [2]string) bool { return b[0] == tool })
}

// registry are the entries, those of a small organisation first. Except for the tools', the schemas
// of a namespace are invented; their number was observed.
var registry = func() []registered {
	var all []registered
	add := func(namespace, kind string, schema Object) { all = append(all, registered{namespace, kind, schema}) }
	defined := func(namespace, kind, name string) { add(namespace, kind, operation.Ref(name)) }
	defined("agent-schema", "data", "AgentSettings")
	defined("flow-schema", "flow", "Flow")
	for _, tool := range builtIn {
		properties := Object{"toolType": Object{"const": tool[0]}}
		for _, name := range strings.Fields("speakDuringExecution allowInterruptionDuringExecution responseMode " + tool[1]) {
			properties[name] = Object{} // the contract has only its name
		}
		add("tool-schema", tool[0], Object{"allOf": []any{operation.Ref("BuiltInTool"), Object{"properties": properties}}})
	}
	defined("tool-schema", "built_in_tool", "BuiltInTool")
	add("eval-schema", "evaluation", Object{"type": "object"})
	for _, kind := range strings.Fields("task_completed politeness accuracy latency interruptions compliance") {
		properties := Object{"score": Object{"type": "number"}, "reason": Object{"type": "string"}}
		add("eval-schema", kind, Object{"type": "object", "properties": properties})
	}
	for _, section := range strings.Fields("Prompt Stt Llm Voice Speech Call PostCall Security Webhook Knowledge") {
		kind := strings.ToLower(strings.ReplaceAll(section, "PostCall", "post_call"))
		defined("agent-schema", kind+"_settings", section+"Settings")
	}
	defined("agent-schema", "post_call_action", "PostCallAction")
	defined("agent-schema", "tool_ids", "Texts")
	add("agent-schema", "preset_dynamic_variables", Object{"type": []any{"object", "null"}})
	add("agent-schema", "built_in_tools", Object{"type": "array", "items": operation.Ref("BuiltInTool")})
	defined("flow-schema", "node", "FlowNode")
	defined("flow-schema", "edge", "FlowEdge")
	defined("flow-schema", "node_settings", "FlowNodeSettings")
	defined("flow-schema", "node_knowledge", "KnowledgeSettings")
	for _, kind := range strings.Fields("conversation condition tool") {
		properties := Object{"type": Object{"const": kind}}
		add("flow-schema", kind+"_node", Object{"allOf": []any{operation.Ref("FlowNode"), Object{"properties": properties}}})
	}
	add("flow-schema", "nodes", Object{"type": "array", "minItems": 1, "items": operation.Ref("FlowNode")})
	add("flow-schema", "edges", Object{"type": "array", "items": operation.Ref("FlowEdge")})
	add("flow-schema", "position", Object{"type": "object"})
	add("flow-schema", "viewport", Object{"type": "object"})
	return all
}()

// body is the JSON Schema of an entry with everything it refers to.
func (r *registered) body(revision int) Object {
	definitions := Object{}
	body := inlined(r.schema, definitions).(Object)
	body["$schema"], body["$comment"] = "https://json-schema.org/draft/2020-12/schema", fmt.Sprintf("revision %d", revision)
	if len(definitions) > 0 {
		body["$defs"] = definitions
	}
	return body
}

// inlined copies a schema for a document with definitions under $defs, and adds the referenced
// ones.
func inlined(value any, definitions Object) any {
	switch v := value.(type) {
	case Object:
		all := Object{}
		for key, value := range v {
			text, _ := value.(string)
			name, ok := strings.CutPrefix(text, "#/components/schemas/")
			if !ok {
				all[key] = inlined(value, definitions)
				continue
			}
			all[key] = "#/$defs/" + name
			if definitions[name] == nil {
				definitions[name] = true // in progress
				definitions[name] = inlined(operation.Schemas()[name], definitions)
			}
		}
		return all
	case []any:
		all := make([]any, len(v))
		for i, value := range v {
			all[i] = inlined(value, definitions)
		}
		return all
	}
	return value
}
