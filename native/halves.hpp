// Average precision of half-samples: every resample beside its other half.
//
// Two resamples may share the images between them: each is drawn twice by one of the two, or once
// by both. What the first has not counted the second has, so that one counter serves both, and a
// true positive moves the curve of one of them only: a lane holds such a pair. The numbers are
// those of `AveragePrecision`, bit for bit, in half of its time.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <limits>
#include <vector>

#include "average_precision.hpp"
#include "wide.hpp"

namespace openset {
namespace resampling {

constexpr int kShared = 2;    // how often two halves draw an image between them
constexpr int kGrid = 255;    // recalls of which a byte holds a number

inline bool are_halves(const WeightTable& table) {
  if (table.n_resamples % 2) return false;
  for (int64_t i = 0; i < table.n_images; ++i) {
    const uint8_t* const row = table.data + i * table.row_stride;
    int others = 0;
    for (int32_t b = 0; b < table.n_resamples; b += 2) others += row[b] + row[b + 1] != kShared;
    if (others) return false;
  }
  return true;
}

template <int kLanes>
class HalvesPrecision {
  using Counts = CountsOf<kLanes>;
  using Reals = RealsOf<kLanes>;

 public:
  static constexpr int kResamples = 2 * kLanes;

  HalvesPrecision(const ResampleInput& in, double* out)
      : in_(in), out_(out), lanes_(in.weights, 2), curves_(in.n_thresholds) {}

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
  // One threshold: counts of the first half and of both, and what was gathered for each.
  struct Curve {
    Counts tp, excused;
    int32_t tp_of_both, excused_of_both;
    Reals envelope[2], sum[2];

    void count_excused(const uint8_t* weights) {
      add(excused, weights);
      excused_of_both += kShared;
    }

    void take_excused(const uint8_t* weights) {
      subtract(excused, weights);
      excused_of_both -= kShared;
    }
  };

  void load_positives(int32_t klass) {
    const int64_t* const row =
        in_.n_positive + int64_t{klass} * in_.weights.n_resamples + lanes_.first();
    for (int b = 0; b < kLanes; ++b)
      for (int half = 0; half < 2; ++half)
        positive_[half * kLanes + b] = b < lanes_.width() ? static_cast<double>(row[2 * b + half]) : 0.0;
  }

  void count_all() {
    std::memset(seen_, 0, sizeof seen_);
    for (Curve& curve : curves_) curve = Curve();
    seen_of_both_ = kShared * count_seen(seen_, class_.begin, class_.end);
    for (int64_t c = class_.first_candidate; c < class_.last_candidate; ++c) {
      const uint8_t* const weights = lanes_.row(in_.image[in_.position[c]]);
      const uint32_t hits = in_.matched[c], excused = in_.excused(c), added = in_.added(c);
      for (int t = 0; t < in_.n_thresholds; ++t) {
        if (hits >> t & 1) add(curves_[t].tp, weights), curves_[t].tp_of_both += kShared;
        if (excused >> t & 1) curves_[t].count_excused(weights);
        if (added >> t & 1) curves_[t].take_excused(weights);
      }
    }
  }

  int32_t count_seen(Counts& counts, int64_t begin, int64_t end) const {
    return lanes_.count(counts, in_.image, begin, end, [&](int64_t at) { return in_.counts(at); });
  }

  void start_grid() {
    int32_t max_tp = 0;
    for (const Curve& curve : curves_)
      for (int b = 0; b < kLanes; ++b)
        max_tp = std::max(max_tp, std::max(curve.tp[b], curve.tp_of_both - curve.tp[b]));
    table_.fill(in_.recall_grid, in_.n_grid, positive_, max_tp);
    passed_.resize(table_.size());
    table_.passed(kShared, passed_.data());
  }

  void walk_back() {
    int64_t behind = class_.end;
    for (int64_t c = class_.last_candidate - 1; c >= class_.first_candidate; --c) {
      const int64_t position = in_.position[c];
      Counts between = {0};
      seen_of_both_ -= kShared * count_seen(between, position + 1, behind);
      for (int b = 0; b < kLanes; ++b) seen_[b] -= between[b];
      behind = position + 1;
      const uint8_t* const weights = lanes_.row(in_.image[position]);
      const bool once = std::find(weights, weights + lanes_.width(), 1) != weights + lanes_.width();
      const Drawn drawn(weights, table_.stride());
      const uint32_t hits = in_.matched[c], excused = in_.excused(c), added = in_.added(c);
      for (int t = 0; t < in_.n_thresholds; ++t) {
        if (hits >> t & 1 && once) take_back_from_both(curves_[t], weights);
        if (hits >> t & 1 && !once) take_back(curves_[t], weights, drawn);
        if (excused >> t & 1) curves_[t].take_excused(weights);
        if (added >> t & 1) curves_[t].count_excused(weights);
      }
    }
  }

