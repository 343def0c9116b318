// Counts of many resamples of the images at once.
//
// weights[image][b] says how often resample b drew the image. A detection then counts that often,
// in place: its copies follow each other. Resamples are handled in blocks of lanes, so that the
// counters stay in the cache while the detections pass by.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "parallel.hpp"

namespace openset {

struct WeightTable {
  const uint8_t* data;  // one row per image
  int64_t row_stride;
  int32_t n_images, n_resamples;
};

namespace resampling {

// Resamples that are handled at once: few when there are few, as for the data itself or a curve.
constexpr int kMany = 64, kFew = 16;

template <int kLanes>
using CountsOf = int32_t[kLanes];
template <int kLanes>
using RealsOf = double[kLanes];

// A byte per lane, in as many registers as the machine needs for them.
template <int kLanes>
class Bytes {
 public:
  void add(const uint8_t* weights) {
    Vector more;
    std::memcpy(&more, weights, sizeof more);
    sum_ += more;
  }

  void add(const uint8_t* weights, bool wanted) {
    Vector more;
    std::memcpy(&more, weights, sizeof more);
    sum_ += more & static_cast<uint8_t>(-wanted);
  }

  void copy_to(uint8_t* out) const { std::memcpy(out, &sum_, sizeof sum_); }

 private:
  typedef uint8_t Vector __attribute__((vector_size(kLanes)));
  Vector sum_ = {};
};

template <int kLanes>
void add(CountsOf<kLanes>& counts, const uint8_t* weights) {
  for (int b = 0; b < kLanes; ++b) counts[b] += weights[b];
}

// The weights of a block of resamples, one short row per image: small enough for the cache, which
// the whole table is not, and each in a cache line of its own. Lanes beyond the last resample are 0.
template <int kLanes>
class PackedWeights {
 public:
  // Of every resample, or of every second one.
  explicit PackedWeights(const WeightTable& table, int32_t step = 1)
      : table_(table), step_(step) {}

  void load(int32_t first) {
    if (first == first_) return;
    first_ = first;
    width_ = std::min(kLanes, (table_.n_resamples - first) / step_);
    const size_t size = static_cast<size_t>(table_.n_images) * kLanes;
    memory_.assign(size + kLanes, 0);
    rows_ = memory_.data() + (-reinterpret_cast<uintptr_t>(memory_.data()) & (kLanes - 1));
    uint8_t most = 1;
    for (int64_t i = 0; i < table_.n_images; ++i) {
      const uint8_t* const from = table_.data + i * table_.row_stride + first;
      uint8_t* const to = rows_ + i * kLanes;
      if (step_ == 1)
        std::memcpy(to, from, width_);
      else
        for (int b = 0; b < width_; ++b) to[b] = from[2 * b];
      for (int b = 0; b < kLanes; ++b) most = std::max(most, to[b]);
    }
    span_ = 255 / most;
  }

  int32_t first() const { return first_; }
  int32_t width() const { return width_; }
  const uint8_t* row(int32_t image) const { return rows_ + int64_t{image} * kLanes; }

  // Adds to the counts the weights of images[begin, end) that are wanted: as bytes first, as long
  // as these hold the sum, which takes a quarter of the additions. Returns how many they are.
  template <class Wanted>
  int32_t count(CountsOf<kLanes>& counts, const int32_t* images, int64_t begin, int64_t end,
                const Wanted& wanted) const {
    int32_t found = 0;
    in_spans(counts, begin, end, [&](Bytes<kLanes>& sum, int64_t at) {
      if (!wanted(at)) return;
      ++found;
      sum.add(row(images[at]));
    });
    return found;
  }

  // The same where about half are wanted: without a branch, which the machine would guess wrong.
  template <class Wanted>
  void count_half(CountsOf<kLanes>& counts, const int32_t* images, int64_t begin, int64_t end,
                  const Wanted& wanted) const {
    in_spans(counts, begin, end,
             [&](Bytes<kLanes>& sum, int64_t at) { sum.add(row(images[at]), wanted(at)); });
  }

 private:
  template <class Add>
  void in_spans(CountsOf<kLanes>& counts, int64_t begin, int64_t end, const Add& add_one) const {
    while (begin < end) {
      const int64_t stop = std::min<int64_t>(end, begin + span_);
      Bytes<kLanes> sum;
      for (; begin < stop; ++begin) add_one(sum, begin);
      uint8_t weights[kLanes];
      sum.copy_to(weights);
      add<kLanes>(counts, weights);
    }
  }

  const WeightTable& table_;
  const int32_t step_;
  std::vector<uint8_t> memory_;
  uint8_t* rows_ = nullptr;
  int32_t first_ = -1, width_ = 0;
  int32_t span_ = 1;  // weights whose sum a byte holds
};

template <int kLanes>
void subtract(CountsOf<kLanes>& counts, const uint8_t* weights) {
  for (int b = 0; b < kLanes; ++b) counts[b] -= weights[b];
}

// Fewest true positives whose recall, in double, reaches the target; 0 without positives.
inline int64_t needed(double target, double total) {
  auto count = static_cast<int64_t>(target * total);  // at most one off
  if (total <= 0) return 0;
  if (count > 0 && static_cast<double>(count - 1) / total >= target) --count;
  while (static_cast<double>(count) / total < target) ++count;
  return count;
}

// Runs Walker(args...).run(klass, first_resample) for all classes and blocks of resamples.
template <class Walker, class... Args>
void walk_blocks(int32_t n_classes, int32_t n_resamples, int threads, const Args&... args) {
  constexpr int kBlock = Walker::kResamples;
  const int64_t blocks = (n_resamples + kBlock - 1) / kBlock;
  parallel(threads, n_classes * blocks, [&](TaskQueue& tasks) {
    Walker walker(args...);
    for (int64_t t; tasks.take(t);)
      walker.run(static_cast<int32_t>(t % n_classes), static_cast<int32_t>(t / n_classes * kBlock));
  });
}

template <template <int> class Walker, class... Args>
void walk_all(int32_t n_classes, int32_t n_resamples, int threads, const Args&... args) {
  if (n_resamples <= kFew)
    walk_blocks<Walker<kFew>>(n_classes, n_resamples, threads, args...);
  else
    walk_blocks<Walker<kMany>>(n_classes, n_resamples, threads, args...);
}

}  // namespace resampling
}  // namespace openset
