// Values in another order: out[i] = values[order[i]], on all threads.
#pragma once
#include <algorithm>
#include <cstdint>

#include "parallel.hpp"

namespace openset {

constexpr int64_t kTakeBlock = 1 << 16;

template <class T>
void take(const T* values, const int32_t* order, int64_t n, int threads, T* out) {
  parallel(threads, (n + kTakeBlock - 1) / kTakeBlock, [&](TaskQueue& tasks) {
    for (int64_t t; tasks.take(t);) {
      const int64_t end = std::min(n, (t + 1) * kTakeBlock);
      for (int64_t i = t * kTakeBlock; i < end; ++i) out[i] = values[order[i]];
    }
  });
}

}  // namespace openset
