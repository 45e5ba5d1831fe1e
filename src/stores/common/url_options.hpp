// The options of store URLs, declared as data: what the parsers take is what the users are told.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <herdlock/error.hpp>
#include <herdlock/types.hpp>
#include <herdlock/url.hpp>
#include "stores/common/numbers.hpp"

namespace herdlock::stores {

enum class option_kind {
  duration,
  count,
  choice,
  text,
};

/// All as it is written in a URL, and in the tables of docs/stores. A default or a bound that is
/// no value of the kind is the store's own affair, told in words.
struct url_option {
  std::string_view name;
  option_kind kind;
  std::string_view fallback;  ///< "5s", "16"; of a choice one of its range
  std::string_view range;     ///< "50ms to 10m", "from 1"; "full, none"; "a file"
  std::string_view effect;    ///< in one sentence
};

using option_list = std::span<url_option const>;

/// The options that URLs of a scheme may have.
struct scheme_options {
  std::string_view scheme;
  std::array<option_list, 5> lists{};

  std::vector<url_option> all() const;
};

/// Takes a URL's options by their declarations. The first thing that is wrong is kept, and told by
/// end(); until then what is asked for has its default.
class option_reader {
 public:
  option_reader(store_url& url, scheme_options options);

  /// In the URL; a value that is as the default counts, too.
  bool given(std::string_view name) const { return url_.options.contains(name); }
  /// Its default if there is one, else `fallback`. `Taken` is an unsigned integer or int.
  milliseconds duration(std::string_view name, milliseconds fallback = {});
  template <class Number = std::size_t>
  Number count(std::string_view name, Number fallback = {}) {
    return static_cast<Number>(number(name, static_cast<std::uint64_t>(fallback)));
  }
  std::string text(std::string_view name, std::string_view fallback = {});
  /// Which one of its range: an enum that has them in the same order.
  template <class Enum>
  Enum choice(std::string_view name) {
    return static_cast<Enum>(chosen(name));
  }
  /// The place of the value in its range: 1 for "on" of "off, on".
  std::size_t chosen(std::string_view name);

  /// Something else is wrong with the URL.
  void refuse(std::string const& why);
  /// errc::invalid_url for what was wrong so far.
  failure const& error() const { return error_; }
  /// The same, also for an option that nobody took.
  failure end() const;

 private:
  url_option const& declared(std::string_view name) const;
  std::string take(std::string_view name);
  std::uint64_t number(std::string_view name, std::uint64_t fallback);
  void refuse_value(url_option const& which);

  store_url& url_;
  std::vector<url_option> options_;
  std::string display_name_;
  failure error_;
};

/// The address of a server.
struct server_address {
  std::string host;
  std::uint16_t port = 0;
  std::string text() const;  ///< `host:port`, an IPv6 address in brackets
  friend bool operator==(server_address const&, server_address const&) = default;
  friend bool operator<(server_address const& a, server_address const& b) {
    return std::tie(a.host, a.port) < std::tie(b.host, b.port);
  }
};
/// All that a URL names.
std::vector<server_address> hosts_of(store_url const& url, std::uint16_t usual_port);

/// The options of each store that is built; in the component of its name.
std::span<scheme_options const> memory_options();
std::span<scheme_options const> sqlite_options();
std::span<scheme_options const> redis_options();
std::span<scheme_options const> mysql_options();
std::span<scheme_options const> postgres_options();
std::span<scheme_options const> zookeeper_options();
std::span<scheme_options const> etcd_options();
/// Those of all that are built; where open_store() is.
std::vector<scheme_options> all_options();

}  // namespace herdlock::stores
