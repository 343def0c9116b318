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
  const double* recall;       // the level, by resample
  WeightTable weights;
  int32_t n_classes, n_flags, threads;
};

struct OperatingPointOutput {
  int32_t* counts;   // [n_classes, n_flags, n_resamples]
  uint8_t* reached;  // [n_classes, n_resamples]
};

namespace resampling {

// With copies of images following each other, hits come one by one, so the number of hits at the
// operating point follows from their total; the walk only has to find where it is met.
template <int kLanes>
class OperatingPoint {
  using Counts = CountsOf<kLanes>;

 public:
  static constexpr int kResamples = kLanes;

  OperatingPoint(const OperatingPointInput& in, const OperatingPointOutput& out)
      : in_(in), out_(out), lanes_(in.weights) {}

  OPENSET_WIDE void run(int32_t klass, int32_t first_resample) {
    lanes_.load(first_resample);
    begin_ = in_.class_start[klass], end_ = in_.class_start[klass + 1];
    std::memset(counts_, 0, sizeof counts_);
    std::memset(kept_, 0, sizeof kept_);
    std::memset(reached_, 0, sizeof reached_);
    std::memset(total_, 0, sizeof total_);
    lanes_.count(total_, in_.image, begin_, end_, [&](int64_t p) { return in_.flags[p] & 1; });
    if (!in_.score) meet_first();
    set_targets(in_.n_positive + int64_t{klass} * in_.weights.n_resamples);
    walk();
    store(klass);
  }

 private:
  static constexpr int32_t kNever = std::numeric_limits<int32_t>::max();

  // Nearest: a resample stands at its first detection, one copy of it, unless hits lead further.
  void meet_first() {
    int waiting = lanes_.width();
    for (int64_t p = begin_; p < end_ && waiting > 0; ++p) {
      const uint8_t* const weights = lanes_.row(in_.image[p]);
      for (int b = 0; b < lanes_.width(); ++b) {
        if (reached_[b] || weights[b] == 0) continue;
        reached_[b] = 1;
        --waiting;
        for (int f = 0; f < in_.n_flags; ++f) kept_[f][b] = in_.flags[p] >> f & 1;
      }
    }
  }

  void set_targets(const int64_t* n_positive) {
    waiting_ = 0;
    for (int b = 0; b < kLanes; ++b) {
      target_[b] = kNever;
      if (b >= lanes_.width()) continue;
      const double positive = static_cast<double>(n_positive[lanes_.first() + b]);
      const double recall = in_.recall[lanes_.first() + b];
      if (positive > 0)
        target_[b] = in_.score ? least(recall, positive, b) : nearest(recall, positive, b);
      waiting_ += target_[b] != kNever;
    }
  }

  int32_t least(double recall, double positive, int b) const {
    const int64_t hits = std::max<int64_t>(needed(recall, positive), 1);
    return hits <= total_[b] ? static_cast<int32_t>(hits) : kNever;
  }

  // Rounding of the quotients decides between neighbours, and the fewer hits on ties, as when a
  // list of recalls is searched for its first minimum.
  int32_t nearest(double recall, double positive, int b) const {
    const int32_t fewest = kept_[0][b];
    const double guess = recall * positive;
    int32_t best = -1;
    double gap = std::numeric_limits<double>::infinity();
    for (double offset = -1; offset <= 2; ++offset) {
      const double wanted = std::max(std::floor(guess + offset), double(fewest));
      const int32_t hits = std::min(static_cast<int32_t>(wanted), total_[b]);
      const double here = std::fabs(hits / positive - recall);
      if (here < gap) gap = here, best = hits;
    }
    return best > fewest ? best : kNever;  // never: it stays at its first detection
  }

  // Only hits can meet a target: they are counted one by one, and what else is asked for in long
  // runs, up to where a target is met.
  void walk() {
    counted_ = begin_, present_ = 0;
    for (int64_t p = begin_; p < end_; ++p) present_ |= in_.flags[p];
    for (int64_t p = next_hit(begin_); p < end_ && waiting_ > 0; p = next_hit(p + 1)) {
      int met = meet(p);
      if (met && in_.score) {
        for (; p + 1 < end_ && in_.score[p + 1] == in_.score[p]; ++p)  // to the last of equals
          if (in_.flags[p + 1] & 1) met += meet(p + 1);
        count_others(p + 1);
        keep_counts();
      }
      waiting_ -= met;
    }
  }

  int64_t next_hit(int64_t p) const {
    while (p < end_ && !(in_.flags[p] & 1)) ++p;
    return p;
  }

  // Counts a hit; returns how many resamples meet their target with it.
  int meet(int64_t p) {
    const uint8_t* const weights = lanes_.row(in_.image[p]);
    const int met = count_met(weights);
    if (met && !in_.score) {
      count_others(p);
      keep_copies(p, weights);
    }
    add(counts_[0], weights);
    return met;
  }

  void count_others(int64_t end) {
    for (int f = 1; f < in_.n_flags; ++f)
      if (present_ >> f & 1)
        lanes_.count_half(counts_[f], in_.image, counted_, end,
                          [&](int64_t at) { return in_.flags[at] >> f & 1; });
    counted_ = end;
  }

  // How many resamples meet their target within the copies of this hit.
  int count_met(const uint8_t* weights) const {
    int32_t met = 0;
    for (int b = 0; b < kLanes; ++b)
      met += (counts_[0][b] < target_[b]) & (counts_[0][b] + weights[b] >= target_[b]);
    return met;
  }

  void keep_copies(int64_t p, const uint8_t* weights) {
    for (int b = 0; b < kLanes; ++b) {
      if (counts_[0][b] >= target_[b] || counts_[0][b] + weights[b] < target_[b]) continue;
      const int32_t copies = target_[b] - counts_[0][b];
      for (int f = 0; f < in_.n_flags; ++f)
        kept_[f][b] = counts_[f][b] + (in_.flags[p] >> f & 1) * copies;
    }
  }

  void keep_counts() {
    for (int b = 0; b < kLanes; ++b) {
      if (reached_[b] || counts_[0][b] < target_[b]) continue;
      reached_[b] = 1;
      for (int f = 0; f < in_.n_flags; ++f) kept_[f][b] = counts_[f][b];
    }
  }

  void store(int32_t klass) const {
    const int64_t n = in_.weights.n_resamples;
    std::copy_n(reached_, lanes_.width(), out_.reached + klass * n + lanes_.first());
    for (int f = 0; f < in_.n_flags; ++f)
      std::copy_n(kept_[f], lanes_.width(),
                  out_.counts + (int64_t{klass} * in_.n_flags + f) * n + lanes_.first());
  }

  const OperatingPointInput& in_;
  const OperatingPointOutput& out_;
  PackedWeights<kLanes> lanes_;
  int64_t begin_ = 0, end_ = 0;
  int64_t counted_ = 0;  // up to where counts_ are, but for hits
  uint32_t present_ = 0;  // flags that the class has at all
  int waiting_ = 0;  // resamples that have not met their target
  Counts counts_[8], kept_[8], total_, target_;
  uint8_t reached_[kLanes];
};

}  // namespace resampling

inline void operating_points(const OperatingPointInput& in, const OperatingPointOutput& out) {
  resampling::walk_all<resampling::OperatingPoint>(in.n_classes, in.weights.n_resamples,
                                                   in.threads, in, out);
}

}  // namespace openset
