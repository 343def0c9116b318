// A strict JSON cursor: accepts what Python's json accepts, less NaN and Infinity.
#pragma once
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>

namespace openset {
namespace json {

// Why a text was refused. `at` is the first byte that cannot follow: if it is the end of the text,
// the text was good so far and more bytes may help.
struct Failure {
  const char* kind;
  const char* at;
  std::string message;
};

constexpr int kMaxDepth = 1000;
constexpr int64_t kMaxInteger = int64_t{1} << 53;  // beyond, JSON readers disagree

inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// Exact for any length of text. Returns false if the value is too large for a double.
inline bool convert(const char* begin, const char* end, double& value) {
#if defined(__cpp_lib_to_chars)
  if (std::from_chars(begin, end, value).ec == std::errc()) return true;
#endif
  value = std::strtod(std::string(begin, end).c_str(), nullptr);  // also: too small, hence 0
  return std::isfinite(value);
}

// Reads a number and returns its end, or null if there is none or it is out of range.
inline const char* scan_number(const char* begin, double& value) {
  static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,
                                 1e8,  1e9,  1e10, 1e11, 1e12, 1e13, 1e14, 1e15,
                                 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
  const char* p = begin + (*begin == '-');
  const char* const digits = p;
  uint64_t mantissa = 0;
  while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<uint64_t>(*p++ - '0');
  int64_t n_digits = p - digits, exponent = 0;
  // A whole zero has no sign, as in Python.
  const bool zero = mantissa == 0 && *p != '.' && *p != 'e' && *p != 'E';
  if (n_digits == 0 || (*digits == '0' && n_digits > 1)) return nullptr;
  if (*p == '.') {
    const char* const fraction = ++p;
    while (is_digit(*p)) mantissa = mantissa * 10 + static_cast<uint64_t>(*p++ - '0');
    if (p == fraction) return nullptr;
    exponent = fraction - p;
    n_digits += p - fraction;
  }
  if (*p == 'e' || *p == 'E') {
    const bool negative = *++p == '-';
    if (*p == '-' || *p == '+') ++p;
    if (!is_digit(*p)) return nullptr;
    int64_t shift = 0;
    for (; is_digit(*p); ++p) shift = shift < 100000 ? shift * 10 + (*p - '0') : shift;
    exponent += negative ? -shift : shift;
  }
  // Both factors are exact doubles, so the one operation rounds correctly.
  if (n_digits <= 19 && mantissa <= uint64_t{1} << 53 && exponent >= -22 && exponent <= 22) {
    value = static_cast<double>(mantissa);
    value = exponent < 0 ? value / power[-exponent] : value * power[exponent];
    if (*begin == '-' && !zero) value = -value;
    return p;
  }
  return convert(begin, p, value) ? p : nullptr;
}

// Reads an integer of at most 2^53 and returns its end, or null.
inline const char* scan_integer(const char* begin, int64_t& value) {
  const char* p = begin + (*begin == '-');
  const char* const digits = p;
  value = 0;
  while (is_digit(*p) && p - digits < 17) value = value * 10 + (*p++ - '0');
  if (p == digits || (*digits == '0' && p - digits > 1) || value > kMaxInteger) return nullptr;
  if (is_digit(*p) || *p == '.' || *p == 'e' || *p == 'E') return nullptr;
  if (*begin == '-') value = -value;
  return p;
}

// Walks over a text that is followed by a '\0'; throws Failure.
class Cursor {
 public:
  Cursor(const char* begin, const char* end) : p_(begin), end_(end) {}

  const char* at() const { return p_; }
  const char* end() const { return end_; }
  void move_to(const char* p) { p_ = p; }
  char peek() const { return *p_; }
  bool at_end() const { return p_ == end_; }

  [[noreturn]] void fail(const char* kind, std::string message) const {
    if (p_ == end_) throw Failure{"truncated", p_, "the text ends here"};
    throw Failure{kind, p_, std::move(message)};
  }

  void space() {
    while (*p_ == ' ' || *p_ == '\n' || *p_ == '\r' || *p_ == '\t') ++p_;
  }

  void expect(char c) {
    if (*p_ != c) fail("bad_syntax", std::string("expected '") + c + "'");
    ++p_;
  }

  // Steps over `c` if it comes next.
  bool take(char c) {
    if (*p_ != c) return false;
    ++p_;
    return true;
  }

  // A string without its quotes, as written, and whether it has escapes.
  std::string_view string(bool& escaped) {
    expect('"');
    const char* const begin = p_;
    escaped = false;
    while (*p_ != '"') {
      const auto c = static_cast<unsigned char>(*p_);
      if (c < 0x20) fail("bad_syntax", "control character in a string");
      if (c == '\\') {
        escaped = true;
        escape();
      } else if (c < 0x80) {
        ++p_;
      } else {
        multibyte(c);
      }
    }
    return {begin, static_cast<size_t>(p_++ - begin)};
  }

  // A key and the colon behind it.
  std::string_view key(bool& escaped) {
    if (*p_ != '"') fail("bad_syntax", "expected a key in double quotes");
    const std::string_view name = string(escaped);
    space();
    expect(':');
    space();
    return name;
  }

