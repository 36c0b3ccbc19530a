package scratch

// Resume lets folders be made again after Clear.
func Resume() {
	made.Lock()
	defer made.Unlock()
	made.over = false
}
