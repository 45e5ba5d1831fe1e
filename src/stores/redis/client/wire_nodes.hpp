// What Boost.Redis reads, as replies. For transport.cpp alone.
#pragma once

#include <boost/redis/resp3/node.hpp>
#include <boost/redis/resp3/type.hpp>
#include <boost/system/error_code.hpp>
#include <deque>
#include <utility>

#include "stores/redis/client/reply.hpp"

namespace herdlock::redis {

using wire_node = boost::redis::resp3::node_view;

inline void add_node(reply& to, wire_node const& node) {
  using type = boost::redis::resp3::type;
  reply_kind kind = reply_kind::text;
  if (boost::redis::resp3::is_aggregate(node.data_type)) kind = reply_kind::list;
  if (node.data_type == type::null) kind = reply_kind::null;
  if (node.data_type == type::number) kind = reply_kind::number;
  if (node.data_type == type::simple_error || node.data_type == type::blob_error) {
    kind = reply_kind::error;
  }
  // A map counts its names and its values.
  auto const elements =
      node.aggregate_size * boost::redis::resp3::element_multiplicity(node.data_type);
  to.add(kind, elements, node.value);
}

// Collects whole messages; the connection announces each through its receive channel.
struct push_sink {
  std::deque<reply> complete;
  reply growing;
  std::size_t missing = 0;

  void add(wire_node const& node) {
    if (growing.empty()) missing = 1;
    --missing;
    if (boost::redis::resp3::is_aggregate(node.data_type)) {
      missing += node.aggregate_size * boost::redis::resp3::element_multiplicity(node.data_type);
    }
    add_node(growing, node);
    if (missing != 0) return;
    complete.push_back(std::move(growing));
    growing = reply{};
  }
};

struct push_adapter {
  push_sink* into;
  std::size_t get_supported_response_size() const noexcept { return static_cast<std::size_t>(-1); }
  void operator()(std::size_t, wire_node const& node, boost::system::error_code&) {
    into->add(node);
  }
};
inline push_adapter boost_redis_adapt(push_sink& into) noexcept { return {&into}; }

}  // namespace herdlock::redis
