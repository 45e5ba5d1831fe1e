#include "stage/frame.hpp"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <type_traits>

namespace herdlock::cli {
namespace {

bool read_all(int fd, char* to, std::size_t size) {
  while (size > 0) {
    ssize_t const got = ::recv(fd, to, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    to += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

class writer {
 public:
  template <class T>
  void number(T value) {
    static_assert(std::is_trivially_copyable_v<T>);
    bytes_.append(reinterpret_cast<char const*>(&value), sizeof value);
  }
  template <class T>
  void all(std::vector<T> const& values) {
    number(static_cast<std::uint32_t>(values.size()));
    bytes_.append(reinterpret_cast<char const*>(values.data()), values.size() * sizeof(T));
  }
  void text(std::string const& value) { all(std::vector<char>(value.begin(), value.end())); }
  std::string take() && { return std::move(bytes_); }

 private:
  std::string bytes_;
};

class reader {
 public:
  explicit reader(std::string const& bytes) : rest_(bytes) {}

  template <class T>
  T number() {
    T value;
    copy(&value, sizeof value);
    return value;
  }
  template <class T>
  std::vector<T> all() {
    auto const count = number<std::uint32_t>();
    if (count > rest_.size() / sizeof(T)) throw std::runtime_error("a report is cut short");
    std::vector<T> values(count);
    copy(values.data(), count * sizeof(T));
    return values;
  }
  std::string text() {
    auto const value = all<char>();
    return {value.begin(), value.end()};
  }

 private:
  void copy(void* to, std::size_t size) {
    if (size > rest_.size()) throw std::runtime_error("a report is cut short");
    if (size > 0) std::memcpy(to, rest_.data(), size);
    rest_.remove_prefix(size);
  }
  std::string_view rest_;
};

}  // namespace

std::array<char, frame_header::size> frame_header::bytes() const {
  std::array<char, size> made{};
  std::memcpy(made.data(), &body_size, sizeof body_size);
  made[4] = static_cast<char>(kind);
  return made;
}

frame_header frame_header::of(std::array<char, size> const& bytes) {
  frame_header made;
  std::memcpy(&made.body_size, bytes.data(), sizeof made.body_size);
  made.kind = static_cast<frame_kind>(bytes[4]);
  return made;
}

std::string pack(frame const& f) {
  auto const head = frame_header{static_cast<std::uint32_t>(f.body.size()), f.kind}.bytes();
  return std::string(head.begin(), head.end()) + f.body;
}

std::optional<frame> read_frame(int fd) {
  std::array<char, frame_header::size> bytes{};
  if (!read_all(fd, bytes.data(), bytes.size())) return std::nullopt;
  frame_header const head = frame_header::of(bytes);
  if (head.body_size > frame_header::max_body) return std::nullopt;
  frame made{head.kind, std::string(head.body_size, '\0')};
  if (!read_all(fd, made.body.data(), made.body.size())) return std::nullopt;
  return made;
}

bool write_frame(int fd, frame const& f) {
  std::string const bytes = pack(f);
  std::size_t sent = 0;
  while (sent < bytes.size()) {
    ssize_t const done = ::send(fd, bytes.data() + sent, bytes.size() - sent, MSG_NOSIGNAL);
    if (done < 0 && errno == EINTR) continue;
    if (done < 0) return false;
    sent += static_cast<std::size_t>(done);
  }
  return true;
}

void report::note_error(std::string text) {
  if (++errors == 1) first_error = std::move(text);
}

std::string report::pack() const {
  writer to;
  to.number(started_ns);
  to.all(answers);
  to.number(waited);
  to.number(errors);
  to.text(first_error);
  to.all(loads);
  to.number(near_hits);
  to.number(static_cast<std::uint32_t>(warnings.size()));
  for (auto const& each : warnings) to.text(each);
  return std::move(to).take();
}

report report::unpack(std::string const& bytes) {
  reader from(bytes);
  report made;
  made.started_ns = from.number<std::int64_t>();
  made.answers = from.all<right_answer>();
  made.waited = from.number<std::uint64_t>();
  made.errors = from.number<std::uint32_t>();
  made.first_error = from.text();
  made.loads = from.all<load_span>();
  made.near_hits = from.number<std::uint64_t>();
  for (auto left = from.number<std::uint32_t>(); left > 0; --left) {
    made.warnings.push_back(from.text());
  }
  return made;
}

}  // namespace herdlock::cli
