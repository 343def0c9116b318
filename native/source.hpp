// Bytes to read, in a file or in memory, and windows onto them.
#pragma once
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <vector>

#include "json.hpp"

namespace openset {

// Why an input was refused, and where: a byte of the input and a record of the list, or -1.
struct ReadFailure {
  std::string kind, message;
  int64_t offset, record;
};

struct Source {
  const char* data;  // null: read from fd
  int64_t size;
  int32_t fd;

  // Copies up to n bytes; fewer only at the end.
  int64_t read(int64_t offset, int64_t n, char* out) const {
    n = std::min(n, size - offset);
    if (data) {
      std::memcpy(out, data + offset, static_cast<size_t>(n));
      return n;
    }
    int64_t got = 0;
    while (got < n) {
      const ssize_t r = pread(fd, out + got, static_cast<size_t>(n - got), offset + got);
      if (r < 0 && errno == EINTR) continue;
      if (r < 0) throw std::runtime_error("cannot read the file");
      if (r == 0) break;
      got += r;
    }
    return got;
  }
};

// A stretch of the source in memory, followed by a '\0'.
class Window {
 public:
  explicit Window(const Source& source) : source_(source) {}

  void load(int64_t offset, int64_t n) {
    offset_ = offset;
    n = std::max<int64_t>(0, std::min(n, source_.size - offset));
    if (static_cast<int64_t>(buffer_.size()) <= n) buffer_.resize(static_cast<size_t>(n) + 1);
    length_ = n ? source_.read(offset, n, buffer_.data()) : 0;
    buffer_[static_cast<size_t>(length_)] = '\0';
  }

  void free() { std::vector<char>().swap(buffer_); }

  json::Cursor cursor() const { return {buffer_.data(), buffer_.data() + length_}; }
  int64_t offset_of(const char* p) const { return offset_ + (p - buffer_.data()); }
  int64_t length() const { return length_; }
  bool reaches_end() const { return offset_ + length_ >= source_.size; }

  // Whether more bytes may mend the failure.
  bool cut(const json::Failure& failure) const {
    return failure.at == buffer_.data() + length_ && !reaches_end();
  }

 private:
  const Source& source_;
  std::vector<char> buffer_;
  int64_t offset_ = 0, length_ = 0;
};

// Raw strings in order of first appearance, as a JSON list.
class KeyList {
 public:
  void add(std::string_view key) {
    if (!order_.empty() && key == last_) return;  // nearly always
    last_ = key;
    if (known_.insert(last_).second) order_.push_back(last_);
  }
  void add_all(const KeyList& other) {
    for (const std::string& key : other.order_) add(key);
  }
  std::string text() const {
    std::string list = "[";
    for (const std::string& key : order_) {
      if (list.size() > 1) list += ',';
      list.append(1, '"').append(key).append(1, '"');
    }
    return list + "]";
  }

 private:
  std::string last_;
  std::unordered_set<std::string> known_;
  std::vector<std::string> order_;
};

// Keys that are large and that no evaluation of boxes needs: skipped without mention.
inline bool is_bulk(std::string_view key) {
  for (const char* name : {"segmentation", "keypoints", "num_keypoints", "license", "coco_url",
                           "flickr_url", "date_captured"})
    if (key == name) return true;
  return false;
}

// Walks over the members of an object, cursor at its '{'. member(key) must consume the value.
template <class Member>
void for_each_member(json::Cursor& cursor, const Member& member) {
  cursor.expect('{');
  cursor.space();
  if (cursor.take('}')) return;
  while (true) {
    bool escaped;
    const char* const begin = cursor.at();
    const std::string_view key = cursor.key(escaped);
    if (escaped) throw json::Failure{"escaped_key", begin, "a key is written with escapes"};
    member(key);
    cursor.space();
    if (cursor.take('}')) return;
    if (!cursor.take(',')) cursor.fail("bad_syntax", "expected ',' or '}'");
    cursor.space();
  }
}

// Marks a key as seen; a second time is refused.
inline void see_once(unsigned& seen, unsigned bit, const json::Cursor& cursor) {
  if (seen & bit) cursor.fail("duplicate_key", "the key occurs twice");
  seen |= bit;
}

// Where the four numbers of a box are written.
struct BoxText {
  const char *begin[4], *end[4];
};

inline BoxText read_box(json::Cursor& cursor, double* box) {
  if (cursor.peek() == 'n') cursor.fail("null", "null, where a box is expected");
  if (cursor.peek() != '[') cursor.fail("bad_type", "a box must be a list of 4 numbers");
  cursor.expect('[');
  BoxText text;
  for (int i = 0; i < 4; ++i) {
    cursor.space();
    if (cursor.peek() == ']') cursor.fail("bad_box", "a box must have 4 numbers");
    text.begin[i] = cursor.at();
    box[i] = cursor.number();
    text.end[i] = cursor.at();
    cursor.space();
    if (cursor.peek() == (i < 3 ? ']' : ',')) cursor.fail("bad_box", "a box must have 4 numbers");
    cursor.expect(i < 3 ? ',' : ']');
  }
  return text;
}

// Refuses an element that is not an object.
inline void expect_object(const json::Cursor& cursor, const char* what) {
  const char c = cursor.peek();
  if (c == '{') return;
  if (c == ']' || c == ',' || c == '}') cursor.fail("bad_syntax", "expected a value");
  cursor.fail("not_an_object", std::string(what) + " must be an object");
}

}  // namespace openset
