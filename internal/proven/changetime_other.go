//go:build !linux

package proven

import "syscall"

func changeTime(*syscall.Stat_t) int64 { return 0 }
