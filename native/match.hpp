// Best overlaps of every detection, and greedy COCO matching at all thresholds at once.
#pragma once
#include <algorithm>
#include <cstdint>
#include <vector>

#include "parallel.hpp"
#include "wide.hpp"

namespace openset {

struct MatchInput {
  // Detections in input order, and the class order over them.
  const int32_t *image, *klass, *order;
  const double* rows;                    // [n_detections, 4]: x, y, width, height; or null and
  const void *x1, *y1, *x2, *y2, *area;  // double, or float if is_float32
  // Objects.
  const int32_t *object_image, *object_klass;
  const void *object_x1, *object_y1, *object_x2, *object_y2, *object_area;
  const double* object_size;
  const uint8_t *object_ignore, *object_region;
  // Rules.
  const double *thresholds, *size_ranges;
  const uint8_t* similar;  // [n_classes, n_classes] or null
  double offset;
  int64_t n_detections, n_objects;
  int32_t n_images, n_classes, n_thresholds, n_ranges;
  int32_t unknown_class, max_detections;
  int32_t prefer_later, greedy, is_float32, threads;
};

// One value per detection, in class order. similar is null if not wanted.
struct MatchOutput {
  int32_t* rank;
  double *area, *iou_same, *iou_known, *iou_unknown;
  int32_t *object_same, *object_known, *object_unknown;
  float* iou_similar;
};

// Detections that may match an object of their class; rows of n_ranges and n_thresholds values.
struct Candidates {
  std::vector<int32_t> position;
  std::vector<uint16_t> matched, ignored;
  std::vector<int32_t> object;

  void shrink() {  // vectors grow ahead of what they hold
    position.shrink_to_fit(), matched.shrink_to_fit();
    ignored.shrink_to_fit(), object.shrink_to_fit();
  }
};

namespace matching {

// Members of each image: item[start[i]] .. item[start[i + 1] - 1].
struct ByImage {
  std::vector<int64_t> start;
  std::vector<int32_t> item;
};

// image_of(i) is called twice for each i in 0 .. n-1, in ascending order.
template <class ImageOf>
ByImage group_by_image(int32_t n_images, int64_t n, const ImageOf& image_of) {
  ByImage groups{std::vector<int64_t>(n_images + 1, 0), std::vector<int32_t>(n)};
  for (int64_t i = 0; i < n; ++i) ++groups.start[image_of(i) + 1];
  for (int32_t g = 0; g < n_images; ++g) groups.start[g + 1] += groups.start[g];
  std::vector<int64_t> next(groups.start.begin(), groups.start.end() - 1);
  for (int64_t i = 0; i < n; ++i)
    groups.item[next[image_of(i)]++] = static_cast<int32_t>(i);
  return groups;
}

template <class Real>
struct Box {
  Real x1, y1, x2, y2, area;
};

// Intersection with a region, over the detection's own area.
template <class Real>
Real covered(const Box<Real>& detection, const Box<Real>& region, Real offset) {
  const Real w = std::min(detection.x2, region.x2) - std::max(detection.x1, region.x1) + offset;
  const Real h = std::min(detection.y2, region.y2) - std::max(detection.y1, region.y1) + offset;
  return w > 0 && h > 0 ? w * h / detection.area : Real{0};
}

// The objects of one image as columns: a detection is compared with several of them at a time.
template <class Real>
struct Columns {
  std::vector<Real> x1, y1, x2, y2, area;

