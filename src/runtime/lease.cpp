#include <herdlock/lease.hpp>

#include <algorithm>
#include <charconv>
#include <herdlock/detail/blocking.hpp>
#include <utility>

#include "runtime/inherited.hpp"
#include "runtime/lease_core.hpp"

namespace herdlock {
inline namespace v0 {
namespace {

template <class Number>
std::optional<Number> take_number(std::string_view& text) {
  Number value{};
  auto const [end, ec] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (ec != std::errc{} || end == text.data() + text.size() || *end != ':') return std::nullopt;
  text.remove_prefix(static_cast<std::size_t>(end - text.data()) + 1);
  return value;
}

bool is_inherited(detail::lease_core const& core) { return core.home().inherited(); }

// A child of fork() leaves the lease to its parent.
void let_go(std::shared_ptr<detail::lease_core> core) {
  if (!core) return;
  if (is_inherited(*core)) return detail::leave_to_parent(std::move(core));
  core->abandon();
}

}  // namespace

// The owner's text may hold colons, the resource's anything: so the owner goes by its length.
std::string lease_ticket::str() const {
  return std::to_string(ttl.count()) + ":" + std::to_string(fencing.value) + ":" +
         std::to_string(owner.str().size()) + ":" + owner.str() + ":" + name.str();
}

result<lease_ticket> lease_ticket::parse(std::string_view text) {
  auto const refuse = [] { return make_failure(errc::invalid_owner, "not a lease ticket"); };
  auto const ttl = take_number<std::int64_t>(text);
  auto const fencing = take_number<std::uint64_t>(text);
  auto const size = take_number<std::size_t>(text);
  if (!ttl || !fencing || !size || text.size() <= *size || text[*size] != ':') return refuse();
  auto owner = owner_token::parse(text.substr(0, *size));
  auto name = resource::parse(text.substr(*size + 1));
  if (owner.has_error() || name.has_error()) return refuse();
  if (check_ttl(milliseconds{*ttl}).code) return refuse();
  return lease_ticket{std::move(*name), std::move(*owner), fencing_token{*fencing},
                      milliseconds{*ttl}};
}

void lease_store::leave(leave_request request, handler<release_reply> done) {
  auto why = make_failure(errc::not_supported,
                          "the lease on '" + request.name.str() + "' cannot be left behind");
  detail::post_result<release_reply>(asio::system_executor(), std::move(done), std::move(why));
}

lease::lease(std::shared_ptr<detail::store_context> context,
             std::shared_ptr<detail::lease_core> core) noexcept
    : context_(std::move(context)), core_(std::move(core)) {}

lease::lease(lease&&) noexcept = default;

lease& lease::operator=(lease&& other) noexcept {
  if (this == &other) return *this;
  let_go(std::exchange(core_, std::move(other.core_)));
  context_ = std::move(other.context_);
  return *this;
}

lease::~lease() { let_go(std::move(core_)); }

detail::lease_core& lease::core() const {
  if (core_) return *core_;
  throw error(make_failure(errc::lost,
                           "there is no lease in this object: it was moved to another one, or "
                           "detached"));
}

resource const& lease::name() const { return core().name(); }
fencing_token lease::fencing() const { return core().fencing(); }
owner_token const& lease::owner() const { return core().owner(); }
bool lease::valid() const noexcept {
  return core_ && !is_inherited(*core_) && core_->proof().valid();
}
clock::time_point lease::valid_until() const noexcept {
  return core_ ? core_->proof().until() : clock::time_point::min();
}
milliseconds lease::remaining() const noexcept {
  if (!valid()) return milliseconds{0};
  auto const left = valid_until() - clock::now();
  return std::max(milliseconds{0}, std::chrono::duration_cast<milliseconds>(left));
}
std::stop_token lease::lost_token() const noexcept {
  if (!core_) return {};
  if (!is_inherited(*core_)) return core_->proof().lost();
  std::stop_source none_here;
  none_here.request_stop();
  return none_here.get_token();
}

failure lease::lost_reason() const {
  if (is_inherited(core())) return runtime::why_inherited(core_->home());
  return core_->proof().why_lost();
}

asio::any_io_executor lease::executor() const { return core().executor(); }

void lease::wait_lost(std::shared_ptr<detail::lease_core> const& core, handler<void> done) {
  if (runtime::refused_in_child(core->home(), done)) return;
  core->wait_lost(std::move(done));
}

void lease::give_back(std::shared_ptr<detail::lease_core> const& core,
                      handler<release_reply> done) {
  if (runtime::refused_in_child(core->home(), done)) return;
  core->give_back(std::move(done));
}

void lease::leave_behind(std::shared_ptr<detail::lease_core> const& core, milliseconds time,
                         left_as how, handler<release_reply> done) {
  if (runtime::refused_in_child(core->home(), done)) return;
  core->leave(time, how, std::move(done));
}

void lease::ask_renewal(std::shared_ptr<detail::lease_core> const& core,
                        handler<renew_reply> done) {
  if (runtime::refused_in_child(core->home(), done)) return;
  core->renew_now(std::move(done));
}

renew_reply lease::renew() {
  auto start = [&mine = core()](handler<renew_reply> done) { mine.renew_now(std::move(done)); };
  return detail::wait_for<renew_reply>(*context_, start).value();
}

release_reply lease::release() {
  auto start = [&mine = core()](handler<release_reply> done) { mine.give_back(std::move(done)); };
  return detail::wait_for<release_reply>(*context_, start).value();
}

release_reply lease::leave(milliseconds time, left_as how) {
  auto start = [&mine = core(), time, how](handler<release_reply> done) {
    mine.leave(time, how, std::move(done));
  };
  return detail::wait_for<release_reply>(*context_, start).value();
}

lease_ticket lease::detach() && {
  auto& mine = core();
  if (failure why = runtime::why_inherited(mine.home()); why.code) throw error(std::move(why));
  auto const last = std::move(core_);
  mine.detach();
  return {mine.name(), mine.owner(), mine.fencing(), mine.ttl()};
}

}  // namespace v0
}  // namespace herdlock
