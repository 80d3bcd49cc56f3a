// SPDX-License-Identifier: MIT
// Cases K05 to K11: files that lie, and files that look odd and are right.
#include "io_files.hpp"

namespace {

using namespace io_test;

TEST(CasesK, K05_ShortFiles) {
  for (const std::size_t size : {0u, 7u}) EXPECT_TRUE(refused(Bytes(size), std::to_string(size) + " bytes"));
  EXPECT_TRUE(refused(Bytes(8), "does not start with {"));
}

TEST(CasesK, K05_HeaderLengthLies) {
  const std::string_view header = R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})";
  EXPECT_TRUE(Safetensors::parse(file_of(header, 4)).find("a") != nullptr);
  EXPECT_TRUE(refused(file_of("0123456789abcdef", {}, 0xFFFFFFFFFFFFFFFBu), "18446744073709551611"));
  EXPECT_TRUE(refused(file_of(header, {}, header.size() + 1), std::to_string(header.size() + 1)));
  EXPECT_TRUE(refused(file_of(header, Bytes(4), header.size() + 1), "byte of zero")) << "the data's first";
  EXPECT_TRUE(refused(file_of(std::string_view("{}\0,", 4)), "byte of zero"));
  EXPECT_TRUE(refused(file_of(header, Bytes(4), header.size() - 1), "not JSON"));
  EXPECT_TRUE(refused(file_of(header, Bytes(4), 0), "does not start with {"));
  EXPECT_TRUE(refused(file_of(header, Bytes(4), 1), "not JSON"));
}

TEST(CasesK, K05_HeaderIsTooLong) {
  Bytes file(8 + Safetensors::kLargestHeader + 1, std::byte(' '));
  const std::uint64_t length = Safetensors::kLargestHeader + 1;
  std::memcpy(file.data(), &length, 8);
  file[8] = std::byte('{');
  file[9] = std::byte('}');
  EXPECT_TRUE(refused(file, "100000001"));
}

TEST(CasesK, K05_DataCutShort) {
  const std::string_view header = R"({"big":{"dtype":"F32","shape":[1000000],"data_offsets":[0,4000000]}})";
  EXPECT_TRUE(refused(file_of(header, 4), "\"big\"", "[0, 4000000]", "4 bytes"));
  EXPECT_TRUE(refused(file_of(header, 3999999), "\"big\""));
}

TEST(CasesK, K05_NoHeaderOfThisKind) {
  for (const char* header : {"[]", "nul", "{", "{\"a\"", "{\"a\":", "{} {}", "{}x", "{}\n{", "  {}", "\xEF\xBB\xBF{}",
                             "{\"a\":{}", "{'a':1}", "{/**/}", "{,}", "{\"\xFF\":{}}"})
    EXPECT_TRUE(refused(file_of(header))) << header;
  for (const char* entry : {"1", "[]", "null", "true", "\"F32\"", "-1", "1.5", "{}", "{\"dtype\":\"F32\"}"})
    EXPECT_TRUE(refused(file_of("{\"a\":" + std::string(entry) + "}"), "\"a\"")) << entry;
}

/// A header with one tensor "a" of these fields.
Bytes one(const std::string& fields, std::size_t data) { return file_of("{\"a\":{" + fields + "}}", data); }
Bytes one(const std::string& type, const std::string& shape, const std::string& offsets, std::size_t data) {
  return one("\"dtype\":\"" + type + "\",\"shape\":" + shape + ",\"data_offsets\":" + offsets, data);
}

TEST(CasesK, K06_ShapeAndRangeDisagree) {
  EXPECT_TRUE(refused(one("F64", "[4]", "[0,16]", 16), "\"a\"", "[4]", "F64", "[0, 16]"));
  EXPECT_TRUE(refused(one("F32", "[1000,1000]", "[0,4]", 4), "\"a\"", "[1000, 1000]"));
  EXPECT_TRUE(refused(one("F32", "[2]", "[8,0]", 8), "\"a\" has data_offsets [8, 0] in 8 bytes"));
  EXPECT_TRUE(refused(one("F4", "[3]", "[0,1]", 1), "\"a\"")) << "half a byte";
  EXPECT_TRUE(refused(one("F32", "[2]", "[0,18446744073709551615]", 8), "\"a\""));
}

