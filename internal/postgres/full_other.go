//go:build !unix

package postgres

func isFull(error) bool { return false }
