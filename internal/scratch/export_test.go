package scratch

// Resume undoes that Clear ends the making of folders.
func Resume() {
	made.Lock()
	defer made.Unlock()
	made.over = false
}
