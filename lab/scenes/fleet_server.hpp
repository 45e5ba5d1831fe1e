// Scene `fleet`: the server under the fleet, as a client sees it that knows nothing of herdlock's
// library: its figures, who collects, and the lists that it keeps.
#pragma once

#include <charconv>
#include <herdlock/url.hpp>
#include <sstream>
#include <support/redis_line.hpp>
#include <support/redis_server.hpp>

#include "scenes/fleet.hpp"

namespace herdlock::lab::fleet {

class fleet_server {
 public:
  /// A list that is kept, for the caches of a prefix.
  struct list {
    std::uint64_t term = 0, counter = 0;  ///< 0: there is none
    std::string text{};

    bool is_newer_than(list const& other) const {
      return std::pair(term, counter) > std::pair(other.term, other.counter);
    }
  };

  /// `named`: a URL; if empty, a server of its own. Throws std::exception.
  explicit fleet_server(std::string named) : url_(std::move(named)) {
    if (url_.empty()) url_ = own_.emplace().url();
    auto const at = cli::value_or_raise(store_url::parse(url_));
    line_.emplace(at.host.empty() ? "127.0.0.1" : at.host, at.port.value_or(6379));
    if (!at.password.empty()) {
      order({"AUTH", at.user.empty() ? "default" : at.user, at.password});
    }
    if (at.path.size() > 1) database_ = at.path.substr(1);
    order({"SELECT", database_});
  }

  std::string const& url() const { return url_; }
  bool is_own() const { return own_.has_value(); }

  traffic so_far() const {
    auto const info = ask({"INFO", "all"});
    auto const of = [&](std::string const& field) {
      auto const at = info.find("\n" + field);
      return at == info.npos ? 0 : std::stod(info.substr(at + field.size() + 1));
    };
    return {of("total_net_input_bytes:"), of("total_net_output_bytes:"),
            of("total_commands_processed:"), of("cmdstat_evalsha:calls=")};
  }

  /// The process that collects; 0: none. Its lease has a token `host/pid:secret`.
  std::int64_t collector() const {
    auto const owner = ask({"GET", std::string(lease)});
    auto const slash = owner.rfind('/');
    if (slash == owner.npos) return 0;
    return static_cast<std::int64_t>(leading_number(owner.substr(slash + 1)));
  }
  /// Somebody waits to be the next one.
  bool has_candidate() const {
    return leading_number(ask({"ZCARD", std::string(lease) + "::herdlock:queue"})) > 0;
  }

  list newest(std::string const& prefix) const {
    std::uint64_t term = 0;
    for (auto const& key : kept_lists(prefix)) {
      std::istringstream names(ask({"HKEYS", key}));
      for (std::string name; std::getline(names, name);) {
        term = std::max(term, leading_number(name));
      }
    }
    return of_term(term, prefix);
  }
  list of_term(std::uint64_t term, std::string const& prefix) const {
    list found{term, 0, {}};
    for (auto const& key : kept_lists(prefix)) {
      auto text = ask({"HGET", key, std::to_string(term)});
      auto const counter = leading_number(text);
      if (counter > found.counter) found = {term, counter, text.substr(text.find(' ') + 1)};
    }
    return found;
  }

  /// As if the collector of that list said, just now, that it goes on counting: with a counter that
  /// is greater than any, and that many processes report.
  void tell_late(list const& old, std::string const& prefix) const {
    // "hlst1", the term, the counter, the processes (src/algo/fleet_list.cpp).
    constexpr std::size_t counter = 5 + 8, processes = counter + 8, bytes = 4;
    auto text = old.text;
    if (text.size() < processes + bytes) return;
    text[counter + 1] = 1;
    for (std::size_t i = 0; i < bytes; ++i) {
      text[processes + i] = static_cast<char>(forged_processes >> (8 * (bytes - 1 - i)) & 0xff);
    }
    std::uint64_t told = 0;
    for (auto const& key : kept_lists(prefix)) {
      told = std::max(told, leading_number(ask({"HGET", key, "#sequence"})));
    }
    ask({"PUBLISH", fmt::format("{}::herdlock:events:{}:reports", topic(prefix), database_),
         fmt::format("{} {}", told + 1, text)});
  }

 private:
  static constexpr std::string_view lease = "{herdlock}:herdlock:collector";

  static std::string topic(std::string const& prefix) {
    return "{herdlock}:herdlock:hot-list:" + prefix;
  }
  // A field for each term; the counter and the list (stores/redis/scripts/fleet_report.lua).
  static std::array<std::string, 2> kept_lists(std::string const& prefix) {
    return {topic(prefix) + "::herdlock:reports:0", topic(prefix) + "::herdlock:reports:1"};
  }
  static std::uint64_t leading_number(std::string const& text) {
    std::uint64_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
  }

  std::string ask(std::vector<std::string> const& words) const {
    try {
      return line_->command(words);
    } catch (std::exception const& e) {
      throw command_error(exit_code::unavailable, e.what());
    }
  }
  void order(std::vector<std::string> const& words) const {
    auto const said = ask(words);
    if (said != "OK") throw std::runtime_error(words.front() + ": " + said);
  }

  std::string url_;
  std::string database_ = "0";
  std::optional<herdlock_test::redis_server> own_;
  mutable std::optional<herdlock_test::redis_line> line_;
};

}  // namespace herdlock::lab::fleet
