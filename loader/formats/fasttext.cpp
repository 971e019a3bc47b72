// fasttext: a model as fastText saves it, .bin. All values are little-endian, without padding: the header;
// for each word, and then for each label, its bytes, NUL, an int64 (its count) and an int8 (0: a word); and
// the input matrix: a byte (whether it is quantised), two int64 (rows and columns), and float32 [rows,
// columns] with the rows of the words, then those of the n-grams. What follows is not read. The vector of a
// word is the mean of its row and of those of its n-grams.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

#include "base/concat.h"
#include "loader/formats/formats.h"
#include "loader/formats/matrix.h"
#include "loader/input.h"
#include "model/limits.h"
#include "model/mapped_file.h"
#include "model/vocabulary.h"

namespace glove {
namespace {

constexpr std::string_view kFastTextMagic = "\xBA\x16\x4F\x2F";
constexpr const char* kRemedy = "; load its .vec file, or the .bin file that it was made of";

// The numbers at the beginning of the file; those of 64 bits are in two halves.
struct FastTextHeader {
  int32_t magic, version, dims, window, epochs, least_count, negatives, word_ngrams, loss, model, buckets,
      minn, maxn, update_rate, threshold[2], entries, words, labels, tokens[2], pruned[2];

  bool is_supervised() const { return model == 3; }
  // Old models for classification have a minn and maxn that are not used.
  bool has_subwords() const {
    return maxn > 0 && minn <= maxn && buckets > 0 && !(version == 11 && is_supervised());
  }
};
static_assert(sizeof(FastTextHeader) == 92);

class FastTextReader final : public RowReader {
 public:
  explicit FastTextReader(const Input& input) : path_(input.path()) {}

  // Reads everything before the matrix. To be called once.
  Status open(const Input& input) {
    if (input.sample().size() < sizeof header_) return corrupt("the file ends within its header");
    std::memcpy(&header_, input.sample().data(), sizeof header_);
    GLOVE_RETURN_IF_ERROR(check_header());
    // The output layer has a row per word or label.
    const int64_t most = 200 + header_.entries * (kMaxWordBytes + kEntryBytes + row_bytes()) +
                         (int64_t{header_.words} + std::max(0, header_.buckets)) * row_bytes();
    GLOVE_ASSIGN_OR_RETURN(const auto file, input.random_access(most, "its header describes"));
    GLOVE_ASSIGN_OR_RETURN(map_, MappedFile::map(path_, file));
    at_ = sizeof header_;
    for (int64_t i = 0; i < header_.entries; ++i) GLOVE_RETURN_IF_ERROR(next_entry(i < header_.words));
    GLOVE_RETURN_IF_ERROR(find_matrix());
    at_ = sizeof header_;
    return {};
  }

  int64_t dims() const override { return header_.dims; }
  int64_t promised_rows() const override { return header_.words; }
  int64_t least_row_bytes() const override { return row_bytes(); }
  SubwordsPtr subwords() const override { return header_.has_subwords() ? subwords_ : nullptr; }
  int64_t file_position() const override {
    return std::ssize(map_->bytes()) - (header_.words - rows_done_) * row_bytes();
  }

  Result<bool> fetch(RawBlock& raw) override {
    GLOVE_RETURN_IF_ERROR(map_->health());
    raw.first_row = rows_done_ + 1;
    raw.rows = std::min(kRowsPerBlock, header_.words - rows_done_);
    raw.words.clear();
    for (int64_t i = 0; i < raw.rows; ++i) {
      GLOVE_ASSIGN_OR_RETURN(const std::string_view word, next_entry(true));
      raw.words.bytes.insert(raw.words.bytes.end(), word.begin(), word.end());
      raw.words.ends.push_back(raw.words.bytes.size());
    }
    rows_done_ += raw.rows;
    return raw.rows > 0;
  }

  Status decode(const RawBlock& raw, RowBlock& rows) const override {
    rows.first_row = raw.first_row;
    rows.vectors.resize(static_cast<size_t>(raw.rows * dims()));
    for (int64_t i = 0; i < raw.rows; ++i) {
      rows.words.push_back(raw.words.word(static_cast<size_t>(i)));
      subwords_->make_vector(rows.words.back(), rows_ + (raw.first_row - 1 + i) * row_bytes(),
                             {rows.vectors.data() + i * dims(), static_cast<size_t>(dims())});
    }
    return {};
  }