TEST(CasesK, K06_OffsetsThatAreNotTwoNumbers) {
  for (const char* offsets : {"[0]", "[]", "[0,8,8]", "[0,-8]", "[0,8.0]", "[0,8e0]", "[0,\"8\"]", "[0,null]",
                              "[[0,8]]", "{}", "8", "[0,18446744073709551616]", "[0,1e999]"})
    EXPECT_TRUE(refused(one("F32", "[2]", offsets, 8))) << offsets;
  for (const char* shape : {"2", "[-2]", "[2.0]", "[[2]]", "{}", "[true]", "\"2\""})
    EXPECT_TRUE(refused(one("F32", shape, "[0,8]", 8), "\"a\"")) << shape;
  for (const char* type : {"32", "[\"F32\"]", "null"})
    EXPECT_TRUE(refused(one("\"dtype\":" + std::string(type) + ",\"shape\":[2],\"data_offsets\":[0,8]", 8), "\"a\""));
}

TEST(CasesK, K06_FieldsMissingTwiceOrUnknown) {
  const std::string type = "\"dtype\":\"F32\"", shape = "\"shape\":[2]", offsets = "\"data_offsets\":[0,8]";
  EXPECT_TRUE(error_of([&] { Safetensors::parse(one(offsets + "," + shape + "," + type, 8)); }).empty());
  EXPECT_TRUE(refused(one(type + "," + shape, 8), "\"a\" has no data_offsets"));
  EXPECT_TRUE(refused(one(type + "," + offsets, 8), "\"a\" has no shape"));
  EXPECT_TRUE(refused(one(shape + "," + offsets, 8), "\"a\" has no dtype"));
  EXPECT_TRUE(refused(one(type + "," + shape + "," + shape + "," + offsets, 8), "\"a\" has shape twice"));
  EXPECT_TRUE(refused(one(type + "," + shape + ",\"other\":1," + offsets, 8), "\"a\" has \"other\""));
  // Fields of the tensor before it do not count.
  EXPECT_TRUE(refused(file_of("{\"a\":{" + type + "," + shape + "," + offsets + "},\"b\":{" + type + "}}", 8),
                      "\"b\" has no shape"));
}

TEST(CasesK, K06_ShapesThatOverflow) {
  for (const char* shape :
       {"[4294967296,4294967296]", "[9223372036854775807]", "[9223372036854775808]", "[18446744073709551615]",
        "[0,9223372036854775808]", "[4611686018427387904,4]", "[2305843009213693952]"})
    EXPECT_TRUE(refused(one("F32", shape, "[0,0]", 0), "\"a\"")) << shape;
}

TEST(CasesK, NestedHeaders) {
  const std::size_t deep = 1000000;
  EXPECT_TRUE(refused(file_of("{\"a\":" + std::string(deep, '[')), "\"a\""));
  EXPECT_TRUE(refused(one("F32", std::string(deep, '['), "[0,8]", 8), "\"a\""));
  std::string objects;
  for (std::size_t i = 0; i < deep; ++i) objects += "{\"a\":";
  EXPECT_TRUE(refused(file_of(objects), "\"a\""));
}

std::string entry(const std::string& name, const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":" + offsets + "}";
}

TEST(CasesK, K08_OverlapsAndHoles) {
  EXPECT_TRUE(refused(file_of("{" + entry("k", "[0,8]") + "," + entry("v", "[0,8]") + "}", 8), "\"v\"", "overlaps"));
  EXPECT_TRUE(refused(file_of("{" + entry("k", "[0,8]") + "," + entry("v", "[0,8]") + "}", 16), "\"v\"", "overlaps"));
  EXPECT_TRUE(refused(file_of("{" + entry("k", "[4,12]") + "," + entry("v", "[0,8]") + "}", 12), "\"k\"", "overlaps"));
  EXPECT_TRUE(refused(file_of("{" + entry("k", "[0,8]") + "," + entry("v", "[12,20]") + "}", 20), "\"v\"", "hole"));
  EXPECT_TRUE(refused(file_of("{" + entry("k", "[4,12]") + "}", 12), "\"k\"", "hole"));
  EXPECT_TRUE(refused(file_of("{" + entry("k", "[0,8]") + "}", 9), "\"k\"", "9 bytes", "8"));
  EXPECT_TRUE(refused(file_of("{}", 1), "1 bytes"));
  const Bytes right = file_of("{" + entry("k", "[8,16]") + "," + entry("v", "[0,8]") + "}", 16);
  EXPECT_EQ(Safetensors::parse(right).tensors().front().name, "v") << "in the order of their data";
}