  void clear() { x1.clear(), y1.clear(), x2.clear(), y2.clear(), area.clear(); }
  void add(const Box<Real>& box) {
    x1.push_back(box.x1), y1.push_back(box.y1), x2.push_back(box.x2), y2.push_back(box.y2);
    area.push_back(box.area);
  }
};

// Intersection over union with every object. Same operations in the same order as pycocotools, hence
// no contraction to fused multiply-add; without branches, so that it vectorises.
template <class Real>
inline void all_overlaps(const Box<Real>& box, const Columns<Real>& objects, Real offset,
                         Real* __restrict out) {
  const size_t n = objects.x1.size();
  const Real *x1 = objects.x1.data(), *y1 = objects.y1.data(), *x2 = objects.x2.data(),
             *y2 = objects.y2.data(), *area = objects.area.data();
  for (size_t j = 0; j < n; ++j) {
    const Real w = std::min(box.x2, x2[j]) - std::max(box.x1, x1[j]) + offset;
    const Real h = std::min(box.y2, y2[j]) - std::max(box.y1, y1[j]) + offset;
    const Real shared = w * h;
    const Real iou = shared / (box.area + area[j] - shared);
    out[j] = (w > 0) & (h > 0) ? iou : Real{0};
  }
}

OPENSET_WIDE inline void overlaps(const Box<double>& box, const Columns<double>& objects,
                                  double offset, double* out) {
  all_overlaps(box, objects, offset, out);
}

OPENSET_WIDE inline void overlaps(const Box<float>& box, const Columns<float>& objects,
                                  float offset, float* out) {
  all_overlaps(box, objects, offset, out);
}

// The largest overlap so far; the first object wins a tie.
template <class Real>
struct Best {
  Real iou = 0;
  int32_t object = -1;
  void offer(Real value, int32_t index) {
    if (value > iou) iou = value, object = index;
  }
};

// A candidate's overlap with an object of its class; bit t of mask: reaches threshold t.
template <class Real>
struct Pair {
  Real iou;
  int32_t peer;
  uint32_t mask;
};

template <class Real>
class ImageMatcher {
 public:
  ImageMatcher(const MatchInput& in, const MatchOutput& out, const ByImage& detections,
               const ByImage& objects)
      : in_(in), out_(out), detections_(detections), objects_(objects) {
    for (int t = 0; t < in.n_thresholds; ++t)
      thresholds_.push_back(static_cast<Real>(std::min(in.thresholds[t], 1 - 1e-10)));
  }

  void run(int32_t image, Candidates& found) {
    load_objects(image);
    // Class order within an image: each class is one run, by falling score.
    const int32_t* const end = detections_.item.data() + detections_.start[image + 1];
    for (const int32_t* cell = detections_.item.data() + detections_.start[image]; cell < end;) {
      const int32_t klass = klass_at(*cell);
      const int32_t* last = cell;
      while (last < end && klass_at(*last) == klass) ++last;
      match_cell(klass, cell, last, found);
      cell = last;
    }
  }

 private:
  struct Object {
    Box<Real> box;
    int32_t index, klass, place;  // place: in the columns
    bool region;
  };

  int32_t klass_at(int32_t position) const { return in_.klass[in_.order[position]]; }

  static Real value(const void* column, int64_t i) { return static_cast<const Real*>(column)[i]; }

  Box<Real> detection_box(int64_t i) const {
    if (in_.rows) {  // one cache line instead of five
      const double *row = in_.rows + 4 * i, x = row[0], y = row[1], w = row[2], h = row[3];
      return {Real(x), Real(y), Real(x + w), Real(y + h), Real(w * h)};
    }
    return {value(in_.x1, i), value(in_.y1, i), value(in_.x2, i), value(in_.y2, i),
            value(in_.area, i)};
  }

  Box<Real> object_box(int64_t i) const {
    return {value(in_.object_x1, i), value(in_.object_y1, i), value(in_.object_x2, i),
            value(in_.object_y2, i), value(in_.object_area, i)};
  }

  void load_objects(int32_t image) {
    present_.clear();
    columns_.clear();
    for (int64_t j = objects_.start[image]; j < objects_.start[image + 1]; ++j) {
      const int32_t i = objects_.item[j], place = static_cast<int32_t>(present_.size());
      present_.push_back({object_box(i), i, in_.object_klass[i], place, in_.object_region[i] != 0});
      columns_.add(present_.back().box);
    }
    iou_.resize(present_.size());
    touched_.resize(present_.size());
  }

  void match_cell(int32_t klass, const int32_t* first, const int32_t* last, Candidates& found) {
    peers_.clear();
    for (const Object& object : present_)
      if (object.klass == klass) peers_.push_back(&object);
    pairs_.clear();
    pair_start_.clear();
    const size_t first_candidate = found.position.size();
    for (const int32_t* p = first; p < last; ++p) {
      const auto rank = static_cast<int32_t>(p - first);
      const Box<Real> box = detection_box(in_.order[*p]);
      out_.rank[*p] = rank, out_.area[*p] = box.area;
      best_overlaps(*p, klass, box);
      if (in_.greedy && rank < in_.max_detections && collect_pairs(box))
        found.position.push_back(*p);
    }
    if (found.position.size() > first_candidate) match_greedily(first_candidate, found);
  }

