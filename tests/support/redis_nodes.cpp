#include <algorithm>
#include <stdexcept>
#include <support/redis_nodes.hpp>

namespace herdlock_test {

redis_nodes::redis_nodes(std::size_t count, redis_options const& options) {
  for (std::size_t i = 0; i < count; ++i) {
    nodes_.push_back(std::make_unique<redis_server>(options));
  }
}

redis_nodes& redis_nodes::shared() {
  static redis_nodes five;
  return five;
}

std::vector<std::uint16_t> redis_nodes::ports() const {
  std::vector<std::uint16_t> all;
  for (auto const& one : nodes_) all.push_back(one->port());
  return all;
}

std::string redis_nodes::url_of(std::vector<std::uint16_t> const& ports, std::string_view options) {
  std::string text = "redlock://";
  for (auto const port : ports) {
    if (text.back() != '/') text += ',';
    text += "127.0.0.1:" + std::to_string(port);
  }
  bool const delayed = options.find("restart_delay") != std::string_view::npos;
  text += delayed ? "?" : "?restart_delay=0&";
  text += options;
  if (text.back() == '&') text.pop_back();
  return text;
}

std::string redis_nodes::url(std::string_view options) const { return url_of(ports(), options); }

void redis_nodes::reset() {
  for (auto const& one : nodes_) {
    one->resume();
    if (!one->running()) one->restart();
    one->flush();
  }
}

std::vector<std::string> redis_nodes::each(std::string_view command) const {
  std::vector<std::string> answers;
  for (auto const& one : nodes_) answers.push_back(one->cli(command));
  return answers;
}

std::size_t redis_nodes::count(std::string_view command, std::string_view answer) const {
  auto const answers = each(command);
  return static_cast<std::size_t>(std::ranges::count(answers, answer));
}

}  // namespace herdlock_test
