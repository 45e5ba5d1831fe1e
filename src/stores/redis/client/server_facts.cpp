#include "stores/redis/client/server_facts.hpp"

#include <utility>

namespace herdlock::redis {
namespace {

void take_line(server_facts& into, std::string_view name, std::string_view value) {
  std::pair<std::string_view, std::string server_facts::*> constexpr texts[] = {
      {"redis_version", &server_facts::version},  {"redis_mode", &server_facts::mode},
      {"server_mode", &server_facts::mode},  // Valkey's
      {"run_id", &server_facts::run_id},          {"role", &server_facts::role},
      {"master_replid", &server_facts::replid},   {"maxmemory_policy", &server_facts::policy},
      {"aof_enabled", &server_facts::append_only}};
  for (auto const& [known, member] : texts) {
    if (name == known) into.*member = value;
  }
  if (name == "connected_slaves") into.replicas = whole_number<std::int64_t>(value);
}

}  // namespace

void read_info(server_facts& into, std::string_view info) {
  for_each_fact(info, [&](auto name, auto value) { take_line(into, name, value); });
}

std::optional<std::int64_t> read_time(reply const& answer) {
  auto const seconds = answer.number(1);
  auto const micros = answer.number(2);
  if (answer.kind() != reply_kind::list || !seconds || !micros) return {};
  return *seconds * 1'000'000 + *micros;
}

bool is_older_than(server_facts const& server, int major, int minor) {
  std::string_view const text = server.version;
  auto const dot = text.find('.');
  if (dot == std::string_view::npos) return false;
  auto const first = whole_number<std::int64_t>(text.substr(0, dot));
  auto const second =
      whole_number<std::int64_t>(text.substr(dot + 1, text.find('.', dot + 1) - dot - 1));
  if (!first || !second) return false;
  return std::pair(*first, *second) < std::pair<std::int64_t, std::int64_t>(major, minor);
}

}  // namespace herdlock::redis
