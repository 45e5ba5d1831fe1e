#include "scenes/contest.hpp"

#include <signal.h>

#include <condition_variable>
#include <future>
#include <herdlock/election.hpp>

#include "stage/place.hpp"

namespace herdlock::lab {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds settling = 200ms;    // the others wait in the store's queue by then
constexpr milliseconds without_store = 5s;  // longer than the ttl: then the scene gives up

// ---------------------------------------------------------------------- in a candidate's process

void work(contest_board& board, int who, election_term& term) {
  if (!term.valid()) return;
  auto const number = term.number().value;
  board.begin(who, number);
  auto proved = term.held().valid_until();
  auto const is_over = [&] { return term.stop_token().stop_requested() || !term.valid(); };
  std::mutex mutex;
  std::condition_variable_any told;
  std::unique_lock guard(mutex);
  while (!told.wait_for(guard, term.stop_token(), 1ms, is_over)) {
    board.thing.write(number);
    auto const until = term.held().valid_until();
    if (std::exchange(proved, until) != until) board.renewed(who, number);
  }
  board.end(who, number);
}

void note(contest_board& board, int who, election_transition const& what) {
  if (what.action == "acquire") board.note(who, contest_word::stands);
  if (what.event == election_event::failed && what.to == election_state::waiting) {
    auto const& why = what.why;
    board.trouble(who, why.message.empty() ? why.code.message() : why.message);
  }
  if (what.event == election_event::released) {
    board.note(who, contest_word::resigned, what.term.value);
  }
  board.at(who).state = what.to;
}

// Stands until it is killed.
void stand(candidacy const& as, contest_board& board, int who) {
  auto& seat = board.at(who);
  election_options const how{
      .ttl = as.ttl,
      .back_off_first = 20ms,
      .back_off_most = 500ms,
      .candidate = fmt::format("candidate {}", who + 1),
      .on_transition = [&](election_transition const& what) { note(board, who, what); }};
  election_services const services{
      in_thread([&board, who](election_term& term) { work(board, who, term); })};
  auto const& url = who == 0 && !as.first_url.empty() ? as.first_url : as.url;
  election job(open_here(url), as.name, services, how);
  while (true) {
    // In this order: whoever takes the order back and sees that it does not stand is right.
    seat.stands = true;
    if (!seat.may_stand) {
      seat.stands = false;
      nap();
      continue;
    }
    seat.resigns_ns = 0;
    auto campaign = std::async(std::launch::async, [&job] { job.campaign(); });
    while (campaign.wait_for(1ms) != std::future_status::ready) {
      if (seat.may_stand) continue;
      note_first(seat.resigns_ns, steady_ns());
      job.resign();  // again and again: the first may have come before the campaign had begun
    }
    campaign.get();
  }
}

}  // namespace

// ---------------------------------------------------------------------------- in the scene's own

std::vector<leader_stop> chosen_stops(std::string const& text, std::vector<leader_stop> all) {
  if (text != "all") std::erase_if(all, [&](leader_stop how) { return text != name_of(how); });
  return all;
}

void contest::start() {
  on_.meanwhile([this] { listen(); });
  for (int who = 0; who < as_.candidates; ++who) {
    on_.processes().start(fmt::format("candidate {}", who + 1),
                          [this, who] { stand(as_, board_, who); });
    await("a candidate did not stand", [&, &seat = board_.at(who)] {
      return seat.working != 0 || (who > 0 && seat.state == election_state::acquiring);
    });
  }
}

// Without the store it gives up soon, and says what the store's trouble is.
template <class Condition>
void contest::await(char const* what, Condition holds) {
  auto const longest = in_ns(as_.ttl + without_store);
  auto const is_lost = [&] { return !trouble_.empty() && trouble_ns_ - good_ns_ >= longest; };
  auto const looked = [&] { return is_lost() || holds(); };
  if (on_.waited_for(looked, stage::patience) && !is_lost()) return listen();
  throw command_error(
      exit_code::unavailable,
      trouble_.empty() ? fmt::format("{} within {}", what, cli::say(stage::patience)) : trouble_);
}

