// The C interface of the kernels. Structures mirror those of openset/kernels/_structures.py;
// raise kAbi in both places when one of them changes.
#include <algorithm>
#include <cstdint>
#include <exception>
#include <new>
#include <string>

#include "accumulate.hpp"
#include "halves.hpp"
#include "match.hpp"
#include "operating_points.hpp"
#include "order.hpp"
#include "ranked.hpp"
#include "results.hpp"
#include "take.hpp"
#include "truth.hpp"

#define OPENSET_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

constexpr int32_t kAbi = 9;

thread_local std::string last_error;
thread_local openset::ReadFailure last_refusal;

// Runs a kernel; no exception may cross the C interface. Returns 0, 1 with
// last_error set, or 2 with last_refusal set.
template <class Kernel>
int32_t guarded(const Kernel& kernel) {
  try {
    kernel();
    return 0;
  } catch (const openset::ReadFailure& refusal) {
    last_refusal = refusal;
    return 2;
  } catch (const std::bad_alloc&) {
    last_error = "out of memory";
  } catch (const std::exception& error) {
    last_error = error.what();
  } catch (...) {
    last_error = "unknown failure";
  }
  return 1;
}

template <class Container, class Value>
void copy(const Container& values, Value* out) {
  std::copy(values.begin(), values.end(), out);
}

}  // namespace

OPENSET_EXPORT int32_t openset_abi() { return kAbi; }

OPENSET_EXPORT const char* openset_error() { return last_error.c_str(); }

OPENSET_EXPORT int32_t openset_class_order(const openset::OrderInput* in, int32_t* order,
                                           int64_t* class_start) {
  return guarded([&] { openset::class_order(*in, order, class_start); });
}

// Fills `out`, and stores a result whose candidates openset_match_take copies and frees.
OPENSET_EXPORT int32_t openset_match(const openset::MatchInput* in,
                                     const openset::MatchOutput* out,
                                     openset::MatchResult** result, int64_t* n_candidates) {
  return guarded([&] {
    *result = new openset::MatchResult(*in, *out);
    *n_candidates = (*result)->count();
  });
}

OPENSET_EXPORT int32_t openset_match_take(openset::MatchResult* result, int32_t* position,
                                          uint16_t* matched, uint16_t* ignored, int32_t* object) {
  const int32_t status = guarded([&] { result->take(position, matched, ignored, object); });
  delete result;
  return status;
}

OPENSET_EXPORT int32_t openset_accumulate(const openset::AccumulateInput* in,
                                          const openset::AccumulateOutput* out) {
  return guarded([&] { openset::accumulate(*in, *out); });
}

// Why the input of the last read was refused: kind and message, with a byte and a record.
OPENSET_EXPORT void openset_refusal(const char** kind, const char** message, int64_t* place) {
  *kind = last_refusal.kind.c_str();
  *message = last_refusal.message.c_str();
  place[0] = last_refusal.offset;
  place[1] = last_refusal.record;
}

OPENSET_EXPORT int32_t openset_read_results(const openset::Source* source, int32_t threads,
                                            openset::Results** result, int64_t* count) {
  return guarded([&] {
    *result = new openset::Results(*source, threads);
    count[0] = (*result)->count();
    count[1] = static_cast<int64_t>((*result)->extra_keys().size());
  });
}

// Copies what was read, and frees it.
OPENSET_EXPORT int32_t openset_results_take(openset::Results* result, int32_t threads,
                                            int64_t* image_id, int64_t* category_id, double* box,
                                            double* score, char* extra_keys) {
  const int32_t status = guarded([&] {
    copy(result->extra_keys(), extra_keys);
    result->take(threads, image_id, category_id, box, score);
  });
  delete result;
  return status;
}

OPENSET_EXPORT int32_t openset_read_truth(const openset::Source* source, openset::Truth** result,
                                          int64_t* count) {
  return guarded([&] {
    *result = new openset::Truth(*source);
    const openset::ImageColumns& images = (*result)->images;
    const openset::AnnotationColumns& annotations = (*result)->annotations;
    const size_t sizes[] = {images.id.size(),
                            annotations.id.size(),
                            (*result)->head.size(),
                            images.file_names.size(),
                            images.extra_keys.text().size(),
                            annotations.extra_keys.text().size()};
    std::copy(std::begin(sizes), std::end(sizes), count);
  });
}

OPENSET_EXPORT int32_t openset_truth_take(openset::Truth* result, const openset::TruthOutput* out) {
  const int32_t status = guarded([&] {
    const openset::ImageColumns& images = result->images;
    const openset::AnnotationColumns& annotations = result->annotations;
    copy(images.id, out->image_ids);
    copy(images.width, out->width);
    copy(images.height, out->height);
    copy(annotations.id, out->id);
    copy(annotations.image_id, out->image_id);
    copy(annotations.category_id, out->category_id);
    copy(annotations.box, out->box);
    copy(annotations.area, out->area);
    copy(annotations.crowd, out->crowd);
    copy(result->head, out->head);
    copy(images.file_names, out->file_names);
    copy(images.extra_keys.text(), out->image_extra_keys);
    copy(annotations.extra_keys.text(), out->annotation_extra_keys);
  });
  delete result;
  return status;
}

OPENSET_EXPORT int32_t openset_resampled_average_precision(const openset::ResampleInput* in,
                                                           double* out) {
  return guarded([&] { openset::resampled_average_precision(*in, out); });
}

OPENSET_EXPORT int32_t openset_operating_points(const openset::OperatingPointInput* in,
                                                const openset::OperatingPointOutput* out) {
  return guarded([&] { openset::operating_points(*in, *out); });
}

OPENSET_EXPORT int32_t openset_ranked(const openset::RankedInput* in,
                                      const openset::RankedOutput* out) {
  return guarded([&] { openset::ranked(*in, *out); });
}

OPENSET_EXPORT int32_t openset_take_1(const int8_t* values, const int32_t* order, int8_t* out,
                                      int64_t n, int32_t threads) {
  return guarded([&] { openset::take(values, order, n, threads, out); });
}

OPENSET_EXPORT int32_t openset_take_2(const int16_t* values, const int32_t* order, int16_t* out,
                                      int64_t n, int32_t threads) {
  return guarded([&] { openset::take(values, order, n, threads, out); });
}

OPENSET_EXPORT int32_t openset_take_4(const int32_t* values, const int32_t* order, int32_t* out,
                                      int64_t n, int32_t threads) {
  return guarded([&] { openset::take(values, order, n, threads, out); });
}

OPENSET_EXPORT int32_t openset_take_8(const int64_t* values, const int32_t* order, int64_t* out,
                                      int64_t n, int32_t threads) {
  return guarded([&] { openset::take(values, order, n, threads, out); });
}
