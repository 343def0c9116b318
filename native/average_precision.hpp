// Average precision of many resamples of the images at once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "resample.hpp"
#include "wide.hpp"

namespace openset {

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

  bool counts(int64_t at) const { return !counted || counted[at]; }

  // Thresholds at which a candidate that counts is neither right nor wrong.
  uint32_t excused(int64_t candidate) const {
    return counts(position[candidate]) ? ignored[candidate] & ~matched[candidate] : 0;
  }

  // Thresholds at which a candidate is right although it does not count.
  uint32_t added(int64_t candidate) const {
    return counts(position[candidate]) ? 0 : matched[candidate];
  }
};

namespace resampling {

// Where a class is among the detections, and among the candidates.
struct ClassRange {
  ClassRange() = default;
  ClassRange(const ResampleInput& in, int32_t klass)
      : begin(in.class_start[klass]), end(in.class_start[klass + 1]) {
    const int32_t* const last = in.position + in.n_candidates;
    first_candidate = std::lower_bound(in.position, last, begin) - in.position;
    last_candidate = std::lower_bound(in.position, last, end) - in.position;
  }

  int64_t begin = 0, end = 0, first_candidate = 0, last_candidate = 0;
};

inline double precision(double tp, double all) {
  return tp / (all + std::numeric_limits<double>::epsilon());
}

// The result, from what was gathered down to the first detection.
inline double average(const ResampleInput& in, double sum, double envelope, double positive) {
  if (positive <= 0) return std::numeric_limits<double>::quiet_NaN();
  if (in.area) return sum / positive;
  // What is left are recalls of 0, which need no true positive.
  const auto rest = std::upper_bound(in.recall_grid, in.recall_grid + in.n_grid, 0.0);
  return (sum + envelope * static_cast<double>(rest - in.recall_grid)) / in.n_grid;
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

  int64_t stride() const { return stride_; }
  size_t size() const { return reached_.size(); }

  // Recalls that are not reached with so many true positives fewer.
  int32_t passed(int lane, int32_t tp, int32_t fewer) const {
    const uint16_t* const at = &reached_[lane * stride_ + tp];
    return at[0] - at[-fewer];
  }

  // The same of all lanes and numbers of true positives.
  template <class Number>
  void passed(int32_t fewer, Number* out) const {
    const uint16_t* const reached = reached_.data();
    const int64_t n = static_cast<int64_t>(reached_.size());
    for (int64_t at = fewer; at < n; ++at)
      out[at] = static_cast<Number>(reached[at] - reached[at - fewer]);
  }

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
  static constexpr int kResamples = kLanes;

  AveragePrecision(const ResampleInput& in, double* out)
      : in_(in), out_(out), lanes_(in.weights), curves_(in.n_thresholds) {}

  OPENSET_WIDE void run(int32_t klass, int32_t first_resample) {
    lanes_.load(first_resample);
    class_ = ClassRange(in_, klass);
    load_positives(klass);
    count_all();
    if (!in_.area) start_grid();
    walk_back();
    for (int t = 0; t < in_.n_thresholds; ++t) store(klass, t);
  }

 private:
  // One threshold: counts up to the current detection, and what was gathered behind it.
  struct Curve {
    Counts tp, excused;  // precision is tp of what was seen and is not excused
    Reals envelope, sum;
  };

  void load_positives(int32_t klass) {
    const int64_t* const row = in_.n_positive + int64_t{klass} * in_.weights.n_resamples;
    for (int b = 0; b < kLanes; ++b)
      positive_[b] = b < lanes_.width() ? static_cast<double>(row[lanes_.first() + b]) : 0.0;
  }

  void count_all() {
    std::memset(seen_, 0, sizeof seen_);
    for (Curve& curve : curves_) curve = Curve();
    count_seen(seen_, class_.begin, class_.end);
    for (int64_t c = class_.first_candidate; c < class_.last_candidate; ++c) {
      const uint8_t* const weights = lanes_.row(in_.image[in_.position[c]]);
      const uint32_t hits = in_.matched[c], excused = in_.excused(c), added = in_.added(c);
      for (int t = 0; t < in_.n_thresholds; ++t) {
        if (hits >> t & 1) add(curves_[t].tp, weights);
        if (excused >> t & 1) add(curves_[t].excused, weights);
        if (added >> t & 1) subtract(curves_[t].excused, weights);
      }
    }
  }

  void count_seen(Counts& counts, int64_t begin, int64_t end) const {
    lanes_.count(counts, in_.image, begin, end, [&](int64_t at) { return in_.counts(at); });
  }

  void start_grid() {
    int32_t max_tp = 0;
    for (const Curve& curve : curves_)
      max_tp = std::max(max_tp, *std::max_element(curve.tp, curve.tp + kLanes));
    table_.fill(in_.recall_grid, in_.n_grid, positive_, max_tp);
  }

  void walk_back() {
    int64_t behind = class_.end;
    for (int64_t c = class_.last_candidate - 1; c >= class_.first_candidate; --c) {
      const int64_t position = in_.position[c];
      Counts between = {0};
      count_seen(between, position + 1, behind);
      for (int b = 0; b < kLanes; ++b) seen_[b] -= between[b];
      behind = position + 1;
      const uint8_t* const weights = lanes_.row(in_.image[position]);
      const uint32_t hits = in_.matched[c], excused = in_.excused(c), added = in_.added(c);
      for (int t = 0; t < in_.n_thresholds; ++t) {
        if (hits >> t & 1) take_back(curves_[t], weights);
        if (excused >> t & 1) subtract(curves_[t].excused, weights);
        if (added >> t & 1) add(curves_[t].excused, weights);
      }
    }
  }

  void take_back(Curve& curve, const uint8_t* weights) const {
    for (int b = 0; b < kLanes; ++b)
      curve.envelope[b] =
          std::max(curve.envelope[b], precision(curve.tp[b], seen_[b] - curve.excused[b]));
    // The recalls that are not reached without this detection read the envelope here.
    Counts passed;
    for (int b = 0; b < kLanes; ++b)
      passed[b] = in_.area ? weights[b] : table_.passed(b, curve.tp[b], weights[b]);
    for (int b = 0; b < kLanes; ++b) curve.sum[b] += curve.envelope[b] * passed[b];
    subtract(curve.tp, weights);
  }

  void store(int32_t klass, int t) const {
    const Curve& curve = curves_[t];
    double* const row =
        out_ + (int64_t{klass} * in_.n_thresholds + t) * in_.weights.n_resamples + lanes_.first();
    for (int b = 0; b < lanes_.width(); ++b)
      row[b] = average(in_, curve.sum[b], curve.envelope[b], positive_[b]);
  }

  const ResampleInput& in_;
  double* const out_;
  PackedWeights<kLanes> lanes_;
  RecallTable<kLanes> table_;
  std::vector<Curve> curves_;
  Reals positive_;
  Counts seen_;
  ClassRange class_;
};

}  // namespace resampling
}  // namespace openset
