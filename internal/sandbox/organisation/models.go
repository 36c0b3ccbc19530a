package organisation

import "fmt"

// llms are the language models available to agents.
func init() {
	populated("llms", population{
		lifetime: 500, every: 120,
		born: func(d *draw) Object {
			maker := [...]string{"acme", "borealis", "vox"}[d.n%3]
			name := fmt.Sprintf("%s/%s-%d", maker, [...]string{"large", "small", "turbo"}[d.n/3%3], 1+d.n/9+10*d.generation)
			return Object{"id": name, "name": name, "capabilities": temperatures(d)}
		},
		edit: func(d *draw, _ Object) Object { return Object{"capabilities": temperatures(d)} },
	})
}

func temperatures(d *draw) Object {
	return Object{"temperature": Object{"min": 0, "max": 1 + d.Below(2), "default": float64(d.Below(11)) / 10}}
}

// voices are identified by provider and id: two providers share ids.
func init() {
	populated("voices", population{
		lifetime: 600, every: 150,
		born: func(d *draw) Object {
			provider, id := [...]string{"vox", "borealis"}[d.n%2], fmt.Sprintf("voice-%03d", d.n/2)
			if d.generation > 0 {
				id += fmt.Sprintf("-%d", d.generation+1)
			}
			return Object{
				"provider": provider, "id": id, "name": fmt.Sprintf("Voice %d", d.n/2+1), "language": pick(&d.Dice, "ko", "en", "ja"),
				"gender": pick(&d.Dice, "female", "male", "neutral"), "sample_url": "https://samples.example/" + provider + "/" + id + ".mp3",
				"model":        pick(&d.Dice, "natural-1", "natural-2"),
				"capabilities": Object{"speed": Object{"min": .5, "max": 2}, "emotion": d.Chance(.3)},
			}
		},
		edit: func(d *draw, _ Object) Object {
			return Object{"description": fmt.Sprintf("Warm, retouched %d times", 1+d.Below(50))}
		},
	})
}
