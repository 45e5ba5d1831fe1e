#include <herdlock/open.hpp>
#include <herdlock/url.hpp>

#include "open/schemes.hpp"
#include "runtime/store_context.hpp"

namespace herdlock {

result<store> store::over(backend_factory const& make, open_options options) {
  auto context = detail::store_context::open(make, options);
  if (context.has_error()) return context.error();
  return store(std::move(*context));
}

asio::any_io_executor store::get_executor() const { return context_->executor(); }
std::string const& store::display_name() const { return context_->core()->display_name(); }
store_traits const& store::traits() const { return context_->core()->traits(); }
std::vector<std::string> store::warnings() const { return context_->core()->warnings(); }
store_metrics store::metrics() const { return context_->core()->metrics(); }

result<store> try_open_store(std::string_view text, open_options options) {
  auto url = store_url::parse(text);
  if (url.has_error()) return url.error();
  auto const entry = detail::find_scheme(*url);
  if (entry.has_error()) return entry.error();
  auto const make = [&](asio::any_io_executor ex) { return entry->open(*url, std::move(ex)); };
  return store::over(make, std::move(options));
}

store open_store(std::string_view url, open_options options) {
  return try_open_store(url, std::move(options)).value();
}

}  // namespace herdlock