  // Which half drew a detection's copies, if one of them drew them all.
  struct Drawn {
    Drawn(const uint8_t* weights, int64_t stride) {
      for (int b = 0; b < kLanes; ++b) {
        second[b] = -(weights[b] == 0);
        of_first[b] = weights[b] != 0;
        of_second[b] = weights[b] == 0;
      }
      for (int b = 0; b < kLanes; ++b) row[b] = b * stride + (second[b] & kLanes * stride);
    }

    Counts second;  // all bits or none
    Reals of_first, of_second;
    int64_t row[kLanes];  // of the tables
  };

  // What the half counted that drew the copies. No branches here and below: the compiler would not
  // handle several lanes at once.
  static int32_t counted(int32_t first, int32_t both, int32_t second) {
    return (first ^ second) - second + (both & second);
  }

  void take_back(Curve& curve, const uint8_t* weights, const Drawn& drawn) const {
    const int32_t tp_of_both = curve.tp_of_both, all_of_both = seen_of_both_ - curve.excused_of_both;
    Counts tp, passed;
    for (int b = 0; b < kLanes; ++b) {
      tp[b] = counted(curve.tp[b], tp_of_both, drawn.second[b]);
      const int32_t all = counted(seen_[b] - curve.excused[b], all_of_both, drawn.second[b]);
      const double here = precision(tp[b], all);
      curve.envelope[0][b] = std::max(curve.envelope[0][b], here * drawn.of_first[b]);
      curve.envelope[1][b] = std::max(curve.envelope[1][b], here * drawn.of_second[b]);
    }
    for (int b = 0; b < kLanes; ++b)
      passed[b] = in_.area ? kShared : passed_[drawn.row[b] + tp[b]];
    for (int b = 0; b < kLanes; ++b) {
      curve.sum[0][b] += curve.envelope[0][b] * (passed[b] & ~drawn.second[b]);
      curve.sum[1][b] += curve.envelope[1][b] * (passed[b] & drawn.second[b]);
    }
    subtract(curve.tp, weights);
    curve.tp_of_both -= kShared;
  }

  // Some pairs drew one copy each.
  void take_back_from_both(Curve& curve, const uint8_t* weights) const {
    const int32_t all_of_both = seen_of_both_ - curve.excused_of_both;
    for (int half = 0; half < 2; ++half)
      for (int b = 0; b < lanes_.width(); ++b) {
        const int32_t copies = half ? kShared - weights[b] : weights[b];
        const int32_t all = seen_[b] - curve.excused[b];
        const int32_t tp = half ? curve.tp_of_both - curve.tp[b] : curve.tp[b];
        double& envelope = curve.envelope[half][b];
        envelope = std::max(envelope, precision(tp, half ? all_of_both - all : all));
        const int32_t passed = in_.area ? copies : table_.passed(half * kLanes + b, tp, copies);
        curve.sum[half][b] += envelope * passed;
      }
    subtract(curve.tp, weights);
    curve.tp_of_both -= kShared;
  }

  void store(int32_t klass, int t) const {
    double* const row =
        out_ + (int64_t{klass} * in_.n_thresholds + t) * in_.weights.n_resamples + lanes_.first();
    for (int b = 0; b < lanes_.width(); ++b)
      for (int half = 0; half < 2; ++half)
        row[2 * b + half] = average(in_, curves_[t].sum[half][b], curves_[t].envelope[half][b],
                                    positive_[half * kLanes + b]);
  }

  const ResampleInput& in_;
  double* const out_;
  PackedWeights<kLanes> lanes_;
  RecallTable<2 * kLanes> table_;  // of first halves, then of second ones
  std::vector<uint8_t> passed_;    // the same: recalls not reached with one detection less
  std::vector<Curve> curves_;
  RealsOf<2 * kLanes> positive_;
  Counts seen_;
  int32_t seen_of_both_ = 0;
  ClassRange class_;
};

}  // namespace resampling

// Fills out[n_classes, n_thresholds, n_resamples].
inline void resampled_average_precision(const ResampleInput& in, double* out) {
  using namespace resampling;
  const int32_t n_resamples = in.weights.n_resamples;
  if (n_resamples > kFew && in.n_grid <= kGrid && are_halves(in.weights))
    walk_blocks<HalvesPrecision<kMany>>(in.n_classes, n_resamples, in.threads, in, out);
  else
    walk_all<AveragePrecision>(in.n_classes, n_resamples, in.threads, in, out);
}

}  // namespace openset
