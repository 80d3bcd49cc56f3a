// SPDX-License-Identifier: MIT
// Built with -fno-exceptions -fno-rtti: forward and backward, and errors that reach the handler.
#include <sys/wait.h>
#include <unistd.h>
#include <norma_all_headers.hpp>
#include <plain_check.hpp>

#include <cmath>
#include <csignal>
#include <cstring>
#include <string>
#include <unsupported/Eigen/CXX11/Tensor>

#if defined(__cpp_exceptions) || defined(__cpp_rtti)
#error "this program is for -fno-exceptions -fno-rtti"
#endif

namespace {

constexpr norma::Dimensions kDims{.width = 12, .heads = 3, .hidden = 21};
constexpr norma::Shape kShape{.batch = 2, .tokens = 5};

template <class T>
using Tensor = Eigen::Tensor<T, 3, Eigen::RowMajor>;

template <class T>
Tensor<T> numbers(double start) {
  Tensor<T> x(2, 5, 12);
  for (Eigen::Index i = 0; i < x.size(); ++i)
    x.data()[i] = static_cast<T>(std::sin(start + 3.0 * static_cast<double>(i)));
  return x;
}

template <class T>
double dot(const Tensor<T>& a, const Tensor<T>& b) {
  double sum = 0;
  for (Eigen::Index i = 0; i < a.size(); ++i)
    sum += static_cast<double>(a.data()[i]) * static_cast<double>(b.data()[i]);
  return sum;
}

/// The loss is y . dy; its derivative along dx is dx . dx.
template <class Net>
void runs(const Net& net) {
  using T = typename Net::T;
  const auto weights = net.initialize(norma::Rng(7));
  auto gradients = net.gradients();
  auto workspace = net.workspace(kShape);
  const norma::Index lengths[] = {5, 3};
  const norma::Call call{.causal = true, .lengths = lengths};
  const auto x = numbers<T>(1), dy = numbers<T>(2);
  Tensor<T> y(2, 5, 12), dx(2, 5, 12);
  net.forward(weights, x, y, workspace, call);
  net.backward(weights, x, dy, dx, gradients, workspace);
  const double squares = dot(dx, dx), step = 1e-2 / std::sqrt(squares);
  double loss[2], weight_gradients = 0;
  for (const int side : {0, 1}) {
    const T factor = static_cast<T>(side == 0 ? -step : step);
    Tensor<T> moved = x;
    for (Eigen::Index i = 0; i < dx.size(); ++i) moved.data()[i] += factor * dx.data()[i];
    net.forward(weights, moved, y, workspace, call);
    loss[side] = dot(y, dy);
  }
  for (norma::Index i = 0; i < gradients.size(); ++i)
    weight_gradients += std::fabs(static_cast<double>(gradients.data()[i]));
  CHECK(squares > 0 && weight_gradients > 0);
  CHECK(std::fabs((loss[1] - loss[0]) / (2 * step) - squares) < 1e-3 * squares);
}

int pipe_end = -1;

/// What f() writes as an error in a child process, and how the child ends.
struct Ending {
  std::string message;
  int status = 0;
};
template <class F>
Ending ending(F&& f) {
  int ends[2];
  if (!CHECK(pipe(ends) == 0)) return {};
  std::fflush(stdout);
  const pid_t child = fork();
  if (child == 0) {
    pipe_end = ends[1];
    dup2(ends[1], STDERR_FILENO);
    f();
    _exit(99);  // came back
  }
  close(ends[1]);
  Ending r;
  char text[256];
  for (ssize_t n; (n = read(ends[0], text, sizeof text)) > 0;) r.message.append(text, static_cast<std::size_t>(n));
  close(ends[0]);
  waitpid(child, &r.status, 0);
  return r;
}
bool says(const Ending& e, const char* part) {
  if (e.message.find(part) != std::string::npos) return true;
  std::printf("says: %s\n", e.message.c_str());
  return false;
}
void to_pipe(const char* message) {
  const ssize_t written = write(pipe_end, message, std::strlen(message));
  _exit(written > 0 ? 7 : 8);
}

void errors() {
  const norma::Block<norma::PreLN> block(kDims);
  const auto weights = block.initialize(norma::Rng(1));
  auto gradients = block.gradients();
  const auto x = numbers<float>(1);
  Tensor<float> y(2, 5, 12), narrow(2, 5, 6);
  const auto wrong_shape = [&] {
    auto workspace = block.workspace(kShape);
    block.forward(weights, x, narrow, workspace);
  };
  // The default: the message on standard error, then abort.
  const auto by_default = ending(wrong_shape);
  CHECK(WIFSIGNALED(by_default.status) && WTERMSIG(by_default.status) == SIGABRT);
  CHECK(says(by_default, "norma: y has shape [2, 5, 6], wanted [2, 5, 12]\n"));

  // The user's.
  const auto handled = [&](auto f, const char* part) {
    const auto e = ending([&] {
      norma::error_handler = to_pipe;
      f();
    });
    CHECK(WIFEXITED(e.status) && WEXITSTATUS(e.status) == 7);
    CHECK(says(e, part));
  };
  handled(wrong_shape, "y has shape [2, 5, 6], wanted [2, 5, 12]");
  handled([&] { norma::Block<norma::PreLN>({.width = 12, .heads = 5}); }, "5");
  handled([&] { weights["no.such.name"]; }, "no.such.name");
  handled(
      [&] {
        auto workspace = block.workspace({.batch = 1, .tokens = 5});
        block.forward(weights, x, y, workspace);
      },
      "workspace");
  handled(
      [&] {
        auto workspace = block.workspace(kShape);
        block.backward(weights, x, x, y, gradients, workspace);
      },
      "forward");
  handled([&] { block.workspace({.batch = norma::Index(1) << 40, .tokens = norma::Index(1) << 40}); }, "shape");

  // A handler that returns does not let the call go on.
  const auto returned = ending([&] {
    norma::error_handler = [](const char*) {};
    wrong_shape();
  });
  CHECK(WIFSIGNALED(returned.status) && WTERMSIG(returned.status) == SIGABRT);
}

}  // namespace

int main() {
  runs(norma::Block<norma::PreLN>(kDims));
  runs(norma::Block<norma::PostLN>(kDims));
  runs(norma::Block<norma::DeepNorm, double>(kDims, {.layer = 1, .layers = 4}));
  runs(norma::Encoder<norma::Block<norma::PreLN, float, norma::RMSNorm, norma::Attention, norma::SwiGLU>>(kDims, 2));
  runs(norma::Decoder<norma::Block<norma::DeepNorm>>(kDims, 2));
  errors();
  return plain::report("no_exceptions");
}
