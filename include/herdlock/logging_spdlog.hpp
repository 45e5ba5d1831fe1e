// Events of stores and elections through a spdlog logger of yours. Optional: this header alone
// needs spdlog, and nothing includes it.
//
//   auto log = spdlog::get("app");
//   auto const jobs = open_store(url, {.on_event = spdlog_events(log)});
//   election job(jobs, resource("nightly"), services, {.on_transition = spdlog_transitions(log)});
//
// A line is an event with its fields as key=value, names in quotes as escaped() makes them:
//   lease event=lost resource="nightly" store="redis://127.0.0.1:6379" fencing=17 took_ms=30021
//   why="the lease on 'nightly' … is lost: it was not renewed in time"
#pragma once

#include <spdlog/spdlog.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <herdlock/election.hpp>
#include <herdlock/metrics.hpp>
#include <herdlock/printable.hpp>

namespace herdlock {
inline namespace v0 {

namespace detail {

inline std::string log_quoted(std::string_view text) {
  std::string out = "\"";
  for (char const c : escaped(text)) {
    if (c == '"') out += '\\';
    out += c;
  }
  return out + "\"";
}

inline spdlog::level::level_enum log_level(lease_event const& what) {
  switch (what.kind) {
    case lease_event_kind::lost:
    case lease_event_kind::failed:
      return spdlog::level::err;
    case lease_event_kind::renew_failed:
      return spdlog::level::warn;
    case lease_event_kind::released:
      return what.why.code ? spdlog::level::warn : spdlog::level::debug;
    default:
      return spdlog::level::debug;
  }
}

inline spdlog::level::level_enum log_level(election_transition const& what) {
  if (what.event == election_event::overdue || what.event == election_event::refused) {
    return spdlog::level::err;
  }
  return what.why.code || what.thrown ? spdlog::level::warn : spdlog::level::info;
}

}  // namespace detail

/// For open_options::on_event: debug for what goes well, warn for a renewal without an answer, err
/// for a loss and for a store that cannot answer. The logger is called on the store's executor: one
/// that may block belongs behind spdlog's asynchronous mode. An exception of its is dropped.
inline std::function<void(lease_event const&)> spdlog_events(std::shared_ptr<spdlog::logger> log) {
  return [log = std::move(log)](lease_event const& what) {
    auto const level = detail::log_level(what);
    if (!log->should_log(level)) return;
    std::string line = "lease event=" + std::string(to_string(what.kind)) +
                       " resource=" + detail::log_quoted(what.name.str()) +
                       " store=" + detail::log_quoted(what.store) +
                       " fencing=" + std::to_string(what.fencing.value) +
                       " took_ms=" + std::to_string(what.took.count());
    if (what.why.code) line += " why=" + detail::log_quoted(what.why.message);
    log->log(level, spdlog::string_view_t(line.data(), line.size()));
  };
}

/// For election_options::on_transition: info for the course of an election, warn for trouble, err
/// for work that outlives its term and for a store that refuses. `name` tells elections apart.
inline std::function<void(election_transition const&)> spdlog_transitions(
    std::shared_ptr<spdlog::logger> log, std::string name = {}) {
  return [log = std::move(log), name = std::move(name)](election_transition const& what) {
    auto const level = detail::log_level(what);
    if (!log->should_log(level)) return;
    std::string line = "election event=" + std::string(to_string(what.event));
    if (!name.empty()) line += " resource=" + detail::log_quoted(name);
    line += " from=" + std::string(to_string(what.from)) +
            " to=" + std::string(to_string(what.to)) + " action=" + std::string(what.action) +
            " term=" + std::to_string(what.term.value);
    if (what.back_off.count() != 0) {
      line += " back_off_ms=" + std::to_string(what.back_off.count());
    }
    if (what.thrown) line += " thrown=yes";
    if (what.why.code) line += " why=" + detail::log_quoted(what.why.message);
    log->log(level, spdlog::string_view_t(line.data(), line.size()));
  };
}

}  // namespace v0
}  // namespace herdlock
