// SPDX-License-Identifier: MIT
#include <cmath>
#include <cstdint>
#include <memory>
#include <norma/core/parameters.hpp>
#include <set>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

namespace {

using norma::Gain;
using norma::Index;
using norma::Kind;
using norma::Layout;
using norma::Parameters;
using norma::Scope;

template <class F>
std::string error_of(F&& f) {
  try {
    f();
  } catch (const norma::Error& e) {
    return e.what();
  }
  return "";
}
#define EXPECT_ERROR(statement, ...)                                                       \
  for (const std::string& part : {__VA_ARGS__})                                            \
  EXPECT_NE(error_of([&] { static_cast<void>(statement); }).find(part), std::string::npos) \
      << #statement " says: " << error_of([&] { static_cast<void>(statement); })

TEST(Layout, NamesAndOffsets) {
  Layout layout;
  const auto a = layout.add("a", 3, 5, Kind::up);
  {
    Layout::Level outer(layout, "outer");
    Layout::Level inner(layout, "inner");
    layout.add("b", 1, 16, Kind::bias);
  }
  const auto c = layout.add("c", 1, 17, Kind::norm, norma::constant(1));
  ASSERT_EQ(layout.entries().size(), 3u);
  EXPECT_EQ(layout.entries()[0].name, "a");
  EXPECT_EQ(layout.entries()[1].name, "outer.inner.b");
  EXPECT_EQ(layout.entries()[2].name, "c");
  EXPECT_EQ(a.offset, 0);
  EXPECT_EQ(layout.find("outer.inner.b").at.offset, 16);
  EXPECT_EQ(c.offset, 32);
  EXPECT_EQ(layout.count(), 15 + 16 + 17);
  EXPECT_EQ(layout.size(), 16 + 16 + 32);
  for (const auto& info : layout.entries()) EXPECT_EQ(info.at.offset % 16, 0);
  EXPECT_EQ(layout.find("c").initial(0, 3), 1);
  EXPECT_FALSE(layout.find("a").initial);
  EXPECT_TRUE(layout.find("a").decays());
  EXPECT_FALSE(layout.find("outer.inner.b").decays());
  layout.add("positions", 5, 3, Kind::position);
  EXPECT_TRUE(layout.find("positions").decays());
  EXPECT_FALSE(layout.find("c").decays());
}

TEST(Layout, ACopyFindsItsOwn) {
  auto layout = std::make_unique<Layout>();
  layout->add("a", 3, 5, Kind::up);
  layout->add("b", 2, 2, Kind::up);
  Layout copy = *layout;
  layout.reset();
  EXPECT_EQ(&copy.find("b"), &copy.entries()[1]);
  for (int i = 0; i < 100; ++i) copy.add("c" + std::to_string(i), 1, 1, Kind::scale);
  EXPECT_EQ(&copy.find("a"), &copy.entries()[0]);
  EXPECT_EQ(&copy.find("c99"), &copy.entries()[101]);
}

TEST(Layout, RefusesWhatCannotBe) {
  Layout layout;
  Layout::Level level(layout, "block");
  layout.add("w", 2, 2, Kind::up);
  EXPECT_ERROR(layout.add("w", 2, 2, Kind::up), "block.w");
  EXPECT_ERROR(layout.find("block.v"), "block.v");
  EXPECT_ERROR(layout.add("v", 0, 3, Kind::up), "block.v", "[0, 3]");
  EXPECT_ERROR(layout.add("v", 2, -3, Kind::up), "block.v", "[2, -3]");
  EXPECT_ERROR(layout.add("v", Index(1) << 40, Index(1) << 40, Kind::up), "block.v", "too large");
  EXPECT_ERROR(
      [&] {
        for (int i = 0; i < 64; ++i) layout.add("v" + std::to_string(i), Index(1) << 57, 1, Kind::up);
      }(),
      "too large");
}

TEST(Layout, SharedParametersAreFoundInTheirScope) {
  Layout layout;
  layout.begin_stack(2);
  std::vector<Index> site, block, stack;
  for (int b = 1; b <= 2; ++b) {
    Layout::Level level(layout, "layers." + std::to_string(b));
    layout.begin_block(b);
    for (const char* name : {"attention", "feed_forward"}) {
      Layout::Level inner(layout, name);
      layout.begin_site();
      site.push_back(layout.shared(Scope::site, "gate", 1, 1, Kind::scale).offset);
      Layout::Level deeper(layout, "join");  // another slot of the same site
      EXPECT_EQ(layout.shared(Scope::site, "gate", 1, 1, Kind::scale).offset, site.back());
      block.push_back(layout.shared(Scope::block, "gate", 1, 1, Kind::scale).offset);
      stack.push_back(layout.shared(Scope::stack, "gate", 1, 4, Kind::scale).offset);
    }
  }
  EXPECT_EQ(std::set<Index>(site.begin(), site.end()).size(), 4u);
  EXPECT_EQ(block[0], block[1]);
  EXPECT_EQ(block[2], block[3]);
  EXPECT_NE(block[0], block[2]);
  EXPECT_EQ(std::set<Index>(stack.begin(), stack.end()).size(), 1u);
  EXPECT_EQ(layout.entries().size(), 4u + 2u + 1u);
  EXPECT_EQ(layout.find("gate").at.columns, 4);
  EXPECT_EQ(layout.find("layers.2.gate").layer, 2);
  EXPECT_EQ(layout.find("layers.2.gate").layers, 2);
  EXPECT_EQ(layout.find("layers.1.attention.gate").layer, 1);
  EXPECT_ERROR(layout.shared(Scope::stack, "gate", 1, 5, Kind::scale), "gate");
}

TEST(Layout, GainActsOnItsKinds) {
  Layout layout;
  layout.set_gain({0.5, Kind::value | Kind::output});
  layout.add("q", 2, 2, Kind::query);
  layout.add("v", 2, 2, Kind::value);
  layout.add("o", 2, 2, Kind::output);
  layout.add("bias", 1, 2, Kind::bias);
  layout.set_gain({});
  layout.add("later", 2, 2, Kind::value);
  EXPECT_EQ(layout.find("q").gain, 1);
  EXPECT_EQ(layout.find("v").gain, 0.5);
  EXPECT_EQ(layout.find("o").gain, 0.5);
  EXPECT_EQ(layout.find("bias").gain, 1);
  EXPECT_EQ(layout.find("later").gain, 1);
}

std::shared_ptr<const Layout> small_layout() {
  auto layout = std::make_shared<Layout>();
  layout->add("w", 3, 5, Kind::up);
  layout->add("b", 1, 3, Kind::bias, norma::constant(0));
  return layout;
}

TEST(Parameters, NamedViewsLieInTheFlatBuffer) {
  Parameters<float> p(small_layout());
  EXPECT_EQ(p.size(), 32);
  EXPECT_EQ(p.count(), 18);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(p.data()) % 64, 0u);
  EXPECT_EQ(p.flat().size(), 32u);
  EXPECT_EQ(p.flat().data(), p.data());
  for (float v : p.flat()) EXPECT_EQ(v, 0);
  p["w"](1, 2) = 7;  // [out, in], row-major
  EXPECT_EQ(p.data()[1 * 5 + 2], 7);
  p["b"](0, 1) = 8;
  EXPECT_EQ(p.data()[16 + 1], 8);
  EXPECT_EQ(p["w"].rows(), 3);
  EXPECT_EQ(p["w"].cols(), 5);
  const auto& constant = p;
  EXPECT_EQ(constant["w"](1, 2), 7);
  EXPECT_EQ(constant["w"].data(), p.data());
  EXPECT_EQ(constant.flat()[17], 8);
  p.set_zero();
  EXPECT_EQ(p["w"](1, 2), 0);
}

