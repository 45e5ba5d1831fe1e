#include "stores/etcd/connection_pool.hpp"

#include <boost/asio/ssl/error.hpp>

namespace herdlock::etcd {
namespace {

constexpr milliseconds first_rest{20};
constexpr milliseconds longest_rest{250};
constexpr int most_token_renewals = 2;

// No leader at present, a member that stops, a request that the cluster could not agree on.
bool may_pass(refusal const& refused) {
  constexpr int unknown = 2;
  constexpr int deadline_exceeded = 4;
  constexpr int internal = 13;
  int const code = refused.code;
  if (code == status::failed_precondition)
    return refused.message.find("leader") != std::string::npos;
  return code == status::unavailable || code == unknown || code == deadline_exceeded ||
         code == internal;
}

// The token has expired, is of a member that was restarted, or older than a change of rights.
bool wants_new_token(refusal const& refused) {
  if (refused.code == status::unauthenticated) return true;
  if (refused.code != status::invalid_argument) return false;
  auto const says = [&](char const* text) {
    return refused.message.find(text) != std::string::npos;
  };
  return says("auth store is old") || says("user name is empty") || says("invalid auth token");
}

bool says_auth_is_off(refusal const& refused) {
  return refused.code == status::failed_precondition &&
         refused.message.find("authentication is not enabled") != std::string::npos;
}

failure stranger(stores::server_address const& one) {
  return make_failure(errc::unavailable,
                      one.text() +
                          " is a member of another cluster than the others of the URL, so it is "
                          "not believed; name members of one cluster");
}

}  // namespace

connection_pool::connection_pool(asio::any_io_executor executor, settings how)
    : executor_(std::move(executor)), how_(std::move(how)), clusters_(how_.members.size()) {}

// Before anybody is believed. With one member there is nobody to compare it with.
asio::awaitable<void> connection_pool::survey(clock::time_point deadline) {
  if (how_.members.size() == 1) co_return;
  if (surveyed_) {
    if (surveyed_->expiry() == clock::time_point::max()) co_await surveyed_->async_wait(no_throw);
    co_return;
  }
  auto const mine = surveyed_ = std::make_shared<timer>(executor_, clock::time_point::max());
  co_await ask_members(deadline);
  mine->expires_at(clock::now());  // wakes those who wait
}

// One after the other, until most of them have named one cluster.
asio::awaitable<void> connection_pool::ask_members(clock::time_point deadline) {
  std::string const nothing = "{}";
  for (std::size_t i = 0; i < how_.members.size() && clock::now() < deadline; ++i) {
    if (clusters_.certain()) co_return;
    auto asked = make(i);
    auto const until = attempt_deadline(deadline);
    http_answer answer;
    answer.ec = co_await asked->connect(until);
    http_request const request{path::status, nothing, token_};
    if (!answer.ec) answer = co_await asked->exchange(request, until);
    if (answer.ec) {
      suspect(i);
      continue;
    }
    clusters_.heard(i, cluster_in(answer.body));
    if (answer.lasts) idle_.push_back({i, std::move(asked)});
  }
}

bool connection_pool::heard(std::size_t member, std::string const& line) {
  bool const ours = clusters_.heard(member, cluster_in(line));
  if (!ours) suspect(member);
  return ours;
}

asio::awaitable<call_outcome> connection_pool::call(char const* path, std::string const& body,
                                                    clock::time_point deadline) {
  auto const self = shared_from_this();
  call_outcome outcome;
  bool const mine = co_await wait_for_slot(deadline);
  if (!mine) {
    outcome.why = make_failure(errc::timed_out, "all " + std::to_string(how_.connections) +
                                                    " connections are in use; send fewer commands "
                                                    "at once or raise 'connections'");
    co_return outcome;
  }
  std::shared_ptr<void> const slot(nullptr, [this](void*) { give_slot_back(); });
  co_await survey(deadline);
  milliseconds pause = first_rest;
  for (std::size_t tried = 1;; ++tried) {
    bool const completed = co_await attempt(path, body, deadline, outcome);
    if (completed || clock::now() >= deadline) co_return outcome;
    if (tried % how_.members.size() != 0) continue;
    if (outcome.why.code == errc::access_denied) co_return outcome;
    timer rest(executor_, std::min(clock::now() + pause, deadline));
    auto const rested = co_await rest.async_wait(no_throw);
    if (std::get<0>(rested)) co_return outcome;
    pause = std::min(pause * 2, longest_rest);
  }
}

// One try; true when its outcome is the call's.
asio::awaitable<bool> connection_pool::attempt(char const* path, std::string const& body,
                                               clock::time_point deadline, call_outcome& outcome) {
  for (int renewals = 0;; ++renewals) {
    outcome.refused = {};
    if (!how_.user.empty() && token_.empty() && !open_to_all_) {
      outcome.refused = co_await authenticate(deadline);
    }
    http_answer answer;
    std::string const token = token_;
    auto const member = current_;
    if (outcome.refused.code == status::ok) {
      http_request const request{path, body, token};
      answer = co_await exchange(request, attempt_deadline(deadline));
      outcome.attempts += answer.sendings;
      if (!answer.ec) outcome.refused = refusal_in(answer.status, answer.body);
    }
    if (answer.ec) {
      suspect(member);
      outcome.why = failure_to_reach(member, answer.ec);
      co_return false;
    }
    if (!heard(member, answer.body)) {
      outcome.attempts -= answer.sendings;  // nothing was done in our cluster
      outcome.why = stranger(how_.members[member]);
      co_return false;
    }
    outcome.body = std::move(answer.body);
    outcome.why = {};
    if (may_pass(outcome.refused)) {
      suspect(member);
      outcome.why = failure_of(outcome.refused);
      co_return false;
    }
    if (!wants_new_token(outcome.refused) || how_.user.empty() || renewals == most_token_renewals) {
      co_return true;
    }
    --outcome.attempts;  // it was not carried out
    if (token_ == token) token_.clear();
    open_to_all_ = false;
  }
}

// A connection that had been idle may have been closed by the other side: that says nothing about
// the member, so a new one is tried.
asio::awaitable<http_answer> connection_pool::exchange(http_request const& request,
                                                       clock::time_point deadline) {
  auto const member = current_;
  http_answer answer;
  if (auto idle = take_idle(member)) {
    answer = co_await idle->exchange(request, deadline);
    answer.sendings = 1;
    if (!answer.ec && answer.lasts) idle_.push_back({member, std::move(idle)});
    if (!answer.ec || clock::now() >= deadline) co_return answer;
    std::erase_if(idle_, [&](idle_connection const& one) { return one.member == member; });
  }
  auto fresh = make(member);
  answer.ec = co_await fresh->connect(deadline);
  if (answer.ec) co_return answer;
  int const before = answer.sendings;
  answer = co_await fresh->exchange(request, deadline);
  answer.sendings = before + 1;
  if (!answer.ec && how_.tls.source) {
    how_.tls.source->worked_with(how_.members[member].text());
  }
  if (!answer.ec && answer.lasts) idle_.push_back({member, std::move(fresh)});
  co_return answer;
}

std::unique_ptr<connection> connection_pool::make(std::size_t member) {
  stores::tls_choice tls;
  if (how_.tls.source) tls = how_.tls.source->choose();
  file_error_ = std::move(tls.file_error);
  return make_connection(executor_, how_, how_.members[member], tls.context);
}

// What TLS refuses at first it refuses the next time, too. Where it has worked before, one side is
// being given other certificates, and the next time may be better.
failure connection_pool::failure_to_reach(std::size_t member, error_code ec) const {
  std::string const address = how_.members[member].text();
  std::string const what = address + " (" + ec.message() + ")";
  if (ec.category() != asio::error::get_ssl_category())
    return make_failure(errc::unavailable, what);
  bool const passes = how_.tls.source->has_worked_with(address);
  std::string const file_error = file_error_.empty() ? "" : "; " + file_error_;
  if (!passes) {
    return make_failure(errc::access_denied, what + "; check cafile, cert and key" + file_error);
  }
  auto why = make_failure(errc::unavailable,
                          what +
                              "; it worked before, and is tried again with the files that are "
                              "there then: check cafile, cert and key" +
                              file_error);
  how_.tls.source->warn(why.message);
  return why;
}

asio::awaitable<refusal> connection_pool::authenticate(clock::time_point deadline) {
  std::string const body = authenticate_request(how_.user, how_.password);
  std::string const no_token;
  http_request const request{path::authenticate, body, no_token};
  auto const answer = co_await exchange(request, attempt_deadline(deadline));
  if (answer.ec) co_return refusal{status::unavailable, answer.ec.message()};
  refusal refused = refusal_in(answer.status, answer.body);
  if (says_auth_is_off(refused)) {
    open_to_all_ = true;
    co_return refusal{};
  }
  if (refused.code != status::ok) {
    // Whatever the code, so that it is told from a refused command.
    if (!may_pass(refused)) refused.code = status::permission_denied;
    co_return refused;
  }
  auto token = token_in(answer.body);
  if (!token) co_return refusal{status::not_understood, "an authentication without a token"};
  token_ = std::move(*token);
  co_return refusal{};
}

asio::awaitable<opened_stream> connection_pool::open_stream(char const* path,
                                                            clock::time_point deadline) {
  auto const self = shared_from_this();
  opened_stream opened;
  if (!how_.user.empty() && token_.empty() && !open_to_all_) {
    refusal const refused = co_await authenticate(deadline);
    if (refused.code != status::ok) co_return opened;
  }
  opened.member = current_;
  auto fresh = make(opened.member);
  error_code ec = co_await fresh->connect(attempt_deadline(deadline));
  std::string const token = token_;
  std::string const no_body;
  http_request const request{path, no_body, token};
  if (!ec) ec = co_await fresh->open_stream(request, attempt_deadline(deadline));
  if (!ec) opened.connection = std::move(fresh);
  if (ec) suspect(opened.member);
  co_return opened;
}

void connection_pool::suspect(std::size_t member) {
  if (member != current_) return;
  current_ = (current_ + 1) % how_.members.size();
  std::erase_if(idle_, [&](idle_connection const& one) { return one.member == member; });
}

std::unique_ptr<connection> connection_pool::take_idle(std::size_t member) {
  while (!idle_.empty()) {
    idle_connection last = std::move(idle_.back());
    idle_.pop_back();
    if (last.member == member) return std::move(last.connection);
  }
  return nullptr;
}

// So that a member that hangs leaves time for the others.
clock::time_point connection_pool::attempt_deadline(clock::time_point deadline) const {
  if (how_.members.size() == 1) return deadline;
  auto const share = how_.timeout / static_cast<int>(how_.members.size() + 1);
  return std::min(deadline, clock::now() + share);
}

asio::awaitable<bool> connection_pool::wait_for_slot(clock::time_point deadline) {
  if (in_use_ < how_.connections) {
    ++in_use_;
    co_return true;
  }
  auto const turn = std::make_shared<timer>(executor_, deadline);
  queue_.push_back(turn);
  auto const woken = co_await turn->async_wait(no_throw);
  if (std::get<0>(woken)) co_return true;  // cancelled by who handed its slot over
  // The timer may have rung at the moment of the hand-over: then the slot is ours as well.
  co_return std::erase(queue_, turn) == 0;
}

void connection_pool::give_slot_back() {
  if (queue_.empty()) {
    --in_use_;
    return;
  }
  auto const next = queue_.front();
  queue_.pop_front();
  next->cancel();
}

failure failure_of(refusal const& refused) {
  switch (refused.code) {
    case status::ok:
      return {};
    case status::permission_denied:
    case status::unauthenticated:
      return make_failure(errc::access_denied, refused.message + "; check user, password and role");
    case status::invalid_argument:
      return make_failure(refused.message.find("user name is empty") != std::string::npos
                              ? errc::access_denied
                              : errc::protocol,
                          refused.message + "; write user:password@ if etcd has users");
    case status::resource_exhausted:
      return make_failure(errc::unavailable, refused.message + "; free space or send less");
    case status::not_understood:
      return make_failure(errc::protocol, "this is not an etcd v3 gateway: " + refused.message);
    default:
      return make_failure(errc::unavailable, refused.message);
  }
}

failure not_understood() {
  return make_failure(errc::protocol,
                      "the answer is not one of etcd's v3 API; is it older than 3.4?");
}

failure failure_of(call_outcome const& outcome) {
  if (outcome.why.code) return outcome.why;
  return failure_of(outcome.refused);
}

}  // namespace herdlock::etcd
