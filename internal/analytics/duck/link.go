package duck

// The driver asks the linker to let libraries that are loaded later find every symbol of the
// program. None is loaded; without that, programs are a tenth smaller and link in less time.

// #cgo linux LDFLAGS: -Wl,--no-export-dynamic
import "C"