TEST(Parameters, UnknownNameIsNamed) {
  Parameters<float> p(small_layout());
  EXPECT_ERROR(p["wieght"], "\"wieght\"");
  const auto& constant = p;
  EXPECT_ERROR(constant["w "], "\"w \"");
}

TEST(Parameters, ForEachVisitsInOrderAndMayWrite) {
  Parameters<double> p(small_layout());
  std::string names;
  Index elements = 0;
  p.for_each_parameter([&](const norma::ParameterInfo& info, auto map) {
    names += info.name;
    elements += map.size();
    map.setConstant(2);
  });
  EXPECT_EQ(names, "wb");
  EXPECT_EQ(elements, p.count());
  double sum = 0;
  for (double v : p.flat()) sum += v;
  EXPECT_EQ(sum, 2 * 18);  // the padding is still zero
  const auto& constant = p;
  constant.for_each_parameter([&](const norma::ParameterInfo&, auto map) {
    static_assert(std::is_const_v<std::remove_pointer_t<decltype(map.data())>>);
    EXPECT_EQ(map(0, 0), 2);
  });
}

TEST(Parameters, CopiesAreDeepAndMovesHandOver) {
  Parameters<float> a(small_layout());
  a["w"](0, 0) = 1;
  Parameters<float> b = a;
  a["w"](0, 0) = 2;
  EXPECT_EQ(b["w"](0, 0), 1);
  b = a;
  EXPECT_EQ(b["w"](0, 0), 2);
  EXPECT_NE(a.data(), b.data());
  const float* memory = a.data();
  Parameters<float> c = std::move(a);
  EXPECT_EQ(c.data(), memory);
  EXPECT_EQ(&c.layout(), &b.layout());
}

