package service

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"callhouse/internal/sandbox/organisation"
)

// DeleteDocument deletes a document; id is the knowledge base's and the document's.
func (s *Service) DeleteDocument(now time.Time, id string, _ Object) (Object, *Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	base, document, _ := strings.Cut(id, "/")
	if found, p := s.deleteDocument(now, base, document); p != nil {
		return nil, p
	} else if !found {
		return nil, missingAt("knowledge_document_id")
	}
	return Object{"success": true, "knowledge_document_id": document}, nil
}

// DeleteDocuments deletes those of the named documents that the knowledge base has.
func (s *Service) DeleteDocuments(now time.Time, base string, body Object) (Object, *Problem) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.find("knowledges", base, now) == nil {
		return nil, missingAt("knowledge_base_id")
	}
	deleted, failed := []string{}, []string{}
	for _, value := range list(body["knowledge_document_ids"]) {
		id := fmt.Sprint(value)
		if slices.Contains(deleted, id) || slices.Contains(failed, id) {
			continue
		}
		found, p := s.deleteDocument(now, base, id)
		switch {
		case p != nil:
			return nil, p
		case found:
			deleted = append(deleted, id)
		default:
			failed = append(failed, id)
		}
	}
	return Object{"deleted_count": len(deleted), "deleted_document_ids": deleted, "failed_document_ids": failed}, nil
}

func (s *Service) deleteDocument(now time.Time, base, id string) (found bool, _ *Problem) {
	if s.find("knowledges", base, now) == nil || s.company.Find(organisation.Named("knowledge_documents"), base, id, now) == nil {
		return false, nil
	}
	return true, s.write(now, organisation.Deleted, "knowledge_documents", base, id, nil)
}
