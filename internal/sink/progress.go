package sink

import "sync"

// Progress is the progress of work on the files.
type Progress struct {
	What        string // such as "2026-10"
	Done, Total int64  // calls
}

// progressEvery is the number of calls between two reports of progress.
const progressEvery = 4096

// counter returns a function that counts calls, from any goroutine, and regularly reports to
// progress; nil if progress is nil.
func counter(progress func(Progress), what string, total int64) func(rows int64) {
	if progress == nil {
		return nil
	}
	var mu sync.Mutex
	var done int64
	return func(rows int64) {
		mu.Lock()
		defer mu.Unlock()
		was := done
		if done += rows; done == total || done/progressEvery != was/progressEvery {
			progress(Progress{What: what, Done: done, Total: total})
		}
	}
}
