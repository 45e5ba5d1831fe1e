// A folder of one's own under $TMPDIR (else /tmp), removed with its owner.
#pragma once

#include <filesystem>

namespace herdlock::lab {

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

}  // namespace herdlock::lab
