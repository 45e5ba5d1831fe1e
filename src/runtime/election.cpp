#include <herdlock/election.hpp>

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <herdlock/detail/blocking.hpp>

#include "runtime/acquire_op.hpp"
#include "runtime/election_core.hpp"
#include "runtime/fitted_ttl.hpp"
#include "runtime/inherited.hpp"
#include "runtime/io_runner.hpp"
#include "runtime/require.hpp"

namespace herdlock {
inline namespace v0 {
namespace {

constexpr std::size_t random_digits = 8;

std::string default_candidate() {
  std::array<char, 256> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {'h', 'o', 's', 't'};
  auto const secret = owner_token::generate().str();
  // The token is used for nothing else.
  std::string const tail =
      ":" + std::to_string(::getpid()) + ":" + secret.substr(secret.size() - random_digits);
  return std::string(host.data()).substr(0, limits::max_label_bytes - tail.size()) + tail;
}

failure check(election_options const& options, milliseconds term) {
  if (failure why = check_ttl(options.ttl); why.code) return why;
  auto const stop_grace = options.stop_grace.value_or(milliseconds{0});
  if (stop_grace < milliseconds{0} || stop_grace >= term - stop_grace) {
    return make_failure(errc::invalid_ttl,
                        "stop_grace must be between 0 and half of the ttl (here at most " +
                            std::to_string(term.count()) + " ms)");
  }
  if (options.back_off_first <= milliseconds{0} || options.back_off_most < options.back_off_first ||
      options.back_off_most > limits::max_ttl) {
    return make_failure(errc::invalid_ttl,
                        "back_off_first must be positive and at most back_off_most");
  }
  auto const& id = options.candidate;
  bool const printable =
      std::none_of(id.begin(), id.end(), [](unsigned char c) { return std::iscntrl(c) != 0; });
  if (id.size() <= limits::max_label_bytes && printable) return {};
  return make_failure(errc::invalid_owner, "the candidate " + in_quotes(id) + " must have 1 to " +
                                               std::to_string(limits::max_label_bytes) +
                                               " bytes and no control characters");
}

// A child of fork() leaves the candidate to its parent. The end of the process waits for the term
// to be given back, where a thread of ours does so.
void let_go(std::shared_ptr<detail::election_core> core, std::optional<store> const& where) {
  if (!core) return;
  if (core->home().inherited()) return detail::leave_to_parent(std::move(core));
  core->resign(detail::resignation::for_good);
  if (!detail::context_of(*where)->has_own_thread()) return;
  auto given_back = [duty = runtime::process_end::shared().duty()](result<void> const&) {};
  core->async_resign(std::move(given_back));
}

}  // namespace

election::election(store where, resource name, election_services services, election_options options)
    : where_(std::move(where)) {
  auto const term = runtime::fitted_ttl(where_->traits(), options.ttl);
  if (failure why = check(options, term); why.code) throw error(why);
  options.ttl = term;
  runtime::require(static_cast<bool>(services.start_work), "an election without start_work");
  if (options.candidate.empty()) options.candidate = default_candidate();
  core_ = std::make_shared<detail::election_core>(detail::context_of(*where_), std::move(name),
                                                  std::move(services), std::move(options));
}

election::election(election&&) noexcept = default;

election& election::operator=(election&& other) noexcept {
  if (this == &other) return *this;
  let_go(std::exchange(core_, std::move(other.core_)), where_);
  where_ = std::move(other.where_);
  return *this;
}

election::~election() { let_go(std::move(core_), where_); }

detail::election_core& election::core() const {
  if (core_) return *core_;
  throw error(make_failure(errc::not_supported, "this election was moved to another object"));
}

// A child of fork() has nothing of it, as one that was moved from.
bool election::is_elsewhere() const { return !core_ || core_->home().inherited(); }

resource const& election::name() const { return core().name(); }
std::string const& election::candidate() const { return core().candidate(); }
election_state election::state() const {
  return is_elsewhere() ? election_state::idle : core_->state();
}
void election::resign() {
  if (!is_elsewhere()) core_->resign(detail::resignation::from_campaign);
}
void election::close() {
  if (!is_elsewhere()) core_->resign(detail::resignation::for_good);
}
asio::any_io_executor election::executor() const { return core().executor(); }

void election::start_campaign(std::shared_ptr<detail::election_core> const& core,
                              handler<void> done) {
  if (runtime::refused_in_child(core->home(), done)) return;
  core->campaign(std::move(done));
}

void election::start_resign(std::shared_ptr<detail::election_core> const& core,
                            handler<void> done) {
  if (runtime::refused_in_child(core->home(), done)) return;
  core->async_resign(std::move(done));
}

void election::campaign() {
  auto start = [&mine = core()](handler<void> done) { mine.campaign(std::move(done)); };
  detail::wait_for<void>(*detail::context_of(*where_), start).value();
}

void election::campaign(std::stop_token stop) {
  auto start = [&mine = core()](handler<void> done) { mine.campaign(std::move(done)); };
  auto const ended =
      detail::wait_for<void>(*detail::context_of(*where_), start, detail::dropped_answer{}, stop);
  bool const is_stopped = ended.has_error() && ended.error() == errc::canceled;
  if (!is_stopped || !stop.stop_requested()) ended.value();
}

}  // namespace v0
}  // namespace herdlock
