package resource

import (
	"time"

	"callhouse/internal/schema"
)

// catalogue is how long a list of the service's general offers stays valid.
const catalogue = 7 * 24 * time.Hour

// LLMs are the language models that the service offers.
var LLMs = Declare(Resource{
	Name: "llms", Doc: "language models offered by the service",
	Path: "/v3/models/llms", Every: catalogue, Key: []string{"model"},
},
	schema.Column{ID: 1, Name: "model", Type: schema.Text, Required: true, V3: "id", V2: "model",
		Doc: "model, as provider/name"},
	schema.Column{ID: 3, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 2, Name: "capabilities", Type: schema.JSON, V3: "capabilities", AnyValue: true,
		Doc: "ranges of its settings"},
)

// Voices are the voices that the service offers. Two providers may use the same id.
var Voices = Declare(Resource{
	Name: "voices", Doc: "voices offered by the service",
	Path: "/v3/models/voices", Every: catalogue, Key: []string{"provider", "voice_id"},
},
	schema.Column{ID: 2, Name: "voice_id", Type: schema.Text, Required: true, V3: "id", V2: "voice_id",
		Doc: "id of the voice at its provider"},
	schema.Column{ID: 1, Name: "provider", Type: schema.Text, Required: true, V3: "provider",
		Doc: "provider"},
	schema.Column{ID: 3, Name: "name", Type: schema.Text, V3: "name",
		Doc: "name"},
	schema.Column{ID: 4, Name: "language", Type: schema.JSON, V3: "language", AnyValue: true,
		Doc: "language or languages"},
	schema.Column{ID: 5, Name: "gender", Type: schema.Word, V3: "gender",
		Doc: "gender of the voice"},
	schema.Column{ID: 6, Name: "model", Type: schema.Word, V3: "model",
		Doc: "model of the provider"},
	schema.Column{ID: 7, Name: "description", Type: schema.Text, V3: "description",
		Doc: "description"},
	schema.Column{ID: 8, Name: "sample_url", Type: schema.Text, V3: "sample_url",
		Doc: "address of a sample"},
	schema.Column{ID: 9, Name: "capabilities", Type: schema.JSON, V3: "capabilities", AnyValue: true,
		Doc: "capabilities"},
)