TEST(Parameters, Cast) {
  Parameters<double> d(small_layout());
  d["w"](2, 4) = 1.0 / 3;
  d["b"](0, 2) = -1e300;
  const Parameters<float> f = d.cast<float>();
  EXPECT_EQ(f["w"](2, 4), static_cast<float>(1.0 / 3));
  EXPECT_EQ(f["b"](0, 2), -INFINITY);
  EXPECT_EQ(&f.layout(), &d.layout());
  EXPECT_EQ(f.cast<double>()["w"](2, 4), static_cast<double>(static_cast<float>(1.0 / 3)));
}

// A pretrained network under another head.
TEST(Parameters, CopyCommon) {
  auto other = std::make_shared<Layout>();
  other->add("b", 1, 3, Kind::bias);
  other->add("head", 2, 2, Kind::head);
  other->add("w", 5, 3, Kind::up);  // of another shape
  Parameters<float> from(small_layout()), to(other);
  for (float& v : from.flat()) v = 7;
  EXPECT_EQ(norma::copy_common(from, to), (std::vector<std::string>{"head", "w"}));
  EXPECT_EQ(to["b"](0, 2), 7);
  EXPECT_EQ(to["head"](1, 1), 0);
  EXPECT_EQ(to["w"](0, 0), 0);
}

// What was never given a layout answers, and says so where it cannot.
TEST(Parameters, Empty) {
  Parameters<float> p;
  const auto& constant = p;
  EXPECT_EQ(p.size(), 0);
  EXPECT_EQ(p.count(), 0);
  EXPECT_TRUE(p.flat().empty());
  p.set_zero();
  int visits = 0;
  p.for_each_parameter([&](const auto&, auto) { ++visits; });
  constant.for_each_parameter([&](const auto&, auto) { ++visits; });
  EXPECT_EQ(visits, 0);
  EXPECT_ERROR(p["w"], "\"w\"");
  EXPECT_ERROR(constant["w"], "\"w\"");
  EXPECT_ERROR(p.layout(), "empty");
  EXPECT_EQ(p.cast<double>().size(), 0);
}

}  // namespace
