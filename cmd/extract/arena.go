package main

// #ifdef __linux__
// #include <malloc.h>
// #endif
//
// // Elsewhere than in glibc there is nothing to say.
// static void one_arena(void) {
// #ifdef M_ARENA_MAX
// 	mallopt(M_ARENA_MAX, 1);
// #endif
// }
import "C"

// oneArena makes the C library use one memory arena. By default it has one per compressing thread,
// and memory freed in one serves no other.
func oneArena() { C.one_arena() }
