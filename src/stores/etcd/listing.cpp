#include "stores/etcd/listing.hpp"

#include <algorithm>

namespace herdlock::etcd {
namespace {

// Keys of a lease that end in a number in hex are entries of queues, ours and those of etcd's own
// recipes.
std::optional<resource> resource_of(key_entry const& one) {
  constexpr std::size_t most_digits = 16;
  std::string_view const key = one.key;
  auto const slash = key.rfind('/');
  if (one.lease == 0 || slash == key.npos) return std::nullopt;
  auto const number = key.substr(slash + 1);
  bool const hex = number.find_first_not_of("0123456789abcdef") == number.npos;
  if (number.empty() || number.size() > most_digits || !hex) return std::nullopt;
  auto name = resource::parse(key.substr(0, slash));
  if (!name) return std::nullopt;
  return *std::move(name);
}

lease_page page_of(range_reply const& found, std::size_t most) {
  lease_page page;
  for (auto const& one : found.entries) {
    auto name = resource_of(one);
    // Those who wait for a resource stand beside its holder.
    if (name && (page.names.empty() || page.names.back() != *name)) {
      page.names.push_back(*std::move(name));
    }
  }
  if (found.entries.size() == most) page.cursor = found.entries.back().key;
  return page;
}

}  // namespace

asio::awaitable<void> list_part(std::shared_ptr<connection_pool> connections,
                                herdlock::list_request asked, std::shared_ptr<list_operation> op) {
  auto const most = page_size(asked);
  std::string const body = keys_request(asked.cursor, most);
  auto const found = co_await connections->ask(exchange::range, body);
  if (!found.reply) co_return op->fail(found.why);
  op->complete(page_of(*found.reply, most));
}

}  // namespace herdlock::etcd
