package resource

import (
	"time"

	"callhouse/internal/schema"
)

// Knowledges are knowledge bases. Their items have few fields and do not show when a document was
// added, so the documents are listed again every few days.
var Knowledges = Declare(Resource{
	Name: "knowledges", Doc: "knowledge bases",
	Path: "/v3/knowledges", Key: []string{"knowledge_id"},
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
