package resource

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"callhouse/internal/schema"
)

// knowledgeV2 is v2's path of a knowledge base with its documents. v2 has no list of them.
const knowledgeV2 = "/v2/knowledge/{}"

// knowledgeIDs returns the knowledge bases that an agent names: in its settings, and in the nodes
// of its flow.
func knowledgeIDs(agent *schema.Object) (ids []string) {
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, e := range v {
				look(e)
			}
		case map[string]any:
			for name, inner := range v {
				list, _ := inner.([]any)
				if name != "knowledgeIds" {
					look(inner)
					continue
				}
				for _, id := range list {
					ids = append(ids, fmt.Sprint(id))
				}
			}
		}
	}
	for _, name := range []string{"data", "flow"} {
		d := json.NewDecoder(bytes.NewReader(schema.TextOf(agent.Row[agent.Of.Table.Column(name)])))
		d.UseNumber()
		var v any
		if d.Decode(&v) == nil {
			look(v)
		}
	}
	return ids
}

// Knowledges are knowledge bases. Their items have few fields and do not show when a document was
// added, so the documents are listed again every few days.
var Knowledges = Declare(Resource{
	Name: "knowledges", Doc: "knowledge bases",
	Path: "/v3/knowledges", Key: []string{"knowledge_id"},
	Fallback: &Fallback{Path: knowledgeV2, Of: Agents, Keys: knowledgeIDs,
		Names: map[string]string{"knowledge_base_id": "knowledge_id", "knowledge_base_name": "name", "knowledge_documents": ""}},
},
	schema.Column{ID: 1, Name: "knowledge_id", Type: schema.Text, Required: true, V3: "id", V2: "knowledge_id",
		Doc: "id of the knowledge base"},
	schema.Column{ID: 2, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 3, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
)

// KnowledgeDocuments are the documents of knowledge bases. The service has no operation that
// returns their text.
var KnowledgeDocuments = Declare(Resource{
	Name: "knowledge_documents", Doc: "documents of knowledge bases, without their text",
	Path: "/v3/knowledges/{}/documents", Parent: Knowledges, Every: 3 * 24 * time.Hour,
	Key: []string{"knowledge_id", "document_id"},
	Fallback: &Fallback{Path: knowledgeV2, Items: "knowledge_documents", Unpaged: true, Names: map[string]string{
		"knowledge_document_id": "document_id", "knowledge_document_name": "name", "knowledge_document_type": "document_type"}},
},
	schema.Column{ID: 2, Name: "document_id", Type: schema.Text, Required: true, V3: "id", V2: "document_id",
		Doc: "id of the document"},
	schema.Column{ID: 1, Name: "knowledge_id", Type: schema.Text, Required: true, V3: "knowledge_id",
		Doc: "id of its knowledge base"},
	schema.Column{ID: 3, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 4, Name: "document_type", Type: schema.Word, V3: "document_type", Known: []string{"file", "text", "webpage"},
		Doc: "file, text or webpage"},
	schema.Column{ID: 5, Name: "status", Type: schema.Word, V3: "status", Known: []string{"uploading", "completed", "failed"},
		Doc: "uploading, completed or failed"},
	schema.Column{ID: 6, Name: "created_at", Type: schema.Timestamp, V3: "created_at",
		Doc: "time of creation"},
	schema.Column{ID: 7, Name: "upload_percentage", Type: schema.Exact, V3: "upload_percentage", Unit: "percent",
		Doc: "progress of the upload"},
	schema.Column{ID: 8, Name: "token_count", Type: schema.Int64, V3: "token_count", Unit: "count",
		Doc: "length in tokens"},
	schema.Column{ID: 9, Name: "webpage_urls", Type: schema.JSON, V3: "webpage_urls", AnyValue: true,
		Doc: "addresses of the source pages"},
)
