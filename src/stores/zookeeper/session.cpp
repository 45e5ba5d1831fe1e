#include "stores/zookeeper/session.hpp"

#include <zookeeper/zookeeper.h>

#include <algorithm>
#include <boost/asio/post.hpp>

#include "stores/common/numbers.hpp"
#include "stores/common/shared_timer.hpp"
#include "stores/zookeeper/store_state.hpp"

namespace herdlock::zookeeper {
namespace {

constexpr std::chrono::milliseconds pause_before_retry{500};
// Closing sends its words at once; the answer, and a look-up that hangs, are left behind.
constexpr std::chrono::milliseconds longest_close{800};
constexpr std::chrono::milliseconds longest_close_unheard{100};

bool is_write(verb what) { return what <= verb::remove_both; }

// The C client's many words for two things.
int simplified(int code) {
  switch (code) {
    case ZINVALIDSTATE:
      return ZSESSIONEXPIRED;
    case ZOPERATIONTIMEOUT:
    case ZCLOSING:
    case ZSESSIONMOVED:
      return ZCONNECTIONLOSS;
    default:
      return code;
  }
}

}  // namespace

void session::start() {
  asio::post(executor_, [weak = weak_from_this()] {
    if (auto self = weak.lock()) self->replace_handle();
  });
}

void session::close() {
  std::shared_ptr<client_handle> last;
  {
    std::lock_guard const alone(guard_);
    if (closed_) return;
    closed_ = true;
    last.swap(handle_);
  }
  if (last) last->detach(client_handle::calls::dropped);
  // Without a thread for it, it ends with the last of those who have it.
  if (last && !handle_threads_.run([last] { last->end(); })) last.reset();
  auto const most = connected_ ? longest_close : longest_close_unheard;
  handle_threads_.wait_until(clock::now() + std::min(settings_.timeout, most));
}

void session::replace_handle() {
  if (!detached_threads::crowded() && open_handle()) return;
  refusal_ = "no thread is left to look " + settings_.servers + " up; is the DNS server down?";
  retry_later();
}

// On the executor. The old handle is ended before the new one is opened.
bool session::open_handle() {
  std::lock_guard const alone(guard_);
  if (closed_) return true;
  auto old = std::move(handle_);
  if (old) old->detach(client_handle::calls::answered);
  ++number_;
  logged_in_ = false;
  handle_ = std::make_shared<client_handle>(executor_, weak_from_this(), number_);
  return handle_threads_.run([old, fresh = handle_, how = settings_] {
    if (old) old->end();
    fresh->open(how);
  });
}

std::shared_ptr<client_handle> session::present_handle() {
  std::lock_guard const alone(guard_);
  return handle_;
}

void session::on_handle_event(std::uint64_t number, handle_event what, milliseconds timeout) {
  if (number != number_) return;
  switch (what) {
    case handle_event::connected:
      return on_connected(timeout);
    case handle_event::suspended:
      connected_ = false;
      return;
    case handle_event::expired:
      lose();
      return replace_handle();
    case handle_event::refused_login:
      refusal_ = "the server refuses the login; check user and password";
      lose();
      return retry_later();
    case handle_event::no_handle:
      refusal_ = "the addresses of " + settings_.servers + " cannot be found; check the host names";
      return retry_later();
  }
}

void session::on_connected(milliseconds timeout) {
  refusal_.clear();
  if (timeout < settings_.session_timeout) {
    refusal_ = "the server grants sessions of at most " + in_ms(timeout) +
               "; set session_timeout to that, or raise its maxSessionTimeout";
  }
  auto const handle = present_handle();
  if (!handle) return;
  if (!logged_in_ && !settings_.login.empty()) handle->log_in(settings_.login);
  logged_in_ = true;
  connected_ = true;
  ++connections_;
  auto parked = std::exchange(waiting_, {});
  for (auto& one : parked) send(std::move(one));
  if (auto alive = owner_.lock()) alive->on_connected();
}

void session::lose() {
  connected_ = false;
  proved_at_.reset();
  auto const lost = number_;
  for (auto& one : std::exchange(waiting_, {})) {
    // Those for any session wait for the next one.
    if (one.what.session == 0) {
      waiting_.push_back(std::move(one));
    } else if (one.what.session == lost) {
      answer_later(std::move(one), ZSESSIONEXPIRED);
    }
  }
  if (auto alive = owner_.lock()) alive->on_session_lost();
}

void session::retry_later() {
  for (auto& one : std::exchange(waiting_, {})) answer_later(std::move(one), ZAUTHFAILED);
  stores::run_after(retry_, pause_before_retry, weak_from_this(),
                    [](session& self) { self.replace_handle(); });
}

void session::on_watch_event(std::string const& path, watch_event what) {
  if (auto alive = owner_.lock()) alive->on_watch_event(path, what);
}

void session::call(request what, std::weak_ptr<void> owner, reply_handler done) {
  waiting_call one{std::move(what), std::move(owner), std::move(done)};
  if (one.what.session != 0 && one.what.session != number_) {
    return answer_later(std::move(one), ZSESSIONEXPIRED);
  }
  if (connected_) return send(std::move(one));
  if (waiting_.size() >= tidy_at_) {
    std::erase_if(waiting_, [](auto const& each) { return each.owner.expired(); });
    tidy_at_ = std::max<std::size_t>(64, 2 * waiting_.size());
  }
  waiting_.push_back(std::move(one));
}

// On the guard's thread. A connection that is lost with it is no end of the lease: the C client
// keeps the session alive, and the executor may be blocked for long.
void session::remove_at_once(expiry_guard::node const& over) {
  auto const handle = present_handle();
  if (!handle || handle->number() != over.session) return;
  handle->remove(over.path, [this, over](int code) {
    if (simplified(code) == ZCONNECTIONLOSS) expiry_.remove_again(over);
  });
}

void session::send(waiting_call one) {
  if (one.owner.expired()) return;
  // What is there goes all the same: the C client would keep it alive for ever.
  bool const removes = one.what.what == verb::remove || one.what.what == verb::remove_both;
  if (!refusal_.empty() && !removes) return answer_later(std::move(one), ZAUTHFAILED);
  auto const handle = present_handle();
  if (!handle) return;
  auto const what = one.what;
  handle->send(what, settings_.acl,
               [weak = weak_from_this(), one = std::move(one)](reply answer) mutable {
                 if (auto self = weak.lock()) self->on_reply(one, std::move(answer));
               });
}

void session::on_reply(waiting_call const& one, reply answer) {
  answer.code = simplified(answer.code);
  if (answer.code == ZOK && answer.session == number_ && is_write(one.what.what)) {
    proved_at_ = std::max(proved_at_.value_or(answer.sent), answer.sent);
  }
  if (!one.owner.expired()) one.done(std::move(answer));
}

void session::answer_later(waiting_call one, int code) {
  asio::post(executor_, [one = std::move(one), code, number = number_] {
    if (!one.owner.expired()) one.done({.code = code, .session = number});
  });
}

}  // namespace herdlock::zookeeper
