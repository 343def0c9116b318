// Counts and average precision of many resamples of the images at once.
//
// weights[image][b] says how often resample b drew the image. A detection then counts that often,
// in place: its copies follow each other. Resamples are handled in blocks of lanes, so that the
// counters stay in the cache while the detections pass by.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "parallel.hpp"
#include "wide.hpp"

namespace openset {

struct WeightTable {
  const uint8_t* data;  // one row per image
  int64_t row_stride;
  int32_t n_images, n_resamples;
};

struct ResampleInput {
  // Detections in class order.
  const int32_t* image;
  const int64_t* class_start;
  const uint8_t* counted;  // unmatched, it is a false positive; null: always
  // Candidates by ascending position, and the masks of one size range.
  const int32_t* position;
  const uint16_t *matched, *ignored;
  const int64_t* n_positive;  // [n_classes, n_resamples]
  const double* recall_grid;
  WeightTable weights;
  int64_t n_candidates;
  int32_t n_classes, n_thresholds, n_grid, area, threads;
};

namespace resampling {

// Resamples that are handled at once: few when there are few, as for the data itself or a curve.
constexpr int kMany = 64, kFew = 16;

template <int kLanes>
using CountsOf = int32_t[kLanes];
template <int kLanes>
using RealsOf = double[kLanes];

// The weights of a block of resamples, one short row per image: small enough for the cache, which
// the whole table is not. Lanes beyond the last resample are 0.
template <int kLanes>
class PackedWeights {
 public:
  explicit PackedWeights(const WeightTable& table) : table_(table) {}

  void load(int32_t first) {
    if (first == first_) return;
    first_ = first;
    width_ = std::min(kLanes, table_.n_resamples - first);
    rows_.assign(static_cast<size_t>(table_.n_images) * kLanes, 0);
    for (int64_t i = 0; i < table_.n_images; ++i)
      std::copy_n(table_.data + i * table_.row_stride + first, width_, &rows_[i * kLanes]);
  }

  int32_t first() const { return first_; }
  int32_t width() const { return width_; }
  const uint8_t* row(int32_t image) const { return &rows_[int64_t{image} * kLanes]; }

 private:
  const WeightTable& table_;
  std::vector<uint8_t> rows_;
  int32_t first_ = -1, width_ = 0;
};

template <int kLanes>
void add(CountsOf<kLanes>& counts, const uint8_t* weights) {
  for (int b = 0; b < kLanes; ++b) counts[b] += weights[b];
}

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

// How many recalls of the grid a number of true positives reaches, for each lane.
template <int kLanes>
class RecallTable {
 public:
  void fill(const double* grid, int32_t n_grid, const RealsOf<kLanes>& positive, int32_t max_tp) {
    stride_ = int64_t{max_tp} + 1;
    reached_.resize(static_cast<size_t>(stride_) * kLanes);
    for (int b = 0; b < kLanes; ++b) {
      uint16_t* const row = &reached_[b * stride_];
      int64_t tp = 0;
      for (int32_t r = 0; r <= n_grid && tp < stride_; ++r) {
        const int64_t end = r < n_grid ? needed(grid[r], positive[b]) : stride_;
        for (; tp < std::min(end, stride_); ++tp) row[tp] = static_cast<uint16_t>(r);
      }
    }
  }

  int32_t reached(int lane, int32_t tp) const { return reached_[lane * stride_ + tp]; }

 private:
  std::vector<uint16_t> reached_;
  int64_t stride_ = 0;
};

// Walks a class backwards from its totals, so that the envelope of precision is known when a
// true positive is met and nothing has to be kept.
template <int kLanes>
class AveragePrecision {
  using Counts = CountsOf<kLanes>;
  using Reals = RealsOf<kLanes>;

 public:
  AveragePrecision(const ResampleInput& in, double* out)
      : in_(in), out_(out), lanes_(in.weights), curves_(in.n_thresholds) {}

  OPENSET_WIDE void run(int32_t klass, int32_t first_resample) {
    lanes_.load(first_resample);
    begin_ = in_.class_start[klass], end_ = in_.class_start[klass + 1];
    const int32_t* const last = in_.position + in_.n_candidates;
    first_candidate_ = std::lower_bound(in_.position, last, begin_) - in_.position;
    last_candidate_ = std::lower_bound(in_.position, last, end_) - in_.position;
    load_positives(klass);
    count_all();
    if (!in_.area) start_grid();
    walk_back();
    for (int t = 0; t < in_.n_thresholds; ++t) store(klass, t);
  }

 private:
  // One threshold: counts up to the current detection, and what was gathered behind it.
  struct Curve {
    Counts tp, matched;
    Counts reached;  // recalls of the grid that tp reaches
    Reals envelope, sum;
  };

  void load_positives(int32_t klass) {
    const int64_t* const row = in_.n_positive + int64_t{klass} * in_.weights.n_resamples;
    for (int b = 0; b < kLanes; ++b)
      positive_[b] = b < lanes_.width() ? static_cast<double>(row[lanes_.first() + b]) : 0.0;
  }

  bool is_counted(int64_t position) const { return !in_.counted || in_.counted[position]; }

  // Thresholds at which a candidate, matched to anything, is no false positive.
  uint32_t excused(int64_t candidate) const {
    if (!is_counted(in_.position[candidate])) return 0;
    return in_.matched[candidate] | in_.ignored[candidate];
  }

