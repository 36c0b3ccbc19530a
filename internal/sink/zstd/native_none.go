//go:build !cgo

package zstd

var library codec = &pure{}
