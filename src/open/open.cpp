#include <herdlock/open.hpp>

#include <herdlock/backend.hpp>
#include <herdlock/detail/blocking.hpp>
#include <herdlock/metrics.hpp>

#include "open/checked_ports.hpp"
#include "runtime/cancelled_on.hpp"
#include "runtime/inherited.hpp"
#include "runtime/store_context.hpp"

namespace herdlock {
inline namespace v0 {

result<store> store::over(backend_factory const& make, open_options options) {
  auto const checked = [&](asio::any_io_executor executor) -> result<backend> {
    auto made = make(executor);
    if (made.has_error()) return made;
    return detail::checked_ports(std::move(*made), executor);
  };
  auto context = detail::store_context::open(checked, options);
  if (context.has_error()) return context.error();
  return store(std::move(*context));
}

void store::throw_moved_from() {
  throw error(make_failure(errc::not_supported, "this store was moved to another object"));
}

asio::any_io_executor store::get_executor() const { return detail::context_of(*this)->executor(); }
std::string const& store::display_name() const {
  return detail::context_of(*this)->core()->display_name();
}
store_traits const& store::traits() const { return detail::context_of(*this)->core()->traits(); }
std::vector<std::string> store::warnings() const {
  auto& core = *detail::context_of(*this)->core();
  auto all = core.told().list();
  for (auto& text : core.caches().warnings()) all.push_back(std::move(text));
  return all;
}
std::vector<std::string> store::notes() const {
  return detail::context_of(*this)->core()->told().notes();
}
store_metrics store::metrics() const { return detail::context_of(*this)->core()->metrics(); }

void store::start_list(store const& self, list_request request, handler<lease_page> done) {
  auto const& core = detail::context_of(self)->core();
  if (runtime::refused_in_child(*core, done)) return;
  done = runtime::cancelled_on(core->executor(), std::move(done));
  asio::dispatch(
      core->executor(), [core, request = std::move(request), done = std::move(done)]() mutable {
        auto const& leases = core->leases();
        if (leases) return leases->list(std::move(request), std::move(done));
        detail::post_result<lease_page>(core->executor(), std::move(done), core->closed_failure());
      });
}

lease_page store::list(list_request request) const {
  auto start = [&](handler<lease_page> done) {
    start_list(*this, std::move(request), std::move(done));
  };
  return detail::wait_for<lease_page>(*detail::context_of(*this), start).value();
}

void store::start_close(store const& self, handler<void> done) {
  auto const& core = detail::context_of(self)->core();
  if (runtime::refused_in_child(*core, done)) return;
  auto const executor = core->executor();
  asio::post(executor, [core, executor, done = std::move(done)]() mutable {
    auto const told = std::make_shared<handler<void>>(std::move(done));
    core->close([executor, told] { detail::post_result<void>(executor, std::move(*told), {}); });
  });
}

void store::close() const {
  auto start = [&](handler<void> done) { start_close(*this, std::move(done)); };
  detail::wait_for<void>(*detail::context_of(*this), start).value();
}

}  // namespace v0
}  // namespace herdlock
