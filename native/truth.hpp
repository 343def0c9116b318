// COCO ground truth: {"images": [...], "annotations": [...], and anything else}.
#pragma once
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "source.hpp"

namespace openset {

struct ImageColumns {
  std::vector<int64_t> id;
  std::vector<double> width, height;
  std::string file_names = "[";  // a JSON list, as written
  int64_t n_file_names = 0;
  KeyList extra_keys;
};

struct AnnotationColumns {
  std::vector<int64_t> id, image_id, category_id;
  std::vector<double> box, area;
  std::vector<uint8_t> crowd;
  KeyList extra_keys;
};

// Where the columns and texts are copied to.
struct TruthOutput {
  int64_t* image_ids;
  double *width, *height;
  int64_t *id, *image_id, *category_id;
  double *box, *area;
  uint8_t* crowd;
  char *head, *file_names, *image_extra_keys, *annotation_extra_keys;
};

// Reads the whole text, then each list in turn.
class Truth {
 public:
  explicit Truth(const Source& source) : window_(source) {
    window_.load(0, source.size);
    json::Cursor cursor = window_.cursor();
    try {
      read(cursor);
    } catch (const json::Failure& failure) {
      throw ReadFailure{failure.kind, failure.message, window_.offset_of(failure.at), record_};
    }
    images.file_names += ']';
    head += '}';
    window_.free();
  }

  ImageColumns images;
  AnnotationColumns annotations;
  std::string head = "{";  // every other member, as written

 private:
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  void read(json::Cursor& cursor) {
    if (cursor.peek() == '\xEF') cursor.fail("bom", "begins with a byte-order mark");
    cursor.space();
    if (cursor.peek() != '{') cursor.fail("not_an_object", "ground truth must be an object");
    const char* const begin = cursor.at();
    unsigned seen = 0;
    for_each_member(cursor, [&](std::string_view key) {
      if (key == "images") {
        see_once(seen, 1, cursor);
        read_list(cursor, "an image", [&] { read_image(cursor); });
      } else if (key == "annotations") {
        see_once(seen, 2, cursor);
        read_list(cursor, "an annotation", [&] { read_annotation(cursor); });
      } else {
        read_other(cursor, key);
      }
    });
    if (!(seen & 1)) throw json::Failure{"missing_key", begin, "no \"images\""};
    if (!(seen & 2)) throw json::Failure{"missing_key", begin, "no \"annotations\""};
    cursor.space();
    if (!cursor.at_end()) cursor.fail("trailing", "text after the end of the object");
  }

  template <class Element>
  void read_list(json::Cursor& cursor, const char* what, const Element& element) {
    if (cursor.peek() != '[') cursor.fail("not_a_list", "expected a list");
    cursor.expect('[');
    cursor.space();
    record_ = 0;
    if (!cursor.take(']')) {
      while (true) {
        expect_object(cursor, what);
        element();
        cursor.space();
        if (cursor.take(']')) break;
        if (!cursor.take(',')) cursor.fail("bad_syntax", "expected ',' or ']'");
        cursor.space();
        ++record_;
      }
    }
    record_ = -1;
  }

  void read_other(json::Cursor& cursor, std::string_view key) {
    const char* const begin = cursor.at();
    cursor.skip_value();
    if (head.size() > 1) head += ',';
    head.append(1, '"').append(key).append("\":").append(begin, cursor.at());
  }

  void read_image(json::Cursor& cursor) {
    const char* const begin = cursor.at();
    int64_t id = 0;
    double width = kNone, height = kNone;
    unsigned seen = 0;
    for_each_member(cursor, [&](std::string_view key) {
      if (key == "id") {
        see_once(seen, 1, cursor);
        id = cursor.integer();
      } else if (key == "width") {
        see_once(seen, 2, cursor);
        width = cursor.number();
      } else if (key == "height") {
        see_once(seen, 4, cursor);
        height = cursor.number();
      } else if (key == "file_name") {
        see_once(seen, 8, cursor);
        read_file_name(cursor);
      } else {
        cursor.skip_value();
        if (!is_bulk(key)) images.extra_keys.add(key);
      }
    });
    if (!(seen & 1)) throw json::Failure{"missing_key", begin, "no \"id\""};
    images.id.push_back(id);
    images.width.push_back(width);
    images.height.push_back(height);
    // All images have a file name or none has.
    if (images.n_file_names != 0 && images.n_file_names != static_cast<int64_t>(images.id.size()))
      throw json::Failure{"missing_key", begin, "only some images have a \"file_name\""};
  }

  void read_file_name(json::Cursor& cursor) {
    if (cursor.peek() == 'n') cursor.fail("null", "null, where a string is expected");
    if (cursor.peek() != '"') cursor.fail("bad_type", "a file name must be a string");
    const char* const begin = cursor.at();
    bool escaped;
    cursor.string(escaped);
    if (images.n_file_names++) images.file_names += ',';
    images.file_names.append(begin, cursor.at());
  }

  void read_annotation(json::Cursor& cursor) {
    const char* const begin = cursor.at();
    int64_t id = 0, image_id = 0, category_id = 0, crowd = 0;
    double box[4] = {0}, area = kNone;
    unsigned seen = 0;
    for_each_member(cursor, [&](std::string_view key) {
      if (key == "id") {
        see_once(seen, 1, cursor);
        id = cursor.integer();
      } else if (key == "image_id") {
        see_once(seen, 2, cursor);
        image_id = cursor.integer();
      } else if (key == "category_id") {
        see_once(seen, 4, cursor);
        category_id = cursor.integer();
      } else if (key == "bbox") {
        see_once(seen, 8, cursor);
        read_box(cursor, box);
      } else if (key == "area") {
        see_once(seen, 16, cursor);
        area = cursor.number();
      } else if (key == "iscrowd") {
        see_once(seen, 32, cursor);
        crowd = cursor.integer();
        if (crowd != 0 && crowd != 1)
          throw json::Failure{"bad_number", cursor.at(), "\"iscrowd\" must be 0 or 1"};
      } else {
        cursor.skip_value();
        if (!is_bulk(key)) annotations.extra_keys.add(key);
      }
    });
    static const char* const required[] = {"id", "image_id", "category_id", "bbox"};
    for (unsigned i = 0; i < 4; ++i)
      if (!(seen >> i & 1))
        throw json::Failure{"missing_key", begin, std::string("no \"") + required[i] + "\""};
    annotations.id.push_back(id);
    annotations.image_id.push_back(image_id);
    annotations.category_id.push_back(category_id);
    annotations.box.insert(annotations.box.end(), box, box + 4);
    annotations.area.push_back(area);
    annotations.crowd.push_back(crowd != 0);
  }

  Window window_;
  int64_t record_ = -1;
};

}  // namespace openset
