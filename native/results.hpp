// COCO results: a list of {"image_id", "category_id", "bbox", "score"}.
#pragma once
#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "parallel.hpp"
#include "source.hpp"

namespace openset {

struct ResultColumns {
  std::vector<int64_t> image_id, category_id;
  std::vector<double> box, score;
  KeyList extra_keys;

  void reserve(size_t n) {
    image_id.reserve(n), category_id.reserve(n), score.reserve(n), box.reserve(4 * n);
  }
};

namespace results {

constexpr int kNumbers = 7;
enum Slot { kImage, kCategory, kScore, kBox };  // kBox .. kBox + 3

struct Record {
  int64_t image_id = 0, category_id = 0;
  double value[kNumbers] = {0};  // by slot; the ids are not used
};

inline void append(ResultColumns& out, const Record& record) {
  out.image_id.push_back(record.image_id);
  out.category_id.push_back(record.category_id);
  out.score.push_back(record.value[kScore]);
  out.box.insert(out.box.end(), record.value + kBox, record.value + kBox + 4);
}

// Most files repeat one record layout. The text between the numbers of a record that was checked
// in full is learnt; where it recurs, comparing it is enough.
class Layout {
 public:
  void begin(const char* record) { from_ = record, count_ = 0, usable_ = true; }
  void number(int slot, const char* begin, const char* end) {
    if (count_ == kNumbers) return;
    literal_[count_].assign(from_, begin);
    slot_[count_++] = slot;
    from_ = end;
  }
  void refuse() { usable_ = false; }
  void finish(const char* end) {
    literal_[kNumbers].assign(from_, end);
    known_ = usable_ && count_ == kNumbers;
  }

  // Reads a record of this layout; returns false, the cursor unmoved, if it is another one.
  bool read(json::Cursor& cursor, Record& record) const {
    if (!known_) return false;
    const char* p = cursor.at();
    for (int i = 0; i < kNumbers; ++i) {
      if (!matches(p, cursor.end(), literal_[i])) return false;
      p += literal_[i].size();
      if (slot_[i] == kImage)
        p = json::scan_integer(p, record.image_id);
      else if (slot_[i] == kCategory)
        p = json::scan_integer(p, record.category_id);
      else
        p = json::scan_number(p, record.value[slot_[i]]);
      if (!p) return false;
    }
    if (!matches(p, cursor.end(), literal_[kNumbers])) return false;
    cursor.move_to(p + literal_[kNumbers].size());
    return true;
  }

 private:
  static bool matches(const char* p, const char* end, const std::string& text) {
    return end - p >= static_cast<ptrdiff_t>(text.size()) &&
           std::memcmp(p, text.data(), text.size()) == 0;
  }

  const char* from_ = nullptr;
  std::string literal_[kNumbers + 1];
  int slot_[kNumbers] = {0};
  int count_ = 0;
  bool usable_ = false, known_ = false;
};

// Any key order, any extra keys; learns the layout.
inline void read_record(json::Cursor& cursor, Record& record, Layout& layout, KeyList& extra) {
  expect_object(cursor, "a result");
  const char* const record_at = cursor.at();
  unsigned seen = 0;
  layout.begin(record_at);
  for_each_member(cursor, [&](std::string_view key) {
    const char* const begin = cursor.at();
    if (key == "image_id") {
      see_once(seen, 1, cursor);
      record.image_id = cursor.integer();
      layout.number(kImage, begin, cursor.at());
    } else if (key == "category_id") {
      see_once(seen, 2, cursor);
      record.category_id = cursor.integer();
      layout.number(kCategory, begin, cursor.at());
    } else if (key == "score") {
      see_once(seen, 4, cursor);
      record.value[kScore] = cursor.number();
      layout.number(kScore, begin, cursor.at());
    } else if (key == "bbox") {
      see_once(seen, 8, cursor);
      const BoxText text = read_box(cursor, record.value + kBox);
      for (int i = 0; i < 4; ++i) layout.number(kBox + i, text.begin[i], text.end[i]);
    } else {
      cursor.skip_value();
      layout.refuse();
      if (!is_bulk(key)) extra.add(key);
    }
  });
  layout.finish(cursor.at());
  static const char* const names[] = {"image_id", "category_id", "score", "bbox"};
  for (unsigned i = 0; i < 4; ++i)
    if (!(seen >> i & 1))
      throw json::Failure{"missing_key", record_at, std::string("no \"") + names[i] + "\""};
}

#ifndef OPENSET_BLOCK  // the fuzzer sets small ones to meet every boundary
#define OPENSET_BLOCK (2 << 20)
#define OPENSET_SLACK (1 << 16)
#endif
constexpr int64_t kBlock = OPENSET_BLOCK;  // bytes that a task reads
constexpr int64_t kSlack = OPENSET_SLACK;  // bytes beyond, for the last record to end in

// A stretch of the list, parsed on its own: the bytes [first, next) of whole records.
struct Part {
  ResultColumns columns;
  int64_t first = -1;  // none if no record was found
  int64_t next = -1;   // where the following record begins, or what follows the list
  bool ended = false;  // the list ended
  bool failed = false;
};

class PartReader {
 public:
  explicit PartReader(const Source& source) : source_(source), window_(source) {}