  void count_all() {
    std::memset(seen_, 0, sizeof seen_);
    for (Curve& curve : curves_) curve = Curve();
    add_counted<1>(begin_, end_);
    for (int64_t c = first_candidate_; c < last_candidate_; ++c) {
      const uint8_t* const weights = lanes_.row(in_.image[in_.position[c]]);
      const uint32_t hits = in_.matched[c], other = excused(c);
      for (int t = 0; t < in_.n_thresholds; ++t) {
        if (hits >> t & 1) add(curves_[t].tp, weights);
        if (other >> t & 1) add(curves_[t].matched, weights);
      }
    }
  }

  // Adds to seen_, or with Sign -1 takes from it, the counted detections of a range.
  template <int Sign>
  void add_counted(int64_t begin, int64_t end) {
    while (begin < end) {
      // As many weights of one byte as fit into 16 bits: twice as fast as adding to 32.
      const int64_t stop = std::min<int64_t>(end, begin + 257);
      uint16_t sum[kLanes] = {0};
      for (; begin < stop; ++begin) {
        if (!is_counted(begin)) continue;
        const uint8_t* const weights = lanes_.row(in_.image[begin]);
        for (int b = 0; b < kLanes; ++b) sum[b] = static_cast<uint16_t>(sum[b] + weights[b]);
      }
      for (int b = 0; b < kLanes; ++b) seen_[b] += Sign * sum[b];
    }
  }

  void start_grid() {
    int32_t max_tp = 0;
    for (const Curve& curve : curves_)
      max_tp = std::max(max_tp, *std::max_element(curve.tp, curve.tp + kLanes));
    table_.fill(in_.recall_grid, in_.n_grid, positive_, max_tp);
    for (Curve& curve : curves_)
      for (int b = 0; b < kLanes; ++b) curve.reached[b] = table_.reached(b, curve.tp[b]);
  }

  void walk_back() {
    int64_t behind = end_;
    for (int64_t c = last_candidate_ - 1; c >= first_candidate_; --c) {
      const int64_t position = in_.position[c];
      add_counted<-1>(position + 1, behind);
      behind = position + 1;
      const uint8_t* const weights = lanes_.row(in_.image[position]);
      const uint32_t hits = in_.matched[c], other = excused(c);
      for (int t = 0; t < in_.n_thresholds; ++t) {
        if (hits >> t & 1) take_back(curves_[t], weights);
        if (other >> t & 1) subtract(curves_[t].matched, weights);
      }
    }
  }

  void take_back(Curve& curve, const uint8_t* weights) const {
    constexpr double eps = std::numeric_limits<double>::epsilon();
    for (int b = 0; b < kLanes; ++b) {
      const double tp = curve.tp[b], fp = seen_[b] - curve.matched[b];
      curve.envelope[b] = std::max(curve.envelope[b], tp / (fp + tp + eps));
    }
    subtract(curve.tp, weights);
    if (in_.area) {
      for (int b = 0; b < kLanes; ++b) curve.sum[b] += curve.envelope[b] * weights[b];
      return;
    }
    // The recalls that are not reached without this detection read the envelope here.
    Counts passed;
    for (int b = 0; b < kLanes; ++b) {
      const int32_t left = table_.reached(b, curve.tp[b]);
      passed[b] = curve.reached[b] - left;
      curve.reached[b] = left;
    }
    for (int b = 0; b < kLanes; ++b) curve.sum[b] += curve.envelope[b] * passed[b];
  }

  void store(int32_t klass, int t) const {
    const Curve& curve = curves_[t];
    double* const row =
        out_ + (int64_t{klass} * in_.n_thresholds + t) * in_.weights.n_resamples + lanes_.first();
    for (int b = 0; b < lanes_.width(); ++b) {
      if (positive_[b] <= 0)
        row[b] = std::numeric_limits<double>::quiet_NaN();
      else if (in_.area)
        row[b] = curve.sum[b] / positive_[b];
      else  // what is left is recall 0, which needs no true positive
        row[b] = (curve.sum[b] + curve.envelope[b] * curve.reached[b]) / in_.n_grid;
    }
  }

  const ResampleInput& in_;
  double* const out_;
  PackedWeights<kLanes> lanes_;
  RecallTable<kLanes> table_;
  std::vector<Curve> curves_;
  Reals positive_;
  Counts seen_;
  int64_t begin_ = 0, end_ = 0, first_candidate_ = 0, last_candidate_ = 0;
};

// Runs Walker<lanes>(args...).run(klass, first_resample) for all classes and blocks of resamples.
template <template <int> class Walker, int kLanes, class... Args>
void walk_blocks(int32_t n_classes, int32_t n_resamples, int threads, const Args&... args) {
  const int64_t blocks = (n_resamples + kLanes - 1) / kLanes;
  parallel(threads, n_classes * blocks, [&](TaskQueue& tasks) {
    Walker<kLanes> walker(args...);
    for (int64_t t; tasks.take(t);)
      walker.run(static_cast<int32_t>(t % n_classes), static_cast<int32_t>(t / n_classes * kLanes));
  });
}

template <template <int> class Walker, class... Args>
void walk_all(int32_t n_classes, int32_t n_resamples, int threads, const Args&... args) {
  if (n_resamples <= kFew)
    walk_blocks<Walker, kFew>(n_classes, n_resamples, threads, args...);
  else
    walk_blocks<Walker, kMany>(n_classes, n_resamples, threads, args...);
}

}  // namespace resampling

// Fills out[n_classes, n_thresholds, n_resamples].
inline void resampled_average_precision(const ResampleInput& in, double* out) {
  resampling::walk_all<resampling::AveragePrecision>(in.n_classes, in.weights.n_resamples,
                                                     in.threads, in, out);
}

}  // namespace openset
