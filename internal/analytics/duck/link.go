package duck

// The driver makes the linker export every symbol for libraries loaded later. None are loaded;
// without these symbols programs are a tenth smaller and link faster.

// #cgo linux LDFLAGS: -Wl,--no-export-dynamic
import "C"