 private:
  static constexpr int64_t kRowsPerBlock = 1024;
  static constexpr int64_t kEntryBytes = 10;  // beside the word

  int64_t row_bytes() const { return header_.dims * static_cast<int64_t>(sizeof(float)); }
  Error corrupt(const std::string& what) const { return corrupt_file(path_, "offset ", at_, ": ", what); }

  Status check_header() const {
    const FastTextHeader& h = header_;
    if (!std::string_view(reinterpret_cast<const char*>(&h.magic), 4).starts_with(kFastTextMagic) ||
        (h.version != 11 && h.version != 12))
      return corrupt("the file is not of version 11 or 12 of fastText's format");
    if (h.words < 0 || h.labels < 0 || int64_t{h.words} + h.labels != h.entries)
      return corrupt(concat(h.words, " words and ", h.labels, " labels cannot be ", h.entries, " entries"));
    if (h.pruned[1] >= 0) return corrupt(concat("the dictionary is pruned (it has a prune index)", kRemedy));
    return check_matrix(path_, {h.words, h.dims});
  }

  // Moves past a word or a label and returns it.
  Result<std::string_view> next_entry(bool is_word) {
    const std::string_view rest(map_->bytes().data() + at_, map_->bytes().size() - at_);
    const size_t end = rest.substr(0, kMaxWordBytes + 1).find('\0');
    if (end == rest.npos || rest.size() - end < kEntryBytes || is_word != (rest[end + kEntryBytes - 1] == 0))
      return corrupt(concat("a ", is_word ? "word" : "label", " of at most ", kMaxWordBytes,
                            " bytes, its count and its type were expected; the file is damaged"));
    at_ += end + kEntryBytes;
    return rest.substr(0, end);
  }

  // Sets rows_ and subwords_. REQUIRES: at_ is behind the last entry.
  Status find_matrix() {
    const std::span<const char> rest = map_->bytes().subspan(at_);
    int64_t shape[2] = {0, 0};
    if (rest.size() < 1 + sizeof shape) return corrupt("the file ends before the vectors");
    std::memcpy(shape, rest.data() + 1, sizeof shape);
    if (rest[0] != 0) return corrupt(concat("the vectors are quantised (.ftz)", kRemedy));
    Subwords subwords;
    if (header_.has_subwords()) {
      subwords = {std::max(1, header_.minn), header_.maxn, header_.buckets, {}, map_};
      GLOVE_RETURN_IF_ERROR(subwords.check(path_));
    }
    const std::span<const char> numbers = rest.subspan(1 + sizeof shape);
    if (shape[1] != header_.dims || shape[0] < header_.words + subwords.buckets ||
        shape[0] > std::ssize(numbers) / row_bytes())
      return corrupt(concat("the matrix is ", shape[0], " x ", shape[1], " in ", numbers.size(),
                            " bytes, but ", header_.words, " words and ", subwords.buckets, " n-grams of ",
                            header_.dims, " dimensions are expected; the file is damaged or incomplete"));
    rows_ = numbers.data();
    subwords.rows = numbers.subspan(static_cast<size_t>(header_.words * row_bytes()),
                                    static_cast<size_t>(subwords.buckets * row_bytes()));
    subwords_ = std::make_shared<const Subwords>(std::move(subwords));
    return {};
  }

  std::string path_;
  FastTextHeader header_{};
  std::shared_ptr<const MappedFile> map_;
  size_t at_ = 0;  // in the file
  const char* rows_ = nullptr;
  SubwordsPtr subwords_;
  int64_t rows_done_ = 0;
};

}  // namespace

Result<bool> sniff_fasttext(const Input& input, const ReadOptions&) {
  return input.sample().starts_with(kFastTextMagic);
}

Result<std::unique_ptr<RowReader>> open_fasttext(const Input& input, const ReadOptions&) {
  auto reader = std::make_unique<FastTextReader>(input);
  GLOVE_RETURN_IF_ERROR(reader->open(input));
  return std::unique_ptr<RowReader>(std::move(reader));
}

}  // namespace glove
