package disk

import "golang.org/x/sys/windows"

func init() {
	full = append(full, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL)
	overQuota = append(overQuota, windows.ERROR_DISK_QUOTA_EXCEEDED)
}

// roomUnder returns the free space of a file system.
func roomUnder(path string) room {
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return room{}
	}
	var free uint64
	if err := windows.GetDiskFreeSpaceEx(name, &free, nil, nil); err != nil {
		return room{}
	}
	return room{known: true, bytes: int64(free)}
}
