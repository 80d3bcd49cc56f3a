// SPDX-License-Identifier: MIT
#include <cstdint>
#include <limits>
#include <norma/core/plan.hpp>
#include <string>
#include <vector>

#include <gtest/gtest.h>

namespace {

using norma::Buffer;
using norma::Index;
using norma::MatrixView;
using norma::Mode;
using norma::Plan;

struct Span {
  const std::byte *begin, *end;
};
template <class T>
Span span(const MatrixView<T>& v) {
  return {reinterpret_cast<const std::byte*>(v.data), reinterpret_cast<const std::byte*>(v.data + v.size())};
}
bool apart(Span a, Span b) { return a.end <= b.begin || b.end <= a.begin; }

/// Keeps, scratch and gradient of different sizes, and up to two children.
struct Leaf {
  Index rows;
  struct Tape {
    MatrixView<float> kept;
    MatrixView<double> scratch;
    MatrixView<float> gradient;
  };
  Tape plan(Plan& p) const { return {p.keep<float>(rows, 3), p.scratch<double>(rows, 5), p.gradient<float>(rows, 7)}; }
};
struct Parent {
  Leaf a, b;
  struct Tape {
    MatrixView<float> kept, scratch;
    Leaf::Tape a, b;
  };
  Tape plan(Plan& p) const {
    Tape t{p.keep<float>(2, 2), p.scratch<float>(3, 3), {}, {}};
    t.a = p.child(a);
    t.b = p.child(b);
    return t;
  }
};

Index planned(const Parent& m, Mode mode) {
  Plan p(mode);
  p.child(m);
  return p.bytes();
}

TEST(Plan, CountsTheSameWithAndWithoutMemory) {
  const Parent m{{10}, {4}};
  for (Mode mode : {Mode::training, Mode::inference}) {
    const Index bytes = planned(m, mode);
    Buffer memory(bytes);
    Plan p(mode, memory.data(), memory.bytes());
    p.child(m);
    EXPECT_EQ(p.bytes(), bytes);
    EXPECT_TRUE(p.fits());
    Plan small(mode, memory.data(), memory.bytes() - 1);
    small.child(m);
    EXPECT_FALSE(small.fits());
    EXPECT_EQ(small.bytes(), bytes);
  }
}

TEST(Plan, BytesInFull) {
  // Every view is rounded up to 64 bytes. Kept: 2x2, 10x3, 4x3 floats. Scratch: 3x3 floats, and the larger child's
  // 10x5 doubles and 10x7 floats.
  Plan p(Mode::training);
  p.child(Parent{{10}, {4}});
  EXPECT_EQ(p.tape_bytes(), 64 + 128 + 64);
  EXPECT_EQ(p.scratch_bytes(), 64 + 448 + 320);
  EXPECT_EQ(p.bytes(), p.tape_bytes() + p.scratch_bytes());
  EXPECT_EQ(p.gap_bytes(), (64 - 16) + (128 - 120) + (64 - 48));
}

TEST(Plan, InferenceKeepsNothingAndOmitsGradients) {
  Plan p(Mode::inference);
  EXPECT_FALSE(p.training());
  const auto t = p.child(Parent{{10}, {4}});
  EXPECT_EQ(p.tape_bytes(), 0);
  EXPECT_EQ(p.scratch_bytes(), (64 + 64) + (128 + 448));
  EXPECT_EQ(t.a.gradient.rows, 0);
  EXPECT_EQ(t.a.gradient.data, nullptr);
  EXPECT_EQ(t.a.kept.rows, 10);
}

// The larger child first and second: the second must not inherit the first one's scratch.
TEST(Plan, WhoMayOverlapWhom) {
  for (Mode mode : {Mode::training, Mode::inference})
    for (const Parent& m : {Parent{{10}, {4}}, Parent{{4}, {10}}}) {
      Buffer memory(planned(m, mode));
      Plan p(mode, memory.data(), memory.bytes());
      const auto t = p.child(m);
      std::vector<Span> own = {span(t.kept), span(t.scratch)}, a = {span(t.a.kept), span(t.a.scratch)},
                        b = {span(t.b.kept), span(t.b.scratch)};
      if (mode == Mode::training) {
        a.push_back(span(t.a.gradient));
        b.push_back(span(t.b.gradient));
      }
      for (auto* views : {&own, &a, &b})
        for (std::size_t i = 0; i < views->size(); ++i) {
          EXPECT_GE((*views)[i].begin, memory.data());
          EXPECT_LE((*views)[i].end, memory.data() + memory.bytes());
          for (std::size_t j = 0; j < i; ++j) EXPECT_TRUE(apart((*views)[i], (*views)[j]));
        }
      for (auto* child : {&a, &b})
        for (Span c : *child)
          for (Span o : own) EXPECT_TRUE(apart(c, o)) << "a child's view lies on its parent's";
      // Siblings share scratch, from the same place on, and never a tape.
      EXPECT_FALSE(apart(span(t.a.scratch), span(t.b.scratch)));
      if (mode == Mode::training) {
        for (Span c : b) EXPECT_TRUE(apart(span(t.a.kept), c));
        for (Span c : a) EXPECT_TRUE(apart(span(t.b.kept), c));
      }
    }
}

TEST(Plan, EveryViewIsAligned) {
  const Parent m{{7}, {5}};
  for (Mode mode : {Mode::training, Mode::inference}) {
    Buffer memory(planned(m, mode) + 64);
    // A capacity that is a multiple of the alignment, as a Workspace's is.
    Plan p(mode, memory.data(), memory.bytes());
    const auto t = p.child(m);
    for (Span s : {span(t.kept), span(t.scratch), span(t.a.kept), span(t.a.scratch), span(t.a.gradient), span(t.b.kept),
                   span(t.b.scratch), span(t.b.gradient)})
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(s.begin) % 64, 0u);
  }
}

