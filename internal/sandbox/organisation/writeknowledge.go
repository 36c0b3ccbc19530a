package organisation

import (
	"fmt"
	"slices"
	"strings"
)

// deleteDocument deletes a document; id names the knowledge base and the document.
func (s *writing) deleteDocument() (Object, *Problem) {
	base, document, _ := strings.Cut(s.id, "/")
	if !s.remove(base, document) {
		return nil, missing("knowledge_document_id")
	}
	return Object{"success": true, "knowledge_document_id": document}, nil
}

// deleteDocuments deletes those of the named documents that the knowledge base has.
func (s *writing) deleteDocuments() (Object, *Problem) {
	if s.find("knowledges", s.id) == nil {
		return nil, missing("knowledge_base_id")
	}
	deleted, failed := []string{}, []string{}
	for _, value := range list(s.body["knowledge_document_ids"]) {
		id := fmt.Sprint(value)
		if slices.Contains(deleted, id) || slices.Contains(failed, id) {
			continue
		}
		if s.remove(s.id, id) {
			deleted = append(deleted, id)
		} else {
			failed = append(failed, id)
		}
	}
	return Object{"deleted_count": len(deleted), "deleted_document_ids": deleted, "failed_document_ids": failed}, nil
}

// remove deletes a document, and reports whether it existed.
func (s *writing) remove(base, id string) bool {
	if s.find("knowledges", base) == nil || s.Find(Named("knowledge_documents"), base, id, s.now) == nil {
		return false
	}
	s.write(Deleted, "knowledge_documents", base, id, nil)
	return true
}