  // Reads from the record at part.first, until one has ended at or behind `stop`.
  void read(int64_t stop, Part& part) {
    part.next = part.first;
    load(part.next, std::clamp<int64_t>(stop - part.next, 0, kBlock) + kSlack);
    json::Cursor cursor = window_.cursor();
    while (!part.ended) {
      Record record;
      const char* const begin = cursor.at();
      const int64_t offset = window_.offset_of(begin);
      try {
        if (!layout_.read(cursor, record))
          read_record(cursor, record, layout_, part.columns.extra_keys);
        const int64_t last = window_.offset_of(cursor.at()) - 1;
        part.ended = separator(cursor);
        append(part.columns, record);
        part.next = window_.offset_of(cursor.at());
        if (last >= stop) return;
      } catch (const json::Failure& failure) {
        part.ended = false;
        if (!window_.cut(failure)) throw;
        // The window ends within this record: begin the next one here, larger if need be.
        load(offset, offset > window_start_ ? kBlock + kSlack : 2 * window_.length() + kSlack);
        cursor = window_.cursor();
      }
    }
  }

  // Looks for a record that follows one which ends in [begin, stop): a "}, {".
  void find(int64_t begin, int64_t stop, Part& part) {
    load(begin, stop - begin + kSlack);
    json::Cursor cursor = window_.cursor();
    while (true) {
      const auto left = static_cast<size_t>(cursor.end() - cursor.at());
      const auto* brace = static_cast<const char*>(std::memchr(cursor.at(), '}', left));
      if (!brace || window_.offset_of(brace) >= stop) return;
      cursor.move_to(brace + 1);
      cursor.space();
      if (!cursor.take(',')) continue;
      cursor.space();
      if (cursor.peek() != '{') continue;
      part.first = window_.offset_of(cursor.at());
      return;
    }
  }

  // Reads up to the first record. An empty list has ended.
  void open(Part& part) {
    for (int64_t size = kSlack;; size *= 2) {
      load(0, size);
      json::Cursor cursor = window_.cursor();
      try {
        if (cursor.peek() == '\xEF') cursor.fail("bom", "begins with a byte-order mark");
        cursor.space();
        if (cursor.peek() != '[') cursor.fail("not_a_list", "results must be a list");
        cursor.expect('[');
        cursor.space();
        if (cursor.at_end()) cursor.fail("truncated", "");
        part.ended = cursor.take(']');
        part.first = part.next = window_.offset_of(cursor.at());
        return;
      } catch (const json::Failure& failure) {
        if (!window_.cut(failure)) throw;
      }
    }
  }

  // Only space may follow the list.
  void close(int64_t offset) {
    for (; offset < source_.size; offset += std::max<int64_t>(1, window_.length())) {
      load(offset, kBlock);
      json::Cursor cursor = window_.cursor();
      cursor.space();
      if (!cursor.at_end()) cursor.fail("trailing", "text after the end of the list");
      if (!window_.length()) return;
    }
  }

  int64_t offset_of(const char* p) const { return window_.offset_of(p); }

 private:
  void load(int64_t offset, int64_t n) {
    window_start_ = offset;
    window_.load(offset, n);
  }

  // Behind a record; returns true if the list ends.
  static bool separator(json::Cursor& cursor) {
    cursor.space();
    if (cursor.take(']')) return true;
    if (!cursor.take(',')) cursor.fail("bad_syntax", "expected ',' or ']'");
    cursor.space();
    if (cursor.at_end()) cursor.fail("truncated", "");
    return false;
  }

