// Feeds damaged JSON to the readers. Memory errors end it (build with sanitizers, see run.sh); so
// does a text that one thread reads differently from three.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "../capi.cpp"

namespace {

using Random = std::mt19937_64;

const char* const kSeeds[] = {
    R"([{"image_id": 1, "category_id": 2, "bbox": [1.5, 2, 3e1, 4], "score": 0.25}])",
    R"([{"score":1,"bbox":[1,2,3,4],"category_id":2,"image_id":-1},)"
    R"({"score":0.1234567890123456789,"bbox":[1,2,3,4],"category_id":2,"image_id":5}])",
    R"([ {"image_id":1,"category_id":2,"bbox":[1,2,3,4],"score":1,"x":"}, {","y":[{"a":1}]} ,)"
    R"( {"image_id":1,"category_id":2,"bbox":[1,2,3,4],"score":1,"z":"\u00e9\n é"} ] )",
    R"({"info": {"a": null}, "images": [{"id": 1, "width": 5, "file_name": "a\"b"}],)"
    R"( "annotations": [{"id": 1, "image_id": 1, "category_id": 1, "bbox": [1,2,3,4],)"
    R"( "area": 12, "iscrowd": 0, "segmentation": [[1.5, 2, true]]}], "categories": []})",
};

const char* const kTokens[] = {"{", "}", "[", "]", ",", ":", "\"", "\\", "\\u12", "0", "-", "1e999",
                               ".", "e", "null", "NaN", "tru", " ", "\n", "\xff", "\xc3", "\xf0\x9f",
                               "\"image_id\":", "}, {", "[[[[[[[[", "99999999999999999999"};

std::string damaged(Random& random) {
  std::string text = kSeeds[random() % std::size(kSeeds)];
  if (random() % 4 == 0) text = text.substr(0, text.size() - 1) + "," + text.substr(1);
  for (auto edits = random() % 4; edits > 0; --edits) {
    const size_t at = random() % (text.size() + 1);
    switch (random() % 4) {
      case 0: text.erase(at, random() % 8); break;
      case 1: text.insert(at, kTokens[random() % std::size(kTokens)]); break;
      case 2: text.insert(at, 1, static_cast<char>(random())); break;
      default: text.resize(at);
    }
  }
  if (random() % 1000 == 0) text.insert(random() % (text.size() + 1), 5000, '[');
  return text;
}

// Everything that a read returns, or the refusal, as one string.
std::string read_results(const std::string& text, int threads) {
  // A copy of the exact size, so that a sanitizer sees a read behind its end.
  const std::vector<char> bytes(text.begin(), text.end());
  const openset::Source source{bytes.empty() ? "" : bytes.data(), (int64_t)bytes.size(), -1};
  openset::Results* result = nullptr;
  int64_t count[2];
  if (openset_read_results(&source, threads, &result, count) != 0)
    return last_refusal.kind + std::to_string(last_refusal.offset);
  const auto n = static_cast<size_t>(count[0]);
  std::vector<int64_t> image(n), category(n);
  std::vector<double> box(4 * n), score(n);
  std::string out(static_cast<size_t>(count[1]), ' ');
  openset_results_take(result, threads, image.data(), category.data(), box.data(), score.data(),
                       out.data());
  for (size_t i = 0; i < n; ++i)
    out += std::to_string(image[i] + category[i]) + std::to_string(score[i] + box[4 * i + 3]);
  return out;
}

void read_truth(const std::string& text) {
  const std::vector<char> bytes(text.begin(), text.end());
  const openset::Source source{bytes.empty() ? "" : bytes.data(), (int64_t)bytes.size(), -1};
  openset::Truth* result = nullptr;
  int64_t n[6];
  if (openset_read_truth(&source, &result, n) != 0) return;
  std::vector<int64_t> longs[4];
  std::vector<double> doubles[4];
  for (auto& column : longs) column.resize(n[0] + n[1]);
  for (auto& column : doubles) column.resize(n[0] + 4 * n[1]);
  std::vector<uint8_t> crowd(n[1]);
  std::string texts[4];
  for (int i = 0; i < 4; ++i) texts[i].resize(n[2 + i]);
  const openset::TruthOutput out{
      longs[0].data(),   doubles[0].data(), doubles[1].data(), longs[1].data(), longs[2].data(),
      longs[3].data(),   doubles[2].data(), doubles[3].data(), crowd.data(),    texts[0].data(),
      texts[1].data(),   texts[2].data(),   texts[3].data()};
  openset_truth_take(result, &out);
}

}  // namespace

int main(int argc, char** argv) {
  const double seconds = argc > 1 ? std::atof(argv[1]) : 60;
  Random random(argc > 2 ? std::strtoull(argv[2], nullptr, 10) : std::random_device{}());
  const auto begin = std::chrono::steady_clock::now();
  int64_t runs = 0, good = 0;
  while (std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count() < seconds) {
    const std::string text = damaged(random);
    const std::string one = read_results(text, 1), three = read_results(text, 3);
    if (one != three) {
      std::printf("threads disagree on %s\n%s\n%s\n", text.c_str(), one.c_str(), three.c_str());
      return 1;
    }
    read_truth(text);
    ++runs;
    good += one[0] == '[';
  }
  std::printf("%lld texts, %lld of them good results\n", (long long)runs, (long long)good);
  return 0;
}
