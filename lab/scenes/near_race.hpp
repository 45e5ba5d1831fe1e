// One writer and some readers of one key, and what happens to them meanwhile: `near-soak`.
#pragma once

#include <cstdint>
#include <functional>
#include <herdlock/cache.hpp>
#include <optional>
#include <string>

#include "scenes/near_judge.hpp"
#include "stage/stage.hpp"

namespace herdlock::lab {

inline constexpr char const* near_soak_key = "k";

/// What the event itself makes of the value.
enum class replacement { none, nothing, next };

/// Where it is played, and what happens there.
struct happening {
  std::string url_of_readers;
  std::string url_of_writer;
  std::function<void()> event = [] {};
  replacement by_event = replacement::none;
  /// Before the event, with the value that will be there after it.
  std::function<void(std::int64_t next)> prepare = [](std::int64_t) {};
  /// Whether it comes once each reader keeps the last value: else it may show nothing.
  bool once_kept = false;
  /// Waits until the last event is over.
  std::function<void()> settle = [] {};
};

struct near_soak_terms {
  std::string what = "write";
  std::int64_t events = 20;
  std::int64_t writes = 50;
  int readers = 2;
  milliseconds max_staleness{1'000};
  milliseconds excess{50};
  milliseconds pause{2};
  milliseconds freeze{-1};
  std::int64_t fence_every = 10;
  std::string near = "all";

  bool keeps() const { return near == "all"; }
  std::size_t changes() const { return static_cast<std::size_t>((writes + 1) * (events + 1)); }
  milliseconds freeze_time() const { return freeze.count() >= 0 ? freeze : max_staleness * 5 / 2; }
};

class near_race {
 public:
  near_race(near_soak_terms const& terms, stage& on);

  bool has_readers() const { return !board_.all(&near_record::ended); }
  /// Plays it, judges it, and tells the figures.
  void run(happening const& where);

 private:
  using numbers = cache<std::int64_t>;

  void write_all(happening const& where);
  void write(numbers const& values);
  void await_kept();
  void read(std::string const& url, std::size_t number);
  std::optional<std::int64_t> read_once(numbers const& values, std::size_t number,
                                        std::int64_t round);
  void tell(near_figures const& seen) const;

  near_soak_terms const& terms_;
  stage& on_;
  near_board board_;
  std::int64_t swaps_ = 0;  // that this reader knows of
};

}  // namespace herdlock::lab
