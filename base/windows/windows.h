// What the files of base/windows/ share.
#pragma once

#include <windows.h>

#include <string>
#include <string_view>

namespace glove::windows {

// UTF-8 to and from what Windows takes. Returns an empty text if `text` is not valid.
std::wstring wide(std::string_view text);
std::string narrow(std::wstring_view text);

// The same for a path, which may be longer than most programs of Windows allow.
std::wstring wide_path(const std::string& path);

// Sets errno to what is nearest to GetLastError().
void set_errno();

// Removes those files that replace() had to rename and that are no longer mapped.
void remove_old_files();

}  // namespace glove::windows
