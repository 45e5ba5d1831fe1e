#include "stores/etcd/connection_pool.hpp"

#include <boost/beast/core/error.hpp>

#include "stores/etcd/dialing.hpp"

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

}  // namespace

connection_pool::connection_pool(asio::any_io_executor executor, settings how)
    : executor_(std::move(executor)),
      how_(std::move(how)),
      survey_(std::make_shared<member_survey>(executor_, how_)),
      news_(executor_) {}

// Before anybody is believed; then the member that is asked is one that named our cluster.
asio::awaitable<failure> connection_pool::survey(clock::time_point deadline) {
  failure const why = co_await survey_->agree(deadline);
  auto const members = how_.members.size();
  for (std::size_t i = 0; i < members && !why.code; ++i) {
    auto const one = (current_ + i) % members;
    if (!survey_->known(one)) continue;
    current_ = one;
    break;
  }
  co_return why;
}

bool connection_pool::heard(std::size_t member, std::string const& line) {
  bool const ours = survey_->heard(member, line);
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
  milliseconds pause = first_rest;
  for (std::size_t tried = 1;; ++tried) {
    failure const unsure = co_await survey(deadline);
    if (unsure.code) {
      outcome.why = unsure;
      outcome.refused = {};
      co_return outcome;
    }
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
  auto const member = current_;
  outcome.refused = {};
  outcome.why = co_await survey_->admit(member, attempt_deadline(deadline));
  if (outcome.why.code) {
    suspect(member);
    co_return false;
  }
  for (int renewals = 0;; ++renewals) {
    outcome.refused = {};
    if (wants_log_in()) outcome.refused = co_await authenticate(member, deadline);
    http_answer answer;
    std::string const token = token_;
    auto const until = attempt_deadline(deadline);
    bool const has_time = until - clock::now() >= how_.timeout / 10;
    if (outcome.refused.code == status::ok) {
      http_request const request{path, body, token};
      answer = co_await exchange(member, request, until);
      outcome.attempts += answer.sendings;
      if (!answer.ec) outcome.refused = refusal_in(answer.status, answer.body);
    }
    if (answer.ec) {
      suspect(member);
      bool const tells = has_time || answer.ec != boost::beast::error::timeout;
      if (tells || !outcome.told.code) outcome.told = failure_to_reach(how_, member, answer);
      outcome.why = outcome.told;
      co_return false;
    }
    outcome.why = co_await weigh(member, answer, outcome.refused);
    if (outcome.why.code) {
      outcome.attempts -= answer.sendings;  // nothing was done in our cluster
      suspect(member);
      co_return false;
    }
    outcome.body = std::move(answer.body);
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

// Success when the answer is of our cluster. What is refused for good does not tell of a cluster,
// so the member is asked for its own: a stranger's no says nothing of what we have.
asio::awaitable<failure> connection_pool::weigh(std::size_t member, http_answer const& answer,
                                                refusal const& refused) {
  if (!survey_->heard(member, answer.body)) co_return survey_->stranger(member);
  bool const is_final = refused.code != status::ok && !may_pass(refused);
  bool const told = answer.status == 0 || !cluster_in(answer.body).empty();
  if (!is_final || told) co_return failure{};
  co_return co_await survey_->ask_again(member, clock::time_point::max());
}

// A connection that had been idle may have been closed by the other side: that says nothing about
// the member, so a new one is tried.
asio::awaitable<http_answer> connection_pool::exchange(std::size_t member,
                                                       http_request const& request,
                                                       clock::time_point deadline) {
  http_answer answer;
  if (auto idle = take_idle(member)) {
    answer = co_await idle->exchange(request, deadline);
    answer.sendings = 1;
    if (!answer.ec && answer.lasts) idle_.push_back({member, std::move(idle)});
    if (answer.ec) lost_one_ = true;
    if (!answer.ec || clock::now() >= deadline) co_return answer;
    std::erase_if(idle_, [&](idle_connection const& one) { return one.member == member; });
  }
  auto fresh = dial(executor_, how_, member);
  answer.ec = co_await fresh.connection->connect(deadline);
  if (!answer.ec) {
    int const before = answer.sendings;
    answer = co_await fresh.connection->exchange(request, deadline);
    answer.sendings = before + 1;
  }
  answer.file_error = fresh.file_error;
  answer.verdict = fresh.connection->verdict();
  answer.by_etcd = survey_->has_named_one(member);
  if (!answer.ec) has_answered(how_, member);
  if (!answer.ec && std::exchange(lost_one_, false)) news_.tell();
  if (!answer.ec && answer.lasts) idle_.push_back({member, std::move(fresh.connection)});
  co_return answer;
}

asio::awaitable<refusal> connection_pool::authenticate(std::size_t member,
                                                       clock::time_point deadline) {
  std::string const body = authenticate_request(how_.user, how_.password);
  std::string const no_token;
  http_request const request{path::authenticate, body, no_token};
  auto const answer = co_await exchange(member, request, attempt_deadline(deadline));
  if (answer.ec) co_return refusal{status::unavailable, answer.ec.message()};
  refusal refused = refusal_in(answer.status, answer.body);
  failure const strange = co_await weigh(member, answer, refused);
  if (strange.code) co_return refusal{status::unavailable, strange.message};
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
  failure why = co_await survey(deadline);
  if (why.code) co_return opened;
  opened.member = current_;
  why = co_await survey_->admit(opened.member, attempt_deadline(deadline));
  if (!why.code && wants_log_in()) {
    refusal const refused = co_await authenticate(opened.member, deadline);
    why = failure_of(refused);
  }
  if (why.code) {
    if (why.code == errc::unavailable) suspect(opened.member);
    co_return opened;
  }
  auto fresh = dial(executor_, how_, opened.member).connection;
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
  lost_one_ = true;
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
  if (std::get<0>(woken)) co_return true;  // cancelled by the giver of the slot
  // The timer may have rung as the slot was given: then the slot is ours as well.
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
