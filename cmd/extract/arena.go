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

// oneArena has the C library keep its memory in one place. By itself it keeps one
// for every thread that compresses, and what is given back in one serves no other.
func oneArena() { C.one_arena() }
