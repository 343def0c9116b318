// Counts of detections at the score where each class reaches a recall, for many resamples at once.
//
// Two rules are in use. "Nearest": published code stands at the first detection whose recall comes
// nearest to the level. "Threshold": the score at which recall first reaches the level, with every
// detection of that score or above.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>

#include "resample.hpp"
#include "wide.hpp"

namespace openset {

struct OperatingPointInput {
  // Detections in class order.
  const int64_t* class_start;
  const int32_t* image;
  const uint8_t* flags;       // bit 0: a hit, which recall counts; others: what else to count
  const double* score;        // null: the nearest recall; else the threshold that reaches it
  const int64_t* n_positive;  // [n_classes, n_resamples]
  WeightTable weights;
  double recall;
  int32_t n_classes, n_flags, threads;
};

struct OperatingPointOutput {
  int32_t* counts;   // [n_classes, n_flags, n_resamples]
  uint8_t* reached;  // [n_classes, n_resamples]
};

namespace resampling {

class OperatingPoint {
 public:
  OperatingPoint(const OperatingPointInput& in, const OperatingPointOutput& out)
      : in_(in), out_(out) {}

  OPENSET_WIDE void run(int32_t klass, int32_t first_resample) {
    LaneBlock lanes(in_.weights, first_resample);
    const int64_t* const row = in_.n_positive + int64_t{klass} * in_.weights.n_resamples;
    for (int b = 0; b < kLanes; ++b) {
      positive_[b] = b < lanes.width() ? static_cast<double>(row[lanes.first() + b]) : 0.0;
      gap_[b] = std::numeric_limits<double>::infinity();
    }
    std::memset(counts_, 0, sizeof counts_);
    std::memset(kept_, 0, sizeof kept_);
    std::memset(reached_, 0, sizeof reached_);
    if (in_.score)
      find_threshold(klass, lanes);
    else
      find_nearest(klass, lanes);
    store(klass, lanes);
  }

 private:
  void find_threshold(int32_t klass, LaneBlock& lanes) {
    const int64_t end = in_.class_start[klass + 1];
    bool hit = false;
    for (int64_t p = in_.class_start[klass]; p < end; ++p) {
      count(p, lanes.row(in_.image[p]));
      hit |= in_.flags[p] & 1;
      const bool last_of_equals = p + 1 == end || in_.score[p + 1] != in_.score[p];
      if (hit && last_of_equals) {
        keep_where_reached();
        hit = false;
      }
    }
  }

  void keep_where_reached() {
    int32_t open = 0;
    for (int b = 0; b < kLanes; ++b)
      open |= !reached_[b] && positive_[b] > 0 && counts_[0][b] / positive_[b] >= in_.recall;
    if (!open) return;
    for (int b = 0; b < kLanes; ++b) {
      if (reached_[b] || !(positive_[b] > 0 && counts_[0][b] / positive_[b] >= in_.recall)) continue;
      reached_[b] = 1;
      for (int f = 0; f < in_.n_flags; ++f) kept_[f][b] = counts_[f][b];
    }
  }

  // Recall only moves at hits, so the first detection and the hits are all there is to look at;
  // once every resample is past the level, the gap only grows.
  void find_nearest(int32_t klass, LaneBlock& lanes) {
    const int64_t end = in_.class_start[klass + 1];
    int waiting = lanes.width();  // resamples that have not met their first detection
    for (int64_t p = in_.class_start[klass]; p < end; ++p) {
      const uint8_t* const weights = lanes.row(in_.image[p]);
      if (waiting > 0) waiting -= meet_first(p, weights);
      if (in_.flags[p] & 1) come_nearer(p, weights);
      count(p, weights);
      if (waiting == 0 && (in_.flags[p] & 1) && all_past()) break;
    }
  }

  int meet_first(int64_t p, const uint8_t* weights) {
    int met = 0;
    for (int b = 0; b < kLanes; ++b) {
      if (reached_[b] || weights[b] == 0) continue;
      reached_[b] = 1;
      ++met;
      for (int f = 0; f < in_.n_flags; ++f) kept_[f][b] = in_.flags[p] >> f & 1;
      if (positive_[b] > 0) gap_[b] = std::fabs(kept_[0][b] / positive_[b] - in_.recall);
    }
    return met;
  }

  // An image drawn w times brings w copies of a hit, one after the other; the nearest recall may
  // lie between them.
  void come_nearer(int64_t p, const uint8_t* weights) {
    Counts copies;
    bool nearer[kLanes];
    for (int b = 0; b < kLanes; ++b) {
      const double short_of = in_.recall * positive_[b] - counts_[0][b];
      const double wanted = std::min(std::max(std::ceil(short_of - 0.5), 1.0), double(weights[b]));
      const double gap = std::fabs((counts_[0][b] + wanted) / positive_[b] - in_.recall);
      nearer[b] = weights[b] > 0 && gap < gap_[b];  // false where there is no object
      copies[b] = static_cast<int32_t>(wanted);
      gap_[b] = nearer[b] ? gap : gap_[b];
    }
    for (int f = 0; f < in_.n_flags; ++f) {
      const int32_t own = in_.flags[p] >> f & 1;
      for (int b = 0; b < kLanes; ++b)
        kept_[f][b] = nearer[b] ? counts_[f][b] + own * copies[b] : kept_[f][b];
    }
  }

  bool all_past() const {
    int past = 1;
    for (int b = 0; b < kLanes; ++b) past &= counts_[0][b] >= in_.recall * positive_[b];
    return past;
  }

  void count(int64_t p, const uint8_t* weights) {
    for (int f = 0; f < in_.n_flags; ++f)
      if (in_.flags[p] >> f & 1) add(counts_[f], weights);
  }

  void store(int32_t klass, const LaneBlock& lanes) const {
    const int64_t n = in_.weights.n_resamples;
    std::copy_n(reached_, lanes.width(), out_.reached + klass * n + lanes.first());
    for (int f = 0; f < in_.n_flags; ++f)
      std::copy_n(kept_[f], lanes.width(),
                  out_.counts + (int64_t{klass} * in_.n_flags + f) * n + lanes.first());
  }

  const OperatingPointInput& in_;
  const OperatingPointOutput& out_;
  Reals positive_, gap_;
  Counts counts_[8], kept_[8];
  uint8_t reached_[kLanes];
};

}  // namespace resampling

inline void operating_points(const OperatingPointInput& in, const OperatingPointOutput& out) {
  resampling::for_each_block(in.n_classes, in.weights.n_resamples, in.threads, [&] {
    return [walker = resampling::OperatingPoint(in, out)](int32_t klass, int32_t first) mutable {
      walker.run(klass, first);
    };
  });
}

}  // namespace openset