TEST(CasesK, K08_RepeatedNames) {
  EXPECT_TRUE(refused(file_of("{" + entry("k", "[0,8]") + "," + entry("k", "[8,16]") + "}", 16), "\"k\"", "twice"));
  EXPECT_TRUE(
      refused(file_of("{" + entry("k", "[0,8]") + "," + entry("\\u006b", "[8,16]") + "}", 16), "\"k\"", "twice"));
  EXPECT_TRUE(refused(file_of(R"({"__metadata__":{},"__metadata__":{}})"), "metadata", "twice"));
  EXPECT_TRUE(refused(file_of(R"({"__metadata__":{"a":"1","a":"2"}})"), "metadata", "\"a\" twice"));
}

TEST(CasesK, K09_UnknownType) {
  EXPECT_TRUE(refused(one("F9", "[2]", "[0,999]", 8), "\"a\"", "\"F9\""));
  EXPECT_TRUE(refused(one("f32", "[2]", "[0,8]", 8), "\"a\"", "\"f32\""));
  // A type that norma does not read is checked all the same.
  EXPECT_TRUE(refused(one("I64", "[2]", "[0,8]", 8), "\"a\""));
  const Bytes integers = one("I64", "[2]", "[0,16]", 16);
  const auto file = Safetensors::parse(integers);
  EXPECT_EQ(file["a"].size(), 2);
  EXPECT_NE(error_of([&] { norma::values<float>(file["a"]); }).find("\"a\" has dtype I64"), std::string::npos);
}

TEST(CasesK, K09_EmptyTensorScalarAndMetadata) {
  const Bytes bytes = file_of(R"({"__metadata__":{"format":"pt","empty":""},)"
                              R"("none":{"dtype":"F32","shape":[0],"data_offsets":[8,8]},)"
                              R"("one":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
                              R"("two":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}}   )",
                              bytes_of<float>({1.5f, -2.0f}));
  const auto file = Safetensors::parse(bytes);
  EXPECT_EQ(file.tensors().size(), 3u);
  EXPECT_TRUE(norma::values<float>(file["none"]).empty());
  EXPECT_EQ(norma::values<float>(file["one"]), std::vector<float>{1.5f});
  EXPECT_TRUE(file["one"].shape.empty());
  EXPECT_EQ(file.metadata(), (norma::Metadata{{"empty", ""}, {"format", "pt"}}));
  EXPECT_TRUE(Safetensors::parse(file_of("{}")).tensors().empty());
  EXPECT_TRUE(refused(file_of(R"({"__metadata__":{"a":1}})"), "metadata"));
  EXPECT_TRUE(refused(file_of(R"({"__metadata__":{"a":{}}})"), "metadata"));
  EXPECT_TRUE(refused(file_of(R"({"__metadata__":null})"), "metadata"));
}

TEST(CasesK, K10_ConversionOf16Bits) {
  const Bytes bytes =
      file_of(R"({"h":{"dtype":"F16","shape":[5],"data_offsets":[0,10]},)"
              R"("b":{"dtype":"BF16","shape":[3],"data_offsets":[10,16]}})",
              bytes_of<std::uint16_t>({0x0001, 0x03FF, 0x0400, 0x7C00, 0x7E00, 0x3F82, 0xFF80, 0x7FC0}));
  const auto file = Safetensors::parse(bytes);
  const auto h = norma::values<double>(file["h"]);
  EXPECT_EQ(h[0], 0x1p-24);
  EXPECT_EQ(h[1], 1023 * 0x1p-24);
  EXPECT_EQ(h[2], 0x1p-14);
  EXPECT_EQ(h[3], std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(h[4]));
  const auto b = norma::values<float>(file["b"]);
  EXPECT_EQ(b[0], 1.015625f);
  EXPECT_EQ(b[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(b[2]));
}

TEST(CasesK, K11_DataOnAnyByte) {
  std::string header = R"({"u":{"dtype":"U8","shape":[3],"data_offsets":[0,3]},)"
                       R"("f":{"dtype":"F32","shape":[2],"data_offsets":[3,11]},)"
                       R"("d":{"dtype":"F64","shape":[1],"data_offsets":[11,19]}})";
  Bytes data(3);
  for (const Bytes& more : {bytes_of<float>({0.1f, -3.0f}), bytes_of<double>({0.1})})
    data.insert(data.end(), more.begin(), more.end());
  for (int pad = 0; pad < 8; ++pad, header += ' ') {  // the header's length moves the data over every alignment
    const Bytes bytes = file_of(header, data);
    const auto file = Safetensors::parse(bytes);
    EXPECT_EQ(norma::values<float>(file["f"]), (std::vector<float>{0.1f, -3.0f}));
    EXPECT_EQ(norma::values<double>(file["d"]), std::vector<double>{0.1});
    EXPECT_EQ(norma::values<float>(file["d"]), std::vector<float>{0.1f});
  }
}

}  // namespace