TEST(Plan, KeepIfKeepsOnlyThen) {
  Plan p(Mode::training);
  p.keep_if<float>(false, 16, 1);
  EXPECT_EQ(p.tape_bytes(), 0);
  EXPECT_EQ(p.scratch_bytes(), 64);
  p.keep_if<float>(true, 16, 1);
  EXPECT_EQ(p.tape_bytes(), 64);
}

TEST(Plan, ArraysLieInTheArena) {
  struct Tape {
    int value = 3;
    MatrixView<float> view;
  };
  Plan counting(Mode::training);
  EXPECT_EQ(counting.array<Tape>(3), nullptr);
  Buffer memory(counting.bytes());
  Plan p(Mode::training, memory.data(), memory.bytes());
  Tape* tapes = p.array<Tape>(3);
  EXPECT_EQ(static_cast<void*>(tapes), memory.data());
  EXPECT_EQ(tapes[2].value, 3);
}

// The same module planned with no rows: no data is needed, nothing breaks.
TEST(Plan, NoRows) {
  Plan p(Mode::training);
  p.child(Leaf{0});
  EXPECT_EQ(p.bytes(), 0);
}

#if !defined(NDEBUG) || defined(NORMA_ENABLE_ASSERT)
struct Late {
  struct Tape {};
  Tape plan(Plan& p) const {
    p.child(Leaf{1});
    p.scratch<float>(1, 1);  // might lie where the child's scratch was
    return {};
  }
};
TEST(PlanDeathTest, AModuleCarvesBeforeItPlansItsChildren) {
  EXPECT_DEATH(
      {
        Plan p(Mode::training);
        p.child(Late{});
      },
      "a module carves its own views before it plans its children");
}
#endif

TEST(Plan, TooLargeIsAnError) {
  constexpr Index most = std::numeric_limits<Index>::max();
  const auto refuses = [](auto&& carve) {
    for (Mode mode : {Mode::training, Mode::inference}) {
      Plan p(mode);
      try {
        carve(p);
        ADD_FAILURE() << "planned " << p.bytes() << " bytes";
      } catch (const norma::Error& e) {
        EXPECT_NE(std::string(e.what()).find("too large"), std::string::npos) << e.what();
      }
    }
  };
  refuses([](Plan& p) { p.keep<float>(most / 2, 1); });
  refuses([](Plan& p) { p.scratch<float>(Index(1) << 40, Index(1) << 40); });  // rows x columns overflows by itself
  refuses([](Plan& p) { p.keep<double>(Index(1) << 32, Index(1) << 32); });    // ... to zero
  refuses([](Plan& p) { p.scratch<float>(-1, 4); });
  refuses([](Plan& p) {  // each is possible, the sum is not
    for (int i = 0; i < 64; ++i) p.scratch<float>(Index(1) << 57, 1);
  });
  refuses([](Plan& p) {
    for (int i = 0; i < 64; ++i) p.keep<float>(Index(1) << 57, 1);
  });
  // A shape whose number of rows overflows.
  refuses([](Plan& p) { p.keep<float>(norma::Shape{Index(1) << 40, Index(1) << 40}.rows(), 1); });
}

}  // namespace