  void best_overlaps(int32_t position, int32_t klass, const Box<Real>& box) {
    const Real offset = static_cast<Real>(in_.offset);
    const uint8_t* similar = in_.similar ? in_.similar + int64_t{klass} * in_.n_classes : nullptr;
    Best<Real> same, known, unknown, alike;
    overlaps(box, columns_, offset, iou_.data());
    const size_t n_touched = touch();
    for (size_t k = 0; k < n_touched; ++k) {
      const Object& object = present_[touched_[k]];
      if (object.region) continue;
      const Real iou = iou_[touched_[k]];
      if (object.klass == klass) {
        same.offer(iou, object.index);
      } else if (object.klass == in_.unknown_class) {
        unknown.offer(iou, object.index);
      } else {
        known.offer(iou, object.index);
        if (similar && similar[object.klass]) alike.offer(iou, object.index);
      }
    }
    if (klass == in_.unknown_class) unknown = same;
    out_.iou_same[position] = same.iou, out_.object_same[position] = same.object;
    out_.iou_known[position] = known.iou, out_.object_known[position] = known.object;
    out_.iou_unknown[position] = unknown.iou, out_.object_unknown[position] = unknown.object;
    if (similar) out_.iou_similar[position] = static_cast<float>(alike.iou);
  }

  // Lists the objects with any overlap; most have none, and which ones cannot be predicted.
  size_t touch() {
    size_t n = 0;
    for (size_t j = 0; j < iou_.size(); ++j) {
      touched_[n] = static_cast<int32_t>(j);
      n += iou_[j] > 0;
    }
    return n;
  }

  // Appends the pairs of one detection in the order in which greedy matching prefers them.
  bool collect_pairs(const Box<Real>& box) {
    const size_t begin = pairs_.size();
    for (size_t j = 0; j < peers_.size(); ++j) {
      const Object& peer = *peers_[j];
      const Real iou = peer.region ? covered(box, peer.box, static_cast<Real>(in_.offset))
                                   : iou_[static_cast<size_t>(peer.place)];
      if (!(iou >= thresholds_[0])) continue;
      uint32_t mask = 0;
      for (size_t t = 0; t < thresholds_.size(); ++t)
        mask |= static_cast<uint32_t>(iou >= thresholds_[t]) << t;
      pairs_.push_back({iou, static_cast<int32_t>(j), mask});
    }
    if (pairs_.size() == begin) return false;
    const bool later = in_.prefer_later != 0;
    std::sort(pairs_.begin() + begin, pairs_.end(), [later](const auto& a, const auto& b) {
      if (a.iou != b.iou) return a.iou > b.iou;
      return later ? a.peer > b.peer : a.peer < b.peer;
    });
    pair_start_.push_back(begin);
    return true;
  }

  void match_greedily(size_t first, Candidates& found) {
    const size_t count = found.position.size() - first;
    const auto ranges = static_cast<size_t>(in_.n_ranges);
    pair_start_.push_back(pairs_.size());
    found.matched.resize((first + count) * ranges);
    found.ignored.resize((first + count) * ranges);
    found.object.resize((first + count) * thresholds_.size(), -1);
    // Without regions, objects that are all kept or all ignored compete alike, whatever the size
    // range: the first such range is matched, the others copy it.
    int uniform = -1;
    for (int range = 0; range < in_.n_ranges; ++range) {
      const size_t n_ignored = mark_ignored(range);
      const bool is_uniform = !any_region() && (n_ignored == 0 || n_ignored == peers_.size());
      if (is_uniform && uniform >= 0) {
        copy_range(first, count, uniform, range, n_ignored > 0, found);
        continue;
      }
      if (is_uniform) uniform = range;
      taken_.assign(peers_.size(), 0);
      for (size_t c = 0; c < count; ++c) assign(first + c, c, range, found);
    }
  }

  size_t mark_ignored(int range) {
    const double low = in_.size_ranges[2 * range], high = in_.size_ranges[2 * range + 1];
    ignored_.resize(peers_.size());
    size_t count = 0;
    for (size_t j = 0; j < peers_.size(); ++j) {
      const int32_t i = peers_[j]->index;
      const double size = in_.object_size[i];
      ignored_[j] = in_.object_ignore[i] || size < low || size > high;
      count += ignored_[j];
    }
    return count;
  }

  bool any_region() const {
    return std::any_of(peers_.begin(), peers_.end(), [](const Object* o) { return o->region; });
  }

  void copy_range(size_t first, size_t count, int from, int to, bool ignored, Candidates& found) {
    for (size_t c = first; c < first + count; ++c) {
      const size_t source = c * in_.n_ranges + from, target = c * in_.n_ranges + to;
      const uint16_t any = found.matched[source] | found.ignored[source];
      found.matched[target] = ignored ? 0 : any;
      found.ignored[target] = ignored ? any : 0;
    }
  }

