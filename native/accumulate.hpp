// Precision and recall of every class, threshold and size range, as pycocotools accumulates them.
#pragma once
#include <algorithm>
#include <cstdint>
#include <limits>
#include <vector>

#include "parallel.hpp"

namespace openset {

struct AccumulateInput {
  // Detections in class order.
  const double *score, *area;
  const int32_t* rank;
  const int64_t* class_start;
  // Candidates by ascending position; rows of n_ranges masks.
  const int32_t* position;
  const uint16_t *matched, *ignored;
  const int64_t* n_positive;  // [n_classes, n_ranges]
  // Rules.
  const double *size_ranges, *recall_grid;
  const int32_t* max_detections;  // ascending
  int64_t n_candidates;
  int32_t n_classes, n_thresholds, n_ranges, n_grid, n_limits, threads;
};

struct AccumulateOutput {
  double *precision, *scores;  // [threshold, grid, class, range]
  double* recall;              // [threshold, class, range, limit]
};

namespace accumulation {

constexpr double kEps = std::numeric_limits<double>::epsilon();  // np.spacing(1)

// One true positive: the precision when it is counted, and its score.
struct Peak {
  double precision, score;
};

// Precision can only peak at a true positive, so the envelope needs those alone. The false
// positives before one are the detections in range so far less the matched ones among them.
class Accumulator {
 public:
  Accumulator(const AccumulateInput& in, const AccumulateOutput& out)
      : in_(in), out_(out), needed_(in.n_grid), peaks_(in.n_thresholds),
        found_(static_cast<size_t>(in.n_thresholds) * in.n_limits) {}

  void run(int32_t klass, int range) {
    klass_ = klass, range_ = range;
    const int32_t* const end = in_.position + in_.n_candidates;
    first_ = std::lower_bound(in_.position, end, in_.class_start[klass]) - in_.position;
    last_ = std::lower_bound(in_.position + first_, end, in_.class_start[klass + 1]) - in_.position;
    n_positive_ = in_.n_positive[int64_t{klass} * in_.n_ranges + range];
    if (n_positive_ > 0) {
      find_needed();
      walk();
    }
    for (int t = 0; t < in_.n_thresholds; ++t) {
      write_recall(t);
      write_grid(t);
    }
  }

 private:
  // needed_[r]: the fewest true positives whose recall reaches recall_grid[r].
  void find_needed() {
    int64_t count = 0;
    for (int r = 0; r < in_.n_grid; ++r) {
      const double target = in_.recall_grid[r];
      while (static_cast<double>(count) / static_cast<double>(n_positive_) < target) ++count;
      needed_[r] = count;
    }
  }

  bool in_range(int64_t position) const {
    const double area = in_.area[position];
    return area >= in_.size_ranges[2 * range_] && area <= in_.size_ranges[2 * range_ + 1];
  }

  void walk() {
    for (auto& peaks : peaks_) peaks.clear();
    std::fill(found_.begin(), found_.end(), 0);
    std::vector<int64_t> matched(in_.n_thresholds, 0);
    const int32_t limit = in_.max_detections[in_.n_limits - 1];
    int64_t position = in_.class_start[klass_], seen = 0;
    for (int64_t c = first_; c < last_; ++c) {
      for (; position <= in_.position[c]; ++position)
        seen += (in_.rank[position] < limit) & in_range(position);
      count_candidate(c, seen, matched);
    }
  }

  void count_candidate(int64_t c, int64_t seen, std::vector<int64_t>& matched) {
    const int64_t position = in_.position[c], cell = c * in_.n_ranges + range_;
    const uint32_t hits = in_.matched[cell];
    const uint32_t any = in_range(position) ? hits | in_.ignored[cell] : 0;
    if (!(hits | any)) return;
    for (int t = 0; t < in_.n_thresholds; ++t) {
      matched[t] += any >> t & 1;
      if (!(hits >> t & 1)) continue;
      const auto tp = static_cast<double>(peaks_[t].size() + 1);
      const auto fp = static_cast<double>(seen - matched[t]);
      peaks_[t].push_back({tp / (fp + tp + kEps), in_.score[position]});
      for (int m = 0; m < in_.n_limits; ++m)
        found_[t * in_.n_limits + m] += in_.rank[position] < in_.max_detections[m];
    }
  }

  void write_recall(int t) {
    double* const row = out_.recall + ((int64_t{t} * in_.n_classes + klass_) * in_.n_ranges +
                                       range_) * in_.n_limits;
    for (int m = 0; m < in_.n_limits; ++m)
      row[m] = n_positive_ > 0 ? static_cast<double>(found_[t * in_.n_limits + m]) /
                                     static_cast<double>(n_positive_)
                               : std::numeric_limits<double>::quiet_NaN();
  }

  void write_grid(int t) {
    if (n_positive_ > 0) make_envelope(peaks_[t]);
    for (int r = 0; r < in_.n_grid; ++r) {
      const Peak point = n_positive_ > 0 ? grid_point(peaks_[t], needed_[r]) : undefined();
      const int64_t at =
          ((int64_t{t} * in_.n_grid + r) * in_.n_classes + klass_) * in_.n_ranges + range_;
      out_.precision[at] = point.precision;
      out_.scores[at] = point.score;
    }
  }

  static Peak undefined() {
    const double nan = std::numeric_limits<double>::quiet_NaN();
    return {nan, nan};
  }

  static void make_envelope(std::vector<Peak>& peaks) {
    for (size_t i = peaks.size(); i-- > 1;)
      peaks[i - 1].precision = std::max(peaks[i - 1].precision, peaks[i].precision);
  }

  // Recall 0 is reached by the first detection, whatever it is; others at a true positive.
  Peak grid_point(const std::vector<Peak>& peaks, int64_t needed) const {
    const auto reached = static_cast<int64_t>(peaks.size());
    if (needed > reached) return {0, 0};
    if (needed > 0) return peaks[needed - 1];
    const int64_t start = in_.class_start[klass_];
    const bool any = in_.class_start[klass_ + 1] > start;
    return {reached ? peaks[0].precision : 0, any ? in_.score[start] : 0};
  }

  const AccumulateInput& in_;
  const AccumulateOutput& out_;
  std::vector<int64_t> needed_;
  std::vector<std::vector<Peak>> peaks_;  // per threshold
  std::vector<int64_t> found_;            // true positives by threshold and limit
  int32_t klass_ = 0;
  int range_ = 0;
  int64_t first_ = 0, last_ = 0, n_positive_ = 0;
};

}  // namespace accumulation

inline void accumulate(const AccumulateInput& in, const AccumulateOutput& out) {
  // One range at a time: a single class may hold most of the detections.
  parallel(in.threads, int64_t{in.n_classes} * in.n_ranges, [&](TaskQueue& tasks) {
    accumulation::Accumulator accumulator(in, out);
    for (int64_t t; tasks.take(t);)
      accumulator.run(static_cast<int32_t>(t / in.n_ranges), static_cast<int>(t % in.n_ranges));
  });
}

}  // namespace openset