  const Source& source_;
  Window window_;
  Layout layout_;
  int64_t window_start_ = 0;
};

// Reads all parts at once. Returns false if one failed or they do not tile the text: then a
// "}, {" was inside of a string or a nested list, or the text is bad.
inline bool read_parts(const Source& source, int threads, std::vector<Part>& parts) {
  parallel(threads, static_cast<int64_t>(parts.size()), [&](TaskQueue& tasks) {
    PartReader reader(source);
    for (int64_t t; tasks.take(t);) {
      Part& part = parts[t];
      const int64_t begin = t * kBlock, stop = std::min(source.size, begin + kBlock);
      try {
        if (t > 0) reader.find(begin, stop, part);
        if (part.first < 0) continue;
        part.columns.reserve(static_cast<size_t>(std::max<int64_t>(0, stop - part.first)) / 64);
        reader.read(stop, part);
      } catch (const json::Failure&) {
        part.failed = true;
        tasks.stop();
      }
    }
  });
  int64_t expected = parts[0].first;
  bool ended = false;
  for (const Part& part : parts) {
    if (part.failed) return false;
    if (part.first < 0) continue;
    if (ended || part.first != expected) return false;
    expected = part.next;
    ended = part.ended;
  }
  return ended;
}

}  // namespace results

// The records of a list, in parts that follow each other.
class Results {
 public:
  Results(const Source& source, int threads) {
    results::PartReader reader(source);
    try {
      results::Part opening;
      reader.open(opening);
      if (opening.ended || !read_in_parallel(source, threads, opening))
        read_in_order(source, reader, opening);
      reader.close(end_of_list());
    } catch (const json::Failure& failure) {
      throw ReadFailure{failure.kind, failure.message, reader.offset_of(failure.at),
                        unfinished_record()};
    }
    KeyList extra;
    for (const results::Part& part : parts_) {
      count_ += static_cast<int64_t>(part.columns.score.size());
      extra.add_all(part.columns.extra_keys);
    }
    extra_keys_ = extra.text();
  }

  int64_t count() const { return count_; }
  const std::string& extra_keys() const { return extra_keys_; }

  // Copies all columns and frees them part by part.
  void take(int threads, int64_t* image_id, int64_t* category_id, double* box, double* score) {
    std::vector<int64_t> start(parts_.size());
    int64_t total = 0;
    for (size_t i = 0; i < parts_.size(); ++i) {
      start[i] = total;
      total += static_cast<int64_t>(parts_[i].columns.score.size());
    }
    parallel(threads, static_cast<int64_t>(parts_.size()), [&](TaskQueue& tasks) {
      for (int64_t t; tasks.take(t);) {
        ResultColumns columns = std::move(parts_[t].columns);
        std::copy(columns.image_id.begin(), columns.image_id.end(), image_id + start[t]);
        std::copy(columns.category_id.begin(), columns.category_id.end(), category_id + start[t]);
        std::copy(columns.box.begin(), columns.box.end(), box + 4 * start[t]);
        std::copy(columns.score.begin(), columns.score.end(), score + start[t]);
      }
    });
  }

 private:
  bool read_in_parallel(const Source& source, int threads, const results::Part& opening) {
    if (opening.first >= results::kBlock) return false;  // a lot of space before the list
    parts_.resize(static_cast<size_t>(1 + (source.size - 1) / results::kBlock));
    parts_[0].first = opening.first;
    return results::read_parts(source, threads, parts_);
  }

  // Whatever stopped the parallel reading is found again here, and located.
  void read_in_order(const Source& source, results::PartReader& reader,
                     const results::Part& opening) {
    parts_.clear();
    parts_.resize(1);
    parts_[0].first = parts_[0].next = opening.first;
    parts_[0].ended = opening.ended;
    if (!opening.ended) reader.read(source.size, parts_[0]);
  }

  // The record at which reading stopped, or -1 outside of the list.
  int64_t unfinished_record() const {
    for (const results::Part& part : parts_)
      if (part.ended) return -1;
    return parts_.empty() ? -1 : static_cast<int64_t>(parts_[0].columns.score.size());
  }

  int64_t end_of_list() const {
    int64_t end = 0;
    for (const results::Part& part : parts_)
      if (part.first >= 0) end = part.next;
    return end;
  }

  std::vector<results::Part> parts_;
  std::string extra_keys_;
  int64_t count_ = 0;
};

}  // namespace openset
