// A folder of one's own under $TMPDIR (else /tmp), removed with its owner.
#pragma once

#include <filesystem>

namespace herdlock::cli {

class temp_folder {
 public:
  /// Throws command_error (unavailable) when no folder can be made.
  temp_folder();
  temp_folder(temp_folder const&) = delete;
  temp_folder& operator=(temp_folder const&) = delete;
  ~temp_folder();

  std::filesystem::path const& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

/// The `sqlite:` URL of a file, with what a URL gives a meaning to encoded.
std::string sqlite_url(std::filesystem::path const& file);

}  // namespace herdlock::cli
