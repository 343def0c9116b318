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

  void walk() {
    Pending pending(*this);
    int met = 0;  // resamples that wait for the last of equal scores
    for (int64_t p = begin_; p < end_ && waiting_ > 0; ++p) {
      if (in_.flags[p]) {
        const uint8_t* const weights = lanes_.row(in_.image[p]);
        const int now = in_.flags[p] & 1 ? count_met(weights) : 0;
        if (now && !in_.score) {
          pending.count();
          keep_copies(p, weights);
        }
        if (in_.flags[p] & 1) add(counts_[0], weights);
        pending.take(in_.flags[p] >> 1, weights);
        met += now;
      }
      const bool last_of_equals = p + 1 == end_ || !in_.score || in_.score[p + 1] != in_.score[p];
      if (met && last_of_equals) {
        pending.count();
        if (in_.score) keep_counts();
        waiting_ -= met;
        met = 0;
      }
    }
  }

  // What is not a hit, and so not asked for at every step: added up as bytes, and counted when
  // asked for, or before a byte is full.
  class Pending {
   public:
    explicit Pending(OperatingPoint& walk) : walk_(walk) {}

    void take(uint32_t bits, const uint8_t* weights) {
      for (int f = 1; bits; ++f, bits >>= 1)
        if (bits & 1) sums_[f].add(weights);
      if (++taken_ == walk_.lanes_.span()) count();
    }

    void count() {
      for (int f = 1; f < walk_.in_.n_flags; ++f) {
        uint8_t weights[kLanes];
        sums_[f].copy_to(weights);
        add(walk_.counts_[f], weights);
        sums_[f] = Bytes<kLanes>();
      }
      taken_ = 0;
    }

   private:
    OperatingPoint& walk_;
    Bytes<kLanes> sums_[8];
    int32_t taken_ = 0;
  };

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
