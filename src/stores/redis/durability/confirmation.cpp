#include "stores/redis/durability/confirmation.hpp"

#include <algorithm>

#include "stores/redis/client/operation.hpp"
#include "stores/redis/scripts/lease_scripts.hpp"

namespace herdlock::redis {
namespace {

// One command of a round; its answer is a number or a text.
template <class T>
struct round_command {
  using value_type = T;
  static constexpr std::string_view verb = "confirm";
  std::string subject;
  std::function<void(command_writer& out, script_form form)> write;

  std::string_view name() const { return subject; }
  void encode(command_writer& out, script_form form) const {
    write(out, form);
    out.end();
  }
  result<T> parse(reply const& answer) const {
    if constexpr (std::is_same_v<T, std::string>) {
      return std::string(answer.text());
    } else {
      auto const number = answer.number();
      if (!number) return unexpected_reply(subject);
      return *number;
    }
  }
};

}  // namespace

// What was asked together, and the answers so far.
struct confirmation::round {
  std::vector<entry> entries;
  std::uint64_t connection = 0;  // the one that all of it was sent over; 0: nothing was sent yet
  bool over_several = false;
  std::size_t missing = 0;
  std::string held;  // who the server is, a blank, and for each entry '1' or '0'
  std::int64_t replicas = 0;
  std::int64_t quarantine = 0;
  failure error;

