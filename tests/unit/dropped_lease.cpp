// Not part of any program: the compiler must warn of each of these, since the lock is not held on
// the line behind it. See the test dropped_lease.
#include <herdlock/election.hpp>
#include <herdlock/while_held.hpp>

namespace {

herdlock::lease made(herdlock::lock const& where) { return std::move(*where.try_acquire()); }

}  // namespace

void drop_all(herdlock::lock const& where, herdlock::lease_ticket const& ticket) {
  where.try_acquire();
  where.acquire({});
  where.restore(ticket);
  where.with({}, [](herdlock::lease&) {});
  made(where);
  herdlock::async_with(where, {},
                       [](herdlock::lease&) -> boost::asio::awaitable<void> { co_return; });
  herdlock::observe(where.where(), where.name(), {});
}
