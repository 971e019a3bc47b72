// Small files of every format (tests/fuzz/corpus), cut at every byte and with every bit flipped, lead to an
// error or an answer, and never take more memory than a small multiple of the file.
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <string>
#include <vector>

#include "cpu/cpu_backend.h"
#include "loader/format.h"
#include "loader/open.h"
#include "search/engine.h"
#include "search/nearest.h"
#include "tests/loader/random.h"
#include "tests/loader/temporary_directory.h"
#include "tests/share.h"

namespace {

// Counts all memory of this program that operator new returns.
std::atomic<int64_t> g_live{0};
std::atomic<int64_t> g_peak{0};

void* counted(size_t bytes) {
  void* const memory = std::malloc(bytes == 0 ? 1 : bytes);
  if (memory == nullptr) throw std::bad_alloc();
  const int64_t live = g_live += static_cast<int64_t>(malloc_usable_size(memory));
  for (int64_t peak = g_peak; live > peak && !g_peak.compare_exchange_weak(peak, live);) {
  }
  return memory;
}

void uncount(void* memory) noexcept {
  if (memory != nullptr) g_live -= static_cast<int64_t>(malloc_usable_size(memory));
  std::free(memory);
}

}  // namespace

void* operator new(size_t bytes) {
  return counted(bytes);
}
void operator delete(void* memory) noexcept {
  uncount(memory);
}
void operator delete(void* memory, size_t) noexcept {
  uncount(memory);
}

namespace glove {
namespace {

namespace fs = std::filesystem;
using testing::TemporaryDirectory;

// The buffers that every file needs: a sample of the input (128 KiB, and twice while it is copied), a
// word list's window, and one block of 1 MiB with what it decodes to.
constexpr int64_t kFixedBytes = int64_t{6} << 20;

struct Sample {
  std::string format;
  std::string name;
  std::string bytes;
};

std::vector<Sample> samples() {
  std::vector<Sample> all;
  for (const auto& folder : fs::directory_iterator(GLOVE_FUZZ_CORPUS)) {
    const std::string format = folder.path().filename().string();
    const auto is_format = [&](const Format& known) { return known.name == format; };
    if (format != "wrapped" && std::ranges::none_of(formats(), is_format)) continue;
    for (const auto& file : fs::directory_iterator(folder.path()))
      all.push_back({format == "wrapped" ? "" : format, format + "/" + file.path().filename().string(),
                     TemporaryDirectory::read(file.path().string())});
  }
  return all;
}

class DamagedFile : public ::testing::Test {
 protected:
  void SetUp() override {
    words_path_ = directory_.write("words", "the\nof\nnew york\n");
    descriptor_ = ::memfd_create("damaged", MFD_CLOEXEC);
    ASSERT_GE(descriptor_, 0);
  }
  void TearDown() override { ::close(descriptor_); }

  // Samples of some formats have their words in a separate file.
  void choose_words(const Sample& sample) {
    options_.read.words_path.clear();
    for (const Format& format : formats())
      if (format.name == sample.format && format.takes_words) options_.read.words_path = words_path_;
  }

  // Opens the bytes as a file and reads the resulting model. `query`: also searches it.
  void try_bytes(const std::string& bytes, const std::string& format, bool query = false) {
    const std::string path = "/proc/self/fd/" + std::to_string(descriptor_);
    ASSERT_EQ(::ftruncate(descriptor_, 0), 0);
    ASSERT_EQ(::pwrite(descriptor_, bytes.data(), bytes.size(), 0), static_cast<ssize_t>(bytes.size()));
    options_.read.format = format;
    options_.threads = 1;
    g_peak = g_live.load();
    const int64_t before = g_live;
    const auto model = open_model(path, options_);
    ASSERT_LE(g_peak - before, 16 * static_cast<int64_t>(bytes.size()) + kFixedBytes);
    if (!model.ok()) {
      ASSERT_FALSE(model.error().message.empty());
      return;
    }
    for (int64_t id = 0; id < model.value()->words(); ++id)
      (void)model.value()->vocabulary().find(model.value()->vocabulary().word(id));
    if (query) search(model.value());
  }