  template <class T>
  bool take(result<T> const& answer) {
    if (answer.has_error() && !error.code) error = answer.error();
    return answer.has_value();
  }
  void sent_over(std::uint64_t number) {
    over_several = over_several || (connection != 0 && connection != number);
    connection = number;
  }
  std::string_view identity() const { return std::string_view(held).substr(0, held.find(' ')); }
  bool has(std::size_t index) const {
    auto const at = held.find(' ');
    return at != held.npos && at + 1 + index < held.size() && held[at + 1 + index] == '1';
  }
};

failure lease_in_question::about(failure const& why) const {
  return cannot(what == what_happened::granted ? "acquire" : "renew", name.str(), why);
}

confirmation::confirmation(std::shared_ptr<connection> commands)
    : how_(commands->how()), commands_(std::move(commands)) {
  how_.news = nullptr;  // no lease is held over this one
  auto check = std::make_shared<connection_check>(how_, nullptr);
  connection_ = std::make_shared<connection>(commands_->executor(), how_, std::move(check));
}

void confirmation::open() {
  if (!closed_) connection_->open();
}

void confirmation::close() {
  if (std::exchange(closed_, true)) return;
  connection_->close();  // ends the round that is under way
  auto const why = how_.failed(errc::canceled, "the store is being closed");
  for (auto& one : std::exchange(waiting_, {})) {
    asio::post(executor(), [done = std::move(one.done), why] { done(why); });
  }
}

failure confirmation::refusal(what_happened what, milliseconds ttl) const {
  auto const quarantine = how_.durable.quarantine;
  if (quarantine > milliseconds{0} && ttl > quarantine) {
    return how_.failed(errc::invalid_ttl, "a ttl of " + in_ms(ttl) +
                                              " is longer than the quarantine of a new master, " +
                                              in_ms(quarantine) +
                                              "; raise quarantine_ttl, in all clients");
  }
  bool const too_early = what == what_happened::granted && quarantined() > milliseconds{0};
  return too_early ? in_quarantine() : failure{};
}

// How long the master that was seen last grants nothing yet; 0: it grants.
milliseconds confirmation::quarantined() const {
  auto const left = std::chrono::ceil<milliseconds>(trusted_from_ - clock::now());
  return std::max(left, milliseconds{0});
}

failure confirmation::in_quarantine() const {
  return how_.failed(errc::unavailable,
                     "the server at " + connection_->how().address() +
                         " has not been the master for long and may lack leases that are held; "
                         "it grants nothing for another " +
                         in_ms(quarantined()) + " (quarantine=on)");
}

failure confirmation::too_few(std::int64_t replicas) const {
  return how_.failed(errc::unavailable,
                     "only " + std::to_string(replicas) + " of " +
                         std::to_string(how_.durable.replicas) + " replicas had it after " +
                         in_ms(how_.durable.wait) +
                         ", so it does not count and is taken back (wait_replicas=" +
                         std::to_string(how_.durable.replicas) + "); are they running?");
}

failure confirmation::too_late() const {
  return how_.failed(errc::timed_out,
                     "the replicas confirm more slowly than leases are taken; its turn did not "
                     "come within " +
                         in_ms(how_.timeout));
}

failure confirmation::elsewhere() const {
  return how_.failed(errc::unavailable,
                     "the server at " + connection_->how().address() +
                         ", which was to confirm it, is not the one that did it, or was not the "
                         "master all the time; was there a failover, or does the name lead "
                         "elsewhere? It is looked up anew");
}

void confirmation::confirm(lease_in_question lease, answer done) {
  if (closed_ || waiting_.size() >= max_outstanding_commands) {
    auto why = closed_ ? how_.failed(errc::canceled, "the store is closed")
                       : how_.failed(errc::overloaded, "too many grants wait for replicas");
    return asio::post(executor(), [done = std::move(done), why = std::move(why)] { done(why); });
  }
  waiting_.push_back({std::move(lease), std::move(done), clock::now() + how_.timeout});
  if (running_) return;
  // What comes in the same turn of the event loop goes together.
  running_ = std::make_shared<round>();
  asio::post(executor(), [self = shared_from_this()] { self->start_round(); });
}

void confirmation::start_round() {
  running_ = nullptr;
  if (waiting_.empty() || closed_) return;
  auto const one = running_ = std::make_shared<round>();
  while (!waiting_.empty() && one->entries.size() < max_round) {
    entry next = std::move(waiting_.front());
    waiting_.pop_front();
    if (clock::now() < next.deadline) {
      one->entries.push_back(std::move(next));
    } else {
      asio::post(executor(), [done = std::move(next.done), why = too_late()] { done(why); });
    }
  }
  if (one->entries.empty()) {
    running_ = nullptr;
    return;
  }
  ask(one);
}

template <class T>
void confirmation::start(std::shared_ptr<round> const& one, T round::*member,
                         std::function<void(command_writer&, script_form)> write) {
  ++one->missing;
  auto noted = [one, over = connection_.get(), write = std::move(write)](auto& out, auto form) {
    one->sent_over(over->connections());
    write(out, form);
  };
  operation<round_command<T>>::start(*connection_,
                                     {one->entries.front().lease.name.str(), std::move(noted)},
                                     [self = shared_from_this(), one, member](result<T> told) {
                                       if (one->take(told)) (*one).*member = *std::move(told);
                                       self->on_answer(one);
                                     });
}

void confirmation::ask(std::shared_ptr<round> const& one) {
  one->missing = 1;  // so that the last answer cannot come before the last command
  auto const& asked = how_.durable;
  if (asked.quarantine > milliseconds{0}) {
    start(one, &round::quarantine, [span = asked.quarantine](auto& out, auto form) {
      out.begin(lease_scripts().trust, form);
      out.add(incarnation_key);
      out.add_number(span.count());
    });
  }
  // Which of the leases are there, in their order. Always with its source: by its hash alone a
  // server that lacks it would do it in the second attempt, behind the WAIT.
  start(one, &round::held, [one](auto& out, script_form) {
    auto const now = clock::now();
    out.begin_keys(lease_scripts().held, script_form::with_source);
    for (auto const& about : one->entries) out.add(about.lease.name.str());
    out.end_keys();
    for (auto const& about : one->entries) {
      out.add(about.lease.owner.str());
      out.add_number(std::chrono::ceil<milliseconds>(about.lease.until - now).count());
    }
  });
  if (asked.replicas > 0) {
    start(one, &round::replicas, [asked](auto& out, script_form) {
      out.begin("WAIT");
      out.add_number(asked.replicas);
      out.add_number(asked.wait.count());
    });
  }
  asio::post(executor(), [self = shared_from_this(), one] { self->on_answer(one); });
}

void confirmation::on_answer(std::shared_ptr<round> const& one) {
  if (--one->missing > 0) return;
  if (one->error.code) return complete(*one, one->error);
  if (one->over_several || connection_->connections() != one->connection) {
    return complete(
        *one, how_.failed(errc::unavailable, "the connection that was to confirm it was lost"));
  }
  trusted_from_ = clock::now() + milliseconds(one->quarantine);
  if (!is_another_server(*one)) return complete(*one, {});
  auto const why = elsewhere();
  commands_->leave(why);
  connection_->leave(why);
  complete(*one, why);
}

// What a server may not be asked is not compared.
bool confirmation::is_another_server(round const& one) const {
  auto const* const met = commands_->facts();
  if (!met || met->run_id.empty() || met->replid.empty() || one.identity().empty()) return false;
  return one.identity() != met->run_id + ":" + met->replid;
}

failure confirmation::opinion(round const& one, std::size_t index) const {
  if (!one.has(index)) {
    return how_.failed(errc::unavailable, "it is not at the server at " +
                                              connection_->how().address() +
                                              " (any more); was there a failover?");
  }
  bool const granted = one.entries[index].lease.what == what_happened::granted;
  if (granted && one.quarantine > 0) return in_quarantine();
  if (one.replicas < how_.durable.replicas) return too_few(one.replicas);
  return {};
}

// `why` speaks for all, if it has a code.
void confirmation::complete(round& one, failure const& why) {
  auto const self = shared_from_this();
  for (std::size_t i = 0; i < one.entries.size(); ++i) {
    auto const done = std::move(one.entries[i].done);
    if (why.code) {
      done(why);
      continue;
    }
    done(opinion(one, i));
  }
  start_round();
}

}  // namespace herdlock::redis
