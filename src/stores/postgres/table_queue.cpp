#include "stores/postgres/table_queue.hpp"

#include <algorithm>

#include "stores/common/numbers.hpp"
#include "stores/common/shared_timer.hpp"

namespace herdlock::postgres {
namespace {

// What a holder's end is noticed late by: its time is over in the server when we ask.
constexpr milliseconds after_the_end{2};
// The holder may have changed to one whose end is nearer (a waiter that was handed the lease and
// does not take it up): the first in line looks that often, by a plain read.
constexpr milliseconds heartbeat{3000};
// A lease that is handed over is the waiter's for so long, unless its ttl is shorter.
constexpr milliseconds first_ttl{3000};

}  // namespace

lease_row to_lease_row(rows const& found) {
  auto const left = std::chrono::microseconds(std::max<std::int64_t>(found.number(0, 2), 0));
  return {found.bytes(0, 0),
          {static_cast<std::uint64_t>(found.number(0, 1))},
          std::chrono::ceil<milliseconds>(left),
          found.truth(0, 3)};
}

// A grant that is older than the question lasts for what was left of it at the answer.
acquire_reply to_acquire_reply(lease_row const& row, acquire_request const& asked,
                               clock::time_point sent) {
  if (row.holder != asked.owner.str()) return busy{owner_label(row.holder), row.left};
  auto const left = std::max(row.left - milliseconds{1}, milliseconds{0});
  return grant{row.fencing, grant_validity{sent, row.fresh ? asked.ttl : left}};
}

statement acquire_statement(acquire_request const& request, asking how, std::string const& channel,
                            std::int64_t waiter) {
  return {
      "acquire",
      {as_bytes(request.name.str()), as_bytes(request.owner.str()), as_number(request.ttl.count()),
       as_number(static_cast<int>(how)), as_text(channel), as_number(waiter)}};
}

void table_queue::enter(std::shared_ptr<waiter> const& one) {
  auto const& wanted = one->request;
  one->queue = weak_from_this();
  one->at_the_end([weak = weak_from_this(), one] {
    if (auto const self = weak.lock()) self->time_is_up(one);
  });
  auto const same = std::ranges::find_if(entries_, [&](auto const& each) {
    auto const& other = each.second;
    return !other.leaving && other.request.name == wanted.name &&
           other.request.owner == wanted.owner;
  });
  one->entry = same == entries_.end() ? ++last_ : same->first;
  auto const at = entries_.try_emplace(one->entry, entry{wanted}).first;
  at->second.callers.push_back(one);
  if (same == entries_.end()) ask(one->entry, asking::to_wait);
}

void table_queue::ask(std::int64_t number, asking how) {
  auto const found = entries_.find(number);
  if (found == entries_.end()) return;
  auto& at = found->second;
  if (at.asked && how == asking::to_wait) {
    at.ask_again = true;
    return;
  }
  at.asked = true;
  at.leaving = at.leaving || how == asking::to_leave;
  auto const sent = clock::now();
  commands_->run(acquire_statement(at.request, how, channel_, number),
                 [weak = weak_from_this(), number, how, sent](reply const& answered) {
                   auto const self = weak.lock();
                   if (!self) return;
                   auto const here = self->entries_.find(number);
                   // An answer to a question before the last one.
                   if (here == self->entries_.end()) return;
                   if (here->second.leaving && how != asking::to_leave && answered &&
                       to_lease_row(*answered).holder != here->second.request.owner.str()) {
                     return;
                   }
                   self->on_answer(number, sent, answered);
                 });
}

void table_queue::on_answer(std::int64_t number, clock::time_point sent, reply const& answered) {
  if (!answered) {
    auto const callers = entries_.at(number).callers;
    for (auto const& one : callers) one->fail(answered.error());
    return;
  }
  auto& at = entries_.at(number);
  at.asked = false;
  at.answered = sent;
  auto const row = to_lease_row(*answered);
  at.seen = row.fencing;
  auto const outcome = to_acquire_reply(row, at.request, sent);
  if (std::holds_alternative<grant>(outcome) || at.leaving) return complete_all(number, outcome);
  note_queued(number, *answered);
  still_busy(number, row);
}

// Had it been in the line before, all of this process's have been taken out.
void table_queue::note_queued(std::int64_t number, rows const& answered) {
  auto& at = entries_.at(number);
  bool const was_taken_out = std::exchange(at.queued, true) && answered.truth(0, 4);
  if (!was_taken_out) return;
  for (auto& [each, one] : entries_) {
    if (each == number || one.request.name != at.request.name) continue;
    if (std::exchange(one.queued, false)) ask(each, asking::to_wait);
  }
}

void table_queue::still_busy(std::int64_t number, lease_row const& row) {
  auto& at = entries_.at(number);
  if (std::exchange(at.ask_again, false)) return ask(number, asking::to_wait);
  if (!is_first(number)) return;
  at.alarm.emplace(executor_);
  stores::run_after(*at.alarm, std::min(row.left + after_the_end, heartbeat), weak_from_this(),
                    [number](table_queue& self) { self.ask(number, asking::to_wait); });
}

void table_queue::complete_all(std::int64_t number, result<acquire_reply> const& outcome) {
  auto const found = entries_.find(number);
  if (found == entries_.end()) return;
  auto const was = std::move(found->second);
  entries_.erase(found);
  for (auto const& one : was.callers) one->complete(outcome);
  wake_next(was.request.name);
}

// The last of its owner leaves the queue; with others of the same owner it just stops waiting.
void table_queue::time_is_up(std::shared_ptr<waiter> const& one) {
  auto const found = entries_.find(one->entry);
  if (found == entries_.end()) return;
  if (found->second.callers.size() == 1) return ask(one->entry, asking::to_leave);
  auto const sent = clock::now();
  commands_->run(acquire_statement(one->request, asking::once, channel_, 0),
                 [one, sent](reply const& answered) {
                   if (!answered) return one->fail(answered.error());
                   one->complete(to_acquire_reply(to_lease_row(*answered), one->request, sent));
                 });
}

// One that was completed by an answer has no entry any more. Any other end leaves an unknown
// outcome at the server; what was queued or granted for it goes.
void table_queue::on_left(waiter& one) {
  auto const found = entries_.find(one.entry);
  if (found == entries_.end()) return;
  auto& callers = found->second.callers;
  std::erase_if(callers, [&](auto const& each) { return each.get() == &one; });
  if (!callers.empty()) return;
  auto const request = found->second.request;
  entries_.erase(found);
  leaver const who{request.name.str(), request.owner.str()};
  leaving_[one.entry] = who;
  leavers_[who] = one.entry;
  follow(leaves_.begin(one.entry));
  wake_next(request.name);
}

void table_queue::forget_leave(acquire_request const& asked) {
  auto const found = leavers_.find({asked.name.str(), asked.owner.str()});
  if (found == leavers_.end()) return;
  auto const number = found->second;
  leaves_.forget(number);
  forget_leaver(number);
}

void table_queue::forget_leaver(std::int64_t number) {
  auto const found = leaving_.find(number);
  if (found == leaving_.end()) return;
  leavers_.erase(found->second);
  leaving_.erase(found);
}

// They ended with the session: a waiter without one is passed over.
void table_queue::forget_leaves() {
  ++session_;
  leaves_.clear();
  leaving_.clear();
  leavers_.clear();
}

void table_queue::follow(algo::leave_action const& what) {
  if (what.dropped) forget_leaver(*what.dropped);
  for (auto const each : what.send) send_leave(each);
  if (!what.pause) return;
  stores::run_after(leave_timer_, std::chrono::ceil<milliseconds>(*what.pause), weak_from_this(),
                    [](table_queue& self) { self.follow(self.leaves_.tick()); });
}

// What is asked behind it on the same connection comes after it.
void table_queue::send_leave(std::int64_t number) {
  auto const& [name, owner] = leaving_.at(number);
  auto on_answer = [weak = weak_from_this(), number, session = session_](reply const& answered) {
    auto const self = weak.lock();
    if (!self || self->session_ != session) return;
    if (answered) {
      self->forget_leaver(number);
      return self->follow(self->leaves_.answered());
    }
    bool const closed = answered.error() == errc::canceled;
    if (closed || !self->commands_->ready()) return self->forget_leaves();
    self->follow(self->leaves_.failed(number));
    if (!self->leaving_.contains(number)) self->leaves_.forget(number);
  };
  commands_->run({"leave", {as_bytes(name), as_bytes(owner)}}, std::move(on_answer));
}

bool table_queue::is_first(std::int64_t number) const {
  auto const& name = entries_.at(number).request.name;
  auto const first = std::ranges::find_if(
      entries_, [&](auto const& each) { return each.second.request.name == name; });
  return first->first == number;
}

void table_queue::wake_next(resource const& name) {
  auto const next = std::ranges::find_if(
      entries_, [&](auto const& each) { return each.second.request.name == name; });
  if (next != entries_.end()) ask(next->first, asking::to_wait);
}

// Without asking again. The notification tells nothing of when it was handed over, but with a token
// above the one that the last answer showed it was after the question was sent; and as the first
// validity is counted from then, a message that comes late finds it mostly over, and the server is
// asked.
// Why: docs/stores/postgres.md#a-hand-over-needs-no-question
bool table_queue::take_up(std::int64_t number, fencing_token token) {
  auto const found = entries_.find(number);
  if (found == entries_.end() || found->second.asked) return false;
  auto const& at = found->second;
  auto const validity = std::min(at.request.ttl, first_ttl);
  if (token.value <= at.seen.value || clock::now() - at.answered > validity / 2) return false;
  complete_all(number, acquire_reply(grant{token, grant_validity{at.answered, validity}}));
  return true;
}

// `NUMBER TOKEN`: it was handed over to this waiter; nothing: look again.
void table_queue::on_notification(std::string const& payload) {
  std::string_view token = payload;
  auto const number = take_number<std::int64_t>(token, ' ').value_or(0);
  if (number != 0 && take_up(number, {whole_number<std::uint64_t>(token).value_or(0)})) return;
  if (number != 0) return ask(number, asking::to_wait);
  std::vector<std::int64_t> all;
  for (auto const& each : entries_) all.push_back(each.first);
  for (auto const each : all) ask(each, asking::to_wait);
}

// The queue may have gone on without us; the callers ask again, with the same owner.
void table_queue::on_down(failure const& why) {
  std::vector<std::shared_ptr<waiter>> all;
  for (auto& [number, at] : entries_) all.insert(all.end(), at.callers.begin(), at.callers.end());
  entries_.clear();
  forget_leaves();
  for (auto const& one : all) one->fail(why);
}

}  // namespace herdlock::postgres
