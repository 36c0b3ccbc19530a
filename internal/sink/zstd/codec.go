// Package zstd compresses with the C library, which takes less processor time than the Go one at
// the same size. A build without cgo, such as the one for Windows, has only the Go library. Each
// reads the other's output.
package zstd

// codec is a zstd library. Its methods may be used concurrently.
type codec interface {
	// compress compresses src, into dst if that is large enough.
	compress(dst, src []byte, level int) ([]byte, error)
	// decompressInto decompresses src into dst, and returns the number of bytes.
	decompressInto(dst, src []byte) (int, error)
}

// Bound returns the maximum compressed size of n bytes.
func Bound(n int) int {
	const block, small = 128 << 10, 18
	if n < block {
		return n + n>>8 + (block-n)>>11 + small
	}
	return n + n>>8 + small
}

// Compress compresses src, into dst if that is large enough.
func Compress(dst, src []byte, level int) ([]byte, error) { return library.compress(dst, src, level) }

// DecompressInto decompresses src into dst, and returns the number of bytes.
func DecompressInto(dst, src []byte) (int, error) { return library.decompressInto(dst, src) }

// pageLevel is the level of Parquet pages: level 3 costs a third more CPU time for
// 5 % less size.
const pageLevel = 2

// CompressPage compresses a page of a Parquet file, into dst if that is large enough.
func CompressPage(dst, src []byte) ([]byte, error) { return Compress(dst[:cap(dst)], src, pageLevel) }