  static void search(const ModelPtr& model) {
    Engine engine;
    CpuBackendOptions options;
    if (model->parts().front().planes != nullptr)
      options.first_level = FirstLevel::kCoarsest;  // else too small to be read by them
    engine.backends().add(make_cpu_backend(options));
    ModelSearchers searchers(engine, model);
    for (const std::string_view word : {"the", "of"}) {
      const MaybeQuery query = query_for_word(*model, word);
      if (!query) continue;
      SearchReport report;
      const auto rows = nearest(searchers, {&*query, 1}, 2, {}, report);
      if (!rows.ok()) continue;
      for (const Neighbor& row : rows.value().front()) {
        ASSERT_GE(row.id, 0);
        ASSERT_LT(row.id, model->words());
      }
    }
  }

  TemporaryDirectory directory_;
  OpenOptions options_;
  std::string words_path_;
  int descriptor_ = -1;  // a file in memory, because thousands are written
};

TEST_F(DamagedFile, CutAtEveryByte) {
  const auto step = static_cast<size_t>(test::kShortShare);
  const auto all = samples();
  ASSERT_GE(all.size(), 15u);
  for (const Sample& sample : all) {
    SCOPED_TRACE(sample.name);
    choose_words(sample);
    for (size_t length = 0; length < sample.bytes.size(); length += step) {
      SCOPED_TRACE(length);
      try_bytes(sample.bytes.substr(0, length), sample.format);
      if (sample.format == "glove-model") try_bytes(sample.bytes.substr(0, length), "");
      if (HasFatalFailure()) return;
    }
  }
}

// Flips each bit of each byte, and replaces each byte; only the content then shows the format.
// Does so with every fifth byte from a random one on, and with every one for GLOVE_DAMAGE_STEP=1.
TEST_F(DamagedFile, EveryBitFlipped) {
  GLOVE_TRACE_SEED();
  auto random = testing::random_source();
  const char* const chosen = std::getenv("GLOVE_DAMAGE_STEP");
  const size_t step = chosen == nullptr ? 5 : std::strtoul(chosen, nullptr, 10);
  ASSERT_GT(step, size_t{0});
  for (const Sample& sample : samples()) {
    SCOPED_TRACE(sample.name);
    choose_words(sample);
    for (size_t place = random() % step; place < sample.bytes.size(); place += step) {
      SCOPED_TRACE(place);
      std::string bytes = sample.bytes;
      const bool is_model = sample.format == "glove-model";
      for (int bit = 0; bit < 8; ++bit) {
        bytes[place] = static_cast<char>(sample.bytes[place] ^ 1 << bit);
        try_bytes(bytes, sample.format, is_model);
      }
      bytes[place] = static_cast<char>(sample.bytes[place] ^ static_cast<char>(1 + random() % 255));
      try_bytes(bytes, "", is_model);
      if (HasFatalFailure()) return;
    }
  }
}

TEST_F(DamagedFile, AHeaderThatPromisesTheWorldCostsNothing) {
  try_bytes("2000000000 65536\na 1 2 3\n", "");
  try_bytes("2000000000 65536\na \1\2\3\4", "");
  const std::string header = "{'descr': '<f8', 'fortran_order': False, 'shape': (2000000000, 65536), }\n";
  try_bytes(std::string("\x93NUMPY\1\0", 8) + static_cast<char>(header.size()) + '\0' + header + "12345678",
            "");
  std::string safetensors =
      R"({"a":{"dtype":"F32","shape":[1000000000,1000],"data_offsets":[0,4000000000000]}})";
  safetensors = std::string(1, static_cast<char>(safetensors.size())) + std::string(7, '\0') + safetensors;
  try_bytes(safetensors, "");
  try_bytes(std::string("\xFF\xFF\xFF\x05\0\0\0\0", 8) + std::string(50, '{'), "");
  std::string nested = "{\"a\":" + std::string(100000, '[');
  nested = std::string("\xA5\x86\1\0\0\0\0\0", 8) + nested;
  try_bytes(nested, "safetensors");
}

}  // namespace
}  // namespace glove
