// A model file with wrong contents and the right checksums, for tests of what opening and verifying it say.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/crc32.h"
#include "base/file.h"
#include "loader/model_format.h"
#include "loader/open.h"
#include "loader/safetensors.h"
#include "loader/save_model.h"
#include "tests/loader/temporary_directory.h"

namespace glove::testing {

// Puts eight digits after a key of the header.
inline void set_checksum(std::string& bytes, std::string_view key, const std::string& digits) {
  const std::string before = "\"" + std::string(key) + "\":\"";
  const size_t place = bytes.find(before);
  ASSERT_NE(place, std::string::npos) << key;
  bytes.replace(place + before.size(), 8, digits);
}

class DamagedModel : public ::testing::Test {
 protected:
  void save(const Model& model) {
    path_ = directory_.path("damaged.safetensors");
    const Status saved = save_model(model, path_, 1, {});
    ASSERT_TRUE(saved.ok()) << saved.error().message;
    bytes_ = TemporaryDirectory::read(path_);
    header_ = read_safetensors_header(path_, File::open_for_reading(path_).value()).value();
  }

  // Writes the file with values [first, first + values.size()) of a tensor replaced and its checksums right.
  template <class T>
  void write_with(std::string_view tensor, int64_t first, const std::vector<T>& values) {
    const Tensor& place = *header_.find(tensor);
    ASSERT_LE((first + std::ssize(values)) * static_cast<int64_t>(sizeof(T)), place.bytes);
    std::string bytes = bytes_;
    std::memcpy(bytes.data() + place.offset + first * static_cast<int64_t>(sizeof(T)), values.data(),
                values.size() * sizeof(T));
    const std::string_view content(bytes.data() + place.offset, static_cast<size_t>(place.bytes));
    const std::string checksum = checksum_text(crc32_continue(0, content));
    set_checksum(bytes, std::string(kTensorChecksumPrefix) + std::string(tensor), checksum);
    write(std::move(bytes));
  }

  // Writes the file with a text of the header replaced by one of the same length.
  void write_with_header(const std::string& text, const std::string& other) {
    ASSERT_EQ(text.size(), other.size());
    std::string bytes = bytes_;
    const size_t place = bytes.find(text);
    ASSERT_LT(place, static_cast<size_t>(kModelHeaderBytes)) << text;
    write(bytes.replace(place, text.size(), other));
  }

  template <class T>
  T value_of(std::string_view tensor, int64_t i) const {
    T value;
    const int64_t offset = header_.find(tensor)->offset + i * static_cast<int64_t>(sizeof(T));
    std::memcpy(&value, bytes_.data() + offset, sizeof(T));
    return value;
  }

  void expect_error_of_opening(const std::string& message) const {
    const auto opened = open_model(path_);
    ASSERT_FALSE(opened.ok()) << message;
    EXPECT_NE(opened.error().message.find(message), std::string::npos) << opened.error().message;
    EXPECT_EQ(opened.error().message.rfind(path_, 0), 0u) << opened.error().message;
  }

  void expect_error_of_verifying(const std::string& message,
                                 const TokenizerReader& read_tokenizer = {}) const {
    EXPECT_TRUE(open_model(path_).ok()) << message;
    OpenOptions options;
    options.read.read_tokenizer = read_tokenizer;
    options.verify = true;
    const auto opened = open_model(path_, options);
    ASSERT_FALSE(opened.ok()) << message;
    EXPECT_NE(opened.error().message.find(message), std::string::npos) << opened.error().message;
  }

  SafetensorsHeader header_;
  std::string bytes_;
  std::string path_;

 private:
  void write(std::string bytes) {
    set_checksum(bytes, kHeaderChecksumKey,
                 header_checksum(bytes.substr(0, static_cast<size_t>(kModelHeaderBytes))));
    directory_.write("damaged.safetensors", bytes);
  }

  TemporaryDirectory directory_;
};

}  // namespace glove::testing