  double number() {
    double value = 0;
    const char* const next = scan_number(p_, value);
    if (!next) refuse_number("the number is too large for a double");
    p_ = next;
    return value;
  }

  int64_t integer() {
    int64_t value = 0;
    const char* const next = scan_integer(p_, value);
    if (!next) refuse_number("must be an integer of at most 2^53");
    p_ = next;
    return value;
  }

  // Any value, checked in full but not kept. Not recursive: a hostile text cannot overflow the
  // stack.
  void skip_value() {
    char open[kMaxDepth];
    int depth = 0;
    do {
      if (skip_opening(open, depth)) continue;
      while (depth > 0 && close_or_next(open, depth)) {
      }
    } while (depth > 0);
  }

 private:
  [[noreturn]] void refuse_number(const char* message) {
    const char* const begin = p_;
    if (*p_ == '"') fail("string_id", "a string, where a number is expected");
    if (*p_ == 'n') fail("null", "null, where a number is expected");
    if (*p_ == 't' || *p_ == 'f' || *p_ == '[' || *p_ == '{')
      fail("bad_type", "expected a number");
    skip_number();
    p_ = begin;
    throw Failure{"bad_number", begin, message};
  }

  void escape() {
    ++p_;
    if (*p_ != 'u') {
      if (*p_ == '\0' || !std::strchr("\"\\/bfnrt", *p_)) fail("bad_syntax", "unknown escape");
      ++p_;
      return;
    }
    ++p_;
    for (int i = 0; i < 4; ++i, ++p_) {
      const char c = static_cast<char>(*p_ | 0x20);
      if (!is_digit(*p_) && !(c >= 'a' && c <= 'f')) fail("bad_syntax", "\\u needs 4 hex digits");
    }
  }

  // UTF-8 beyond ASCII: shortest form, no surrogates, at most U+10FFFF.
  void multibyte(unsigned char lead) {
    int length = 0;
    unsigned char low = 0x80, high = 0xBF;  // bounds of the second byte
    if (lead >= 0xC2 && lead <= 0xDF) length = 2;
    if (lead >= 0xE0 && lead <= 0xEF) length = 3;
    if (lead >= 0xF0 && lead <= 0xF4) length = 4;
    if (lead == 0xE0) low = 0xA0;
    if (lead == 0xED) high = 0x9F;
    if (lead == 0xF0) low = 0x90;
    if (lead == 0xF4) high = 0x8F;
    if (length == 0) fail("utf8", "not UTF-8");
    ++p_;
    for (int i = 1; i < length; ++i, ++p_) {
      const auto c = static_cast<unsigned char>(*p_);
      if (c < low || c > high) fail("utf8", "not UTF-8");
      low = 0x80, high = 0xBF;
    }
  }

  void digits() {
    if (!is_digit(*p_)) fail("bad_number", "expected a digit");
    while (is_digit(*p_)) ++p_;
  }

  void skip_number() {
    take('-');
    if (*p_ == 'N' || *p_ == 'I') fail("nan", "NaN and Infinity are not JSON");
    if (take('0')) {
      if (is_digit(*p_)) fail("bad_number", "a number must not begin with 0");
    } else if (*p_ >= '1' && *p_ <= '9') {
      digits();
    } else {
      fail("bad_syntax", "expected a value");
    }
    if (take('.')) digits();
    if (*p_ == 'e' || *p_ == 'E') {
      ++p_;
      if (*p_ == '+' || *p_ == '-') ++p_;
      digits();
    }
  }

  void literal(const char* word) {
    for (; *word; ++word, ++p_)
      if (*p_ != *word) fail("bad_syntax", "expected a value");
  }

  void skip_scalar() {
    bool escaped;
    switch (*p_) {
      case '"': string(escaped); break;
      case 't': literal("true"); break;
      case 'f': literal("false"); break;
      case 'n': literal("null"); break;
      default: skip_number();
    }
  }

  // Steps over the beginning of a value. Returns true if another value must follow at once.
  bool skip_opening(char* open, int& depth) {
    space();
    const char c = *p_;
    if (c != '[' && c != '{') {
      skip_scalar();
      return false;
    }
    if (depth == kMaxDepth) fail("nesting", "nested too deeply");
    open[depth++] = c;
    ++p_;
    space();
    if (take(c == '[' ? ']' : '}')) {
      --depth;
      return false;
    }
    if (c == '{') skip_key();
    return true;
  }

  // Behind a value: returns true if a container was closed, false if another value follows.
  bool close_or_next(const char* open, int& depth) {
    space();
    const bool list = open[depth - 1] == '[';
    if (take(list ? ']' : '}')) {
      --depth;
      return true;
    }
    if (!take(',')) fail("bad_syntax", list ? "expected ',' or ']'" : "expected ',' or '}'");
    space();
    if (!list) skip_key();
    return false;
  }

  void skip_key() {
    bool escaped;
    key(escaped);
  }

  const char* p_;
  const char* end_;
};

}  // namespace json
}  // namespace openset
