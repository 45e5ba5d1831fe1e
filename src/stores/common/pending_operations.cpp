#include "stores/common/pending_operations.hpp"

#include <utility>

namespace herdlock::stores {

operation_base::operation_base(std::shared_ptr<pending_operations> const& all,
                               clock::time_point deadline)
    : all_(all), deadline_(deadline) {}

void operation_base::on_due(clock::time_point) {
  auto const all = all_.lock();
  auto const keep = self_;
  if (all) fail(errc::timed_out, all->settings().late);
}

pending_operations::pending_operations(asio::any_io_executor const& executor,
                                       pending_settings settings)
    : executor_(executor),
      settings_(std::move(settings)),
      deadlines_(std::make_shared<shared_timer<>>(executor)) {}

pending_operations::~pending_operations() {
  while (auto* const one = deadlines_->first()) remove(static_cast<operation_base&>(*one));
}

void pending_operations::add(std::shared_ptr<operation_base> const& one) {
  one->self_ = one;
  ++count_;
  deadlines_->add(*one, one->deadline());
}

void pending_operations::remove(operation_base& one) {
  auto const keep = std::exchange(one.self_, nullptr);
  if (!keep) return;
  --count_;
  deadlines_->remove(one);
}

void pending_operations::close() {
  closed_ = true;
  while (auto* const one = deadlines_->first()) {
    static_cast<operation_base&>(*one).fail(errc::canceled, settings_.closed);
  }
}

}  // namespace herdlock::stores