  // One candidate at all thresholds: kept objects come first, ignored ones take what is left.
  void assign(size_t row, size_t candidate, int range, Candidates& found) {
    uint32_t open = (1u << thresholds_.size()) - 1, got[2] = {0, 0};
    for (uint8_t pass = 0; pass < 2; ++pass) {
      for (size_t p = pair_start_[candidate]; p < pair_start_[candidate + 1]; ++p) {
        const Pair<Real>& pair = pairs_[p];
        const auto j = static_cast<size_t>(pair.peer);
        if (ignored_[j] != pass) continue;
        const uint32_t taken = peers_[j]->region ? 0 : taken_[j];
        const uint32_t won = open & pair.mask & ~taken;
        open &= ~won, taken_[j] |= won, got[pass] |= won;
        if (range == 0) record(&found.object[row * thresholds_.size()], won, peers_[j]->index);
      }
    }
    found.matched[row * in_.n_ranges + range] = static_cast<uint16_t>(got[0]);
    found.ignored[row * in_.n_ranges + range] = static_cast<uint16_t>(got[1]);
  }

  static void record(int32_t* objects, uint32_t thresholds, int32_t object) {
    for (int t = 0; thresholds; ++t, thresholds >>= 1)
      if (thresholds & 1) objects[t] = object;
  }

  const MatchInput& in_;
  const MatchOutput& out_;
  const ByImage &detections_, &objects_;
  std::vector<Real> thresholds_;
  std::vector<Object> present_;        // objects of the image, in input order
  Columns<Real> columns_;              // their boxes
  std::vector<Real> iou_;              // of the detection with each of them
  std::vector<int32_t> touched_;       // those that overlap it
  std::vector<const Object*> peers_;   // those of the cell's class
  std::vector<Pair<Real>> pairs_;      // of all candidates of the cell
  std::vector<size_t> pair_start_;     // first pair of each candidate
  std::vector<uint32_t> taken_;        // per peer: thresholds at which it is matched
  std::vector<uint8_t> ignored_;       // per peer
};

constexpr int32_t kImagesPerTask = 64;

template <class Real>
std::vector<Candidates> match_images(const MatchInput& in, const MatchOutput& out) {
  const ByImage detections = group_by_image(in.n_images, in.n_detections,
                                            [&](int64_t p) { return in.image[in.order[p]]; });
  const ByImage objects = group_by_image(in.n_images, in.n_objects,
                                         [&](int64_t i) { return in.object_image[i]; });
  const int64_t tasks_total = (in.n_images + kImagesPerTask - 1) / kImagesPerTask;
  std::vector<Candidates> parts(tasks_total);
  parallel(in.threads, tasks_total, [&](TaskQueue& tasks) {
    ImageMatcher<Real> matcher(in, out, detections, objects);
    for (int64_t t; tasks.take(t);) {
      const auto begin = static_cast<int32_t>(t * kImagesPerTask);
      const int32_t end = std::min(in.n_images, begin + kImagesPerTask);
      for (int32_t image = begin; image < end; ++image) matcher.run(image, parts[t]);
      parts[t].shrink();
    }
  });
  return parts;
}

}  // namespace matching

// Candidates of all images and where each one goes when sorted by position.
class MatchResult {
 public:
  MatchResult(const MatchInput& in, const MatchOutput& out)
      : n_ranges_(in.n_ranges), n_thresholds_(in.n_thresholds), n_detections_(in.n_detections) {
    parts_ = in.is_float32 ? matching::match_images<float>(in, out)
                           : matching::match_images<double>(in, out);
    for (const Candidates& part : parts_) count_ += static_cast<int64_t>(part.position.size());
  }

  int64_t count() const { return count_; }

  // Copies all candidates and frees them part by part.
  void take(int32_t* position, uint16_t* matched, uint16_t* ignored, int32_t* object) {
    const std::vector<int32_t> row = sorted_rows();
    for (Candidates& part : parts_) {
      for (size_t c = 0; c < part.position.size(); ++c) {
        const int64_t to = row[part.position[c]];
        position[to] = part.position[c];
        std::copy_n(&part.matched[c * n_ranges_], n_ranges_, matched + to * n_ranges_);
        std::copy_n(&part.ignored[c * n_ranges_], n_ranges_, ignored + to * n_ranges_);
        std::copy_n(&part.object[c * n_thresholds_], n_thresholds_, object + to * n_thresholds_);
      }
      part = Candidates();
    }
  }

 private:
  // For the position of a candidate: the number of candidates before it.
  std::vector<int32_t> sorted_rows() const {
    std::vector<int32_t> row(count_ ? n_detections_ : 0, 0);
    for (const Candidates& part : parts_)
      for (const int32_t position : part.position) row[position] = 1;
    int32_t before = 0;
    for (int32_t& entry : row) {
      const int32_t here = entry;
      entry = before;
      before += here;
    }
    return row;
  }

  std::vector<Candidates> parts_;
  int64_t n_ranges_, n_thresholds_, n_detections_, count_ = 0;
};

}  // namespace openset
