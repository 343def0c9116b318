// OPENSET_WIDE compiles a function, and what it inlines, for several widths of vector registers; the
// loader picks one for the machine. Results do not change: contraction is off (see setup.py).
#pragma once

#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__linux__) && \
    !defined(__SANITIZE_ADDRESS__)
#define OPENSET_WIDE __attribute__((target_clones("avx512f", "avx2", "default"), flatten))
#else
#define OPENSET_WIDE
#endif