void contest::listen() {
  std::vector<happening> news;
  for (int who = 0; who < as_.candidates; ++who) {
    auto& seat = board_.at(who);
    for (std::size_t i = 0; i < seat.marks.size(); ++i) {
      auto& mark = seat.marks[i];
      auto const at_ns = mark.at_ns.load();
      if (std::exchange(mark.heard_ns, at_ns) == at_ns) continue;
      auto const word = static_cast<contest_word>(i);
      auto const* const why = word == contest_word::trouble ? seat.why.data() : "";
      news.push_back({at_ns, who, word, mark.term, why});
    }
  }
  std::ranges::sort(news, {}, &happening::at_ns);
  for (auto const& each : news) {
    if (each.word == contest_word::trouble) {
      trouble_ = each.why;
      trouble_ns_ = each.at_ns;
    } else if (each.word == contest_word::leads || each.word == contest_word::renews) {
      trouble_.clear();
      good_ns_ = each.at_ns;
    }
    tell_(each);
  }
}

void contest::settle(int renewals) {
  auto const rests = [this](int who, election_state in, contest_word since) {
    auto& seat = board_.at(who);
    return seat.state == in && steady_ns() - seat.last(since).at_ns >= in_ns(settling);
  };
  await("the candidates did not come to rest", [&] {
    leader_ = board_.leader();
    if (leader_ == contest_board::nobody || board_.at(leader_).renewals < renewals) return false;
    bool all_rest = rests(leader_, election_state::working, contest_word::leads);
    for (int who = 0; who < as_.candidates; ++who) {
      all_rest &= who == leader_ || rests(who, election_state::acquiring, contest_word::stands);
    }
    return all_rest;
  });
  term_ = board_.thing.highest();
}

contest::change contest::stop(leader_stop how) {
  auto& seat = board_.at(leader_);
  if (board_.leader() != leader_ || board_.thing.highest() != term_) {
    throw command_error(
        exit_code::unavailable,
        "the leader lost its term by itself; is the machine too busy for this ttl?");
  }
  tell_({steady_ns(), leader_, contest_word::stop, 0, name_of(how)});
  std::int64_t since = 0;
  if (how == leader_stop::graceful) {
    seat.may_stand = false;
    await("a leader did not resign", [&] { return seat.resigns_ns != 0 && seat.working == 0; });
    since = seat.resigns_ns;
  } else {
    board_.excuse(leader_);
    since = steady_ns();
    if (how == leader_stop::kill) on_.processes().kill(leader_);
    if (how == leader_stop::freeze) on_.processes().signal(leader_, SIGSTOP);
  }
  int next = contest_board::nobody;
  await("nobody took over", [&] {
    if (board_.thing.highest() > term_) next = board_.leader();
    return next != contest_board::nobody;
  });
  return {how, leader_, next, in_ms(board_.at(next).last(contest_word::leads).at_ns - since)};
}

std::optional<double> contest::bring_back(change const& what) {
  auto& seat = board_.at(what.from);
  std::optional<double> thawed_ms;
  if (what.how == leader_stop::kill) {
    board_.clear(what.from);
    on_.processes().start_again(what.from);
  } else if (what.how == leader_stop::freeze) {
    auto const since = steady_ns();
    tell_({since, what.from, contest_word::go_on, 0, {}});
    on_.processes().signal(what.from, SIGCONT);
    await("a frozen leader did not stop", [&] { return seat.working != term_; });
    thawed_ms = in_ms(seat.last(contest_word::stops).at_ns - since);
  }
  seat.may_stand = true;
  return thawed_ms;
}

void contest::dismiss() {
  // Those that wait go first, so that the term is given back to nobody.
  int const leader = std::max(board_.leader(), 0);
  for (int i = 1; i <= as_.candidates; ++i) {
    auto& seat = board_.at((leader + i) % as_.candidates);
    seat.may_stand = false;
    await("a candidate did not resign", [&] { return !seat.stands; });
  }
}

}  // namespace herdlock::lab
